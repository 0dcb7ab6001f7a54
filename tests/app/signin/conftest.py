"""A guarded server in a process, a browser that says yes, and a secret store without a keychain."""

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from app.core.paths import Paths
from app.secrets.secret_store import SecretStore
from app.signin.flow import SignInRequest, sign_in
from app.signin.grant import Grant, save

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

from guarded import Browser, Guarded, running


@pytest.fixture(scope="session")
def guarded_process() -> Iterator[Guarded]:
    with running() as guarded:
        yield guarded


@pytest.fixture
def guarded(guarded_process: Guarded) -> Guarded:
    """The server with its modes as at the start."""
    guarded_process.control(
        life=3600, deny="", state="", hide=[], down=False, page="", more={}, needs=""
    )
    return guarded_process


@pytest.fixture
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def store(tmp_path: Path) -> SecretStore:
    return SecretStore.open(Paths(tmp_path / "home", tmp_path))


@pytest.fixture
def signed_in(guarded: Guarded, browser: Browser, store: SecretStore) -> Grant:
    """The grant of a sign-in that was kept under the name guarded."""
    grant = sign_in(SignInRequest(guarded.url, browser.open, Event(), wait_seconds=30))
    assert grant is not None
    save(store, "guarded", grant)
    return grant
