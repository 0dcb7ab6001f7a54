"""Start or address of a server, with its secret values, and the same without them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.secrets import credentials
from app.secrets.secret_store import Secrets, SecretStore
from store.records import ServerSpec
from store.typed import compact_json

STDIO, HTTP, SSE = "stdio", "http", "sse"


@dataclass(frozen=True, slots=True, repr=False)
class LaunchSpec:
    """Start (stdio) or address (http, sse) of a server; holds secret values, never shown."""

    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"LaunchSpec({self.transport}, ••••)"

    def to_spec(self, install_key: bytes) -> tuple[ServerSpec, Secrets]:
        """The spec without any secret, and its secrets."""
        (command, *args), url, values = self._hidden()
        spec = ServerSpec(
            transport=self.transport,
            key=_digest(self, install_key),
            command=command,
            args=tuple(args),
            env_names=tuple(self.env),
            cwd=self.cwd,
            url=url,
            header_names=tuple(self.headers),
        )
        return spec, Secrets(dict(self.env), dict(self.headers), values)

    def _hidden(self) -> tuple[Sequence[str], str, tuple[str, ...]]:
        """Command and arguments, and the URL, without secret values; and these values."""
        values: list[str] = []
        words = credentials.hide_in_args((self.command, *self.args), values, unknown=True)
        url = credentials.hide_in_url(self.url, values)
        return words, url, tuple(values)

    def secret_values(self) -> tuple[str, ...]:
        """Values that the server is given and that must not be stored, logged or shown.

        Environment, header and argument values that are not plainly something else, and the
        credentials inside them. The launch must have its variables filled in.
        """
        values = set(self._hidden()[2])
        forms: set[str] = set()
        for name, value in (*self.env.items(), *self.headers.items()):
            if credentials.is_secret_name(name) or not credentials.is_setting(value):
                values.add(value)
            else:
                forms.update(credentials.credentials_in(value))
        return tuple(forms.union(*map(credentials.forms_of, values)))

    @classmethod
    def from_spec(
        cls, spec: ServerSpec, secrets: Secrets, environ: Mapping[str, str] | None = None
    ) -> "LaunchSpec":
        """The launch spec again, without the values that are in no store (see `missing`).

        `environ` has values that are not kept, where the server inherits them.
        """
        known = {**(environ or {}), **secrets.env}
        return cls(
            transport=spec.transport,
            command=credentials.reveal(spec.command, secrets.values),
            args=tuple(credentials.reveal(arg, secrets.values) for arg in spec.args),
            env={name: known[name] for name in spec.env_names if name in known},
            cwd=spec.cwd,
            url=credentials.reveal(spec.url, secrets.values),
            headers={
                name: secrets.headers[name] for name in spec.header_names if name in secrets.headers
            },
        )


def secrets_of(spec: ServerSpec, store: SecretStore) -> Secrets:
    """The secrets of a stored spec; the store, which may be slow, is read only where it has any."""
    hidden = credentials.has_references((spec.command, *spec.args, spec.url))
    return store.get(spec.key) if hidden or spec.env_names or spec.header_names else Secrets()


def missing(spec: ServerSpec, secrets: Secrets, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the values that a start needs and that neither secrets nor environment have.

    A server is never started with an empty value for one that is not known.
    """
    names = [n for n in spec.env_names if n not in secrets.env and n not in environ]
    names += [f"header {n}" for n in spec.header_names if n not in secrets.headers]
    words = (spec.command, *spec.args)
    for place, word in enumerate(words):
        if credentials.lacks(word, secrets.values):
            before = words[place - 1] if place and words[place - 1].startswith("-") else ""
            names.append(before or credentials.mask(word))
    if credentials.lacks(spec.url, secrets.values):
        names.append(credentials.mask(spec.url))
    return tuple(dict.fromkeys(names))


_FOLDERS = ("PWD", "OLDPWD")  # named like passwords, and no secrets


def inherited_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Secrets in the environment that a server may repeat: every program started here gets it."""
    values = (
        value
        for name, value in environ.items()
        if credentials.is_secret_name(name) and name not in _FOLDERS
    )
    return tuple({form for value in values for form in credentials.forms_of(value)})


def _digest(launch: LaunchSpec, install_key: bytes) -> str:
    """HMAC-SHA256 over everything that distinguishes two launches, secret values included."""
    import hashlib  # 3.5 MB of libcrypto that the gateway does not need
    import hmac

    parts = [
        launch.transport,
        launch.command,
        list(launch.args),
        sorted(launch.env.items()),
        launch.cwd,
        launch.url,
        sorted(launch.headers.items()),
    ]
    text = compact_json(parts)
    return hmac.new(install_key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
