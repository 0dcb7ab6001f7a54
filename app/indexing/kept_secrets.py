"""Secret values that Toolcrib keeps, of servers that were never started too."""

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import apsw

from app.core.paths import Paths
from app.core.scrubber import Scrubber
from app.hosts.interpolation import expand
from app.hosts.launch import LaunchSpec, inherited_secrets, secrets_of
from app.secrets.secret_store import SecretStore
from app.signin.grant import kept
from store.damage import server_spec
from store.serving import specs


class KeptSecrets:
    """Teaches a scrubber every kept value: each launch once, sign-ins again and again.

    Usable from any thread; a keychain that cannot be read is an error, never an empty one.
    """

    def __init__(self, scrubber: Scrubber, paths: Paths, environ: Mapping[str, str]) -> None:
        self._scrubber = scrubber
        self._store = SecretStore.open(paths).strict()
        self._learning = threading.Lock()
        self._environ = environ
        self._learned: set[tuple[str, str]] = set()  # name and stored spec
        self._remote: set[str] = set()  # names of servers that could have a sign-in
        scrubber.add(inherited_secrets(environ))

    def learn(self, db: apsw.Connection) -> None:
        """Learn what came since. Raises ToolcribError; the keychain takes its time."""
        known = specs(db)
        with self._learning:
            self._scrubber.add(self._launches(known - self._learned))
            self._learned |= known
            self._scrubber.add(self._sign_ins())

    def _launches(self, new: Iterable[tuple[str, str]]) -> Iterable[str]:
        for name, text in new:
            spec = server_spec(text)
            if spec is not None:
                if spec.url:
                    self._remote.add(name)
                secrets = secrets_of(spec, self._store)
                launch = LaunchSpec.from_spec(spec, secrets, self._environ)
                yield from expand(launch, self._environ, Path.home()).secret_values()

    def _sign_ins(self) -> Iterable[str]:
        """Tokens, which come with a sign-in and are renewed while the spec stays."""
        for name in self._remote:
            grant = kept(self._store, name)
            yield from grant.values() if grant is not None else ()
