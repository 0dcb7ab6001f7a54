"""Secret values of servers: in the system's keychain, or in a 0600 file where there is none."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.plain_read import read_plain
from app.core.safe_write import make_file, write_file
from store.files import lock as hold
from store.files import private_folder
from store.typed import Json, JsonMapping, object_or_empty

KEYCHAIN = "keychain"
FILE = "file"
_KEY_BYTES = 32
_LARGEST = 16 << 20  # bytes of a file of secrets


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """Values that must not reach the database, a log or an error; printing shows how many.

    `values` fill the `${secret:N}` of arguments and URL.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Secrets({len(self)} values)"

    def __len__(self) -> int:
        return len(self.env) + len(self.headers) + len(self.values)

    def to_json(self) -> Json:
        """Plain JSON, for the secret store only."""
        return {"env": dict(self.env), "headers": dict(self.headers), "values": list(self.values)}

    @classmethod
    def from_json(cls, data: Any) -> "Secrets":
        """The secrets that to_json wrote; empty for anything else."""
        if not isinstance(data, dict):
            return cls()
        return cls(
            env={str(k): str(v) for k, v in (data.get("env") or {}).items()},
            headers={str(k): str(v) for k, v in (data.get("headers") or {}).items()},
            values=tuple(str(v) for v in data.get("values") or ()),
        )


class SecretStore:
    """Secrets by what is launched; the keychain is loaded at the first need only.

    The key of a server's secrets is its spec's (store.records.ServerSpec.key), a digest of
    command, arguments, environment, URL and headers: another server under the same name finds
    nothing.
    """

    def __init__(self, file: Path, home: Path, *, strict: bool = False) -> None:
        """`strict`: reading from a keychain that is locked or gone raises ToolcribError."""
        self._file = file
        self._home = home
        self._strict = strict
        self._keychain: Any = None
        self._looked = False

    @classmethod
    def open(cls, paths: Paths) -> "SecretStore":
        """The store that belongs to Toolcrib's folder; two folders never share an item."""
        return cls(paths.secrets, paths.home)

    def strict(self) -> "SecretStore":
        """The same store, of which a keychain that cannot be read is an error."""
        return SecretStore(self._file, self._home, strict=True)

    @property
    def _service(self) -> str:
        """The folder's name in the keychain."""
        import hashlib  # 3.5 MB of libcrypto that a gateway without secrets does not need

        return f"toolcrib-{hashlib.sha256(str(self._home).encode()).hexdigest()[:12]}"

    @property
    def where(self) -> str:
        """`keychain`, or `file` where the system offers no keychain."""
        return KEYCHAIN if self._backend() is not None else FILE

    def get(self, launch: str) -> Secrets:
        """The secrets of a launch by its spec's key, empty when none are kept."""
        return Secrets.from_json(self.read(launch))

    def put(self, launch: str, secrets: Secrets) -> str:
        """Keep the secrets of a launch; returns where: `keychain` or `file`."""
        if not secrets:
            self.delete(launch)
            return self.where
        return self.write(launch, secrets.to_json())

    def read(self, key: str) -> Any:
        """The JSON value kept under a key, None when there is none."""
        kept = self._read_file()
        if key in kept:
            return kept[key]
        backend = self._backend()
        read = partial(backend.get_password, self._service, key) if backend else None
        text = _quietly(read, strict=self._strict) if read else None
        return json.loads(text) if text else None

    def write(self, key: str, value: JsonMapping) -> str:
        """Keep a JSON value under a key; returns where: `keychain` or `file`."""
        backend = self._backend()
        if backend is not None and self._keep_in(backend, key, json.dumps(value)):
            self._forget_in_file(key)
            return KEYCHAIN
        with self._locked(self._file.with_suffix(".lock")):
            self._write_file({**self._read_file(), key: value})
        return FILE

    def delete(self, key: str) -> None:
        """Forget what is kept under a key."""
        self._forget_in_file(key)
        backend = self._backend()
        if backend is not None:
            _quietly(lambda: backend.delete_password(self._service, key))

    @contextlib.contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """One process and thread at a time that reads a key, thinks, and writes it; may block."""
        import hashlib

        digest = hashlib.sha256(key.encode()).hexdigest()[:12]
        with self._locked(self._file.with_suffix(f".{digest}.lock")):
            yield

    def _keep_in(self, backend: Any, key: str, text: str) -> bool:
        """False when the keychain refuses, for instance because the value is too long for it."""

        def keep() -> bool:
            backend.set_password(self._service, key, text)
            return True

        return _quietly(keep) is True

    def _backend(self) -> Any:
        if not self._looked:
            self._looked = True
            self._keychain = _system_keychain()
        return self._keychain

    def _read_file(self) -> Json:
        try:
            kept = json.loads(read_plain(self._file, _LARGEST))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            hint = "Move the file away and scan again; the values are read from the hosts' files."
            raise ToolcribError(f"{self._file} cannot be read.", hint) from error
        return object_or_empty(kept)

    def _forget_in_file(self, key: str) -> None:
        if not self._file.exists():
            return
        with self._locked(self._file.with_suffix(".lock")):
            kept = self._read_file()
            if kept.pop(key, None) is not None:
                self._write_file(kept)

    def _write_file(self, kept: Json) -> None:
        with self._sentences():
            write_file(self._file, json.dumps(kept, indent=1).encode(), mode=0o600)

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        """Say what to do where the file cannot be written, as on a full disk."""
        try:
            yield
        except OSError as error:
            raise ToolcribError(
                f"The secrets could not be kept in {self._file}: {error.strerror}.",
                "Check the free space, and that you may write there.",
            ) from error

    @contextlib.contextmanager
    def _locked(self, file: Path) -> Iterator[None]:
        """One holder at a time, across processes and threads."""
        with self._sentences():
            private_folder(self._file.parent)
            lock = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            hold(lock, waits=True)
            yield
        finally:
            os.close(lock)  # which also unlocks


def _system_keychain() -> Any:
    """The keyring backend, None where keyring knows no real one."""
    import keyring
    from keyring.backends import fail, null

    backend = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring | null.Keyring) else backend


def _quietly(action: Any, *, strict: bool = False) -> Any:
    """The action's result; None, or if `strict` an error, when the keychain is locked or gone."""
    from keyring.errors import KeyringError

    try:
        return action()
    except (KeyringError, OSError, ValueError, RuntimeError) as error:
        if not strict:
            return None
        hint = "Unlock it and try again."
        raise ToolcribError("The system's keychain cannot be read.", hint) from error


def install_key(paths: Paths) -> bytes:
    """The random key of this installation, made at the first call; it digests secret values."""
    paths.create()
    if not os.path.lexists(paths.install_key):
        key = os.urandom(_KEY_BYTES)
        with contextlib.suppress(FileExistsError):  # another process was first
            make_file(paths.install_key, key, mode=0o600)
            return key
    return _known_key(paths.install_key)


def _known_key(file: Path) -> bytes:
    key = read_plain(file, _LARGEST)
    if len(key) == _KEY_BYTES:
        return key
    hint = "Delete the file; servers with credentials will then be read anew."
    raise ToolcribError(f"{file} is damaged.", hint)
