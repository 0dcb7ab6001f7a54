"""Secrets on a machine with no keychain, and with one that keeps them in memory."""

import json
import stat
import threading
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import null
from keyring.errors import KeyringLocked, PasswordDeleteError, PasswordSetError

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.scrubber import Scrubber
from app.gateway.launching import launcher
from app.hosts.launch import LaunchSpec
from app.secrets.secret_store import Secrets, SecretStore, install_key
from app.system.endpoint import endpoint_secret
from store.serving import ServerRow

SECRETS = Secrets(env={"API_KEY": "hunter2"}, headers={"Authorization": "Bearer x"}, values=("v",))


class ShortKeychain(KeyringBackend):
    """A keychain in memory that refuses long values, as Windows does."""

    priority = 1.0  # type: ignore[assignment]  # keyring declares a classproperty

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > 1000:
            raise PasswordSetError("too long")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("not there")


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "home", tmp_path / "models")


@pytest.fixture
def no_keychain() -> Iterator[None]:
    yield from _with(null.Keyring())


@pytest.fixture
def keychain() -> Iterator[ShortKeychain]:
    yield from _with(ShortKeychain())


def _with(backend: KeyringBackend) -> Iterator[KeyringBackend]:
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def test_without_a_keychain_a_file_for_its_owner_only_keeps_them(
    paths: Paths, no_keychain: None
) -> None:
    store = SecretStore.open(paths)
    assert store.where == "file"
    assert store.put("github", SECRETS) == "file"
    assert SecretStore.open(paths).get("github") == SECRETS
    assert stat.S_IMODE(paths.secrets.stat().st_mode) == 0o600
    assert stat.S_IMODE(paths.home.stat().st_mode) == 0o700


def test_a_forgotten_server_has_none(paths: Paths, no_keychain: None) -> None:
    store = SecretStore.open(paths)
    store.put("github", SECRETS)
    store.put("slack", SECRETS)
    store.delete("github")
    assert not store.get("github")
    assert store.get("slack") == SECRETS
    assert not store.get("never kept")


def test_a_keychain_is_preferred_and_leaves_no_file(paths: Paths, keychain: ShortKeychain) -> None:
    store = SecretStore.open(paths)
    assert store.where == "keychain"
    assert store.put("github", SECRETS) == "keychain"
    assert not paths.secrets.exists()
    assert store.get("github") == SECRETS
    store.delete("github")
    assert not keychain.kept


def test_what_the_keychain_refuses_goes_to_the_file(paths: Paths, keychain: ShortKeychain) -> None:
    store = SecretStore.open(paths)
    long = Secrets(env={"KEY": "x" * 2000})
    assert store.put("big", long) == "file"
    assert store.get("big") == long
    assert store.put("big", SECRETS) == "keychain"
    assert "big" not in json.loads(paths.secrets.read_text(encoding="utf-8"))


def test_a_locked_keychain_makes_no_token_worthless_and_is_named(
    paths: Paths, keychain: ShortKeychain, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = endpoint_secret(paths)
    spec, values = LaunchSpec("stdio", "server", env={"API_KEY": "k7Qw-9zPx"}).to_spec(b"key")
    SecretStore.open(paths).put(spec.key, values)
    text = json.dumps(asdict(spec))
    row = ServerRow(1, "locked", True, False, "", text, {}, {}, {}, "", 0.0)

    def locked(*_args: str) -> None:
        raise KeyringLocked

    for name in ("get_password", "set_password"):
        monkeypatch.setattr(keychain, name, locked)
    launch = launcher(row, (), lambda: paths, Scrubber(), {})
    for use in (partial(endpoint_secret, paths), launch):
        with pytest.raises(ToolcribError, match="keychain cannot be read"):
            use()
    monkeypatch.undo()
    assert endpoint_secret(paths) == secret


def test_two_folders_never_share_a_keychain_item(tmp_path: Path, keychain: ShortKeychain) -> None:
    first = SecretStore.open(Paths(tmp_path / "one", tmp_path))
    second = SecretStore.open(Paths(tmp_path / "two", tmp_path))
    first.put("github", SECRETS)
    assert not second.get("github")


def test_writers_at_the_same_time_lose_nothing(paths: Paths, no_keychain: None) -> None:
    def keep(number: int) -> None:
        SecretStore.open(paths).put(f"server{number}", SECRETS)

    threads = [threading.Thread(target=keep, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert all(SecretStore.open(paths).get(f"server{n}") == SECRETS for n in range(8))


def test_a_damaged_file_is_a_sentence(paths: Paths, no_keychain: None) -> None:
    paths.create()
    paths.secrets.write_text("{", encoding="utf-8")
    with pytest.raises(ToolcribError, match="cannot be read"):
        SecretStore.open(paths).get("github")


def test_printing_secrets_shows_only_how_many() -> None:
    assert repr(SECRETS) == "Secrets(3 values)"
    assert not Secrets()


def test_the_install_key_is_made_once_for_its_owner_only(paths: Paths) -> None:
    key = install_key(paths)
    assert len(key) == 32
    assert install_key(paths) == key
    assert stat.S_IMODE(paths.install_key.stat().st_mode) == 0o600


def test_a_damaged_install_key_is_a_sentence(paths: Paths) -> None:
    paths.create()
    paths.install_key.write_bytes(b"short")
    with pytest.raises(ToolcribError, match="is damaged"):
        install_key(paths)
