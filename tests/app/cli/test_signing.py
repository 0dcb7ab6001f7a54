"""`toolcrib sign-in` and `sign-out` against a real authorization server."""

import io
import json
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.cli.main import run
from app.core.context import AppContext

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

from guarded import Browser, Guarded, running

Verb = Callable[..., Any]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    with running() as guarded:
        yield guarded


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """In place of the user's own browser."""
    browser = Browser()
    monkeypatch.setattr(webbrowser, "open", lambda page: browser.open(page) or True)
    yield browser
    browser.close()


@pytest.fixture
def verb(
    ctx: AppContext,
    guarded: Guarded,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Verb:
    """Runs a verb over a store with one server, linear; its JSON document and what was noted."""
    guarded.control(deny="", life=3600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))

    def call(*argv: str, code: int = 0) -> tuple[Any, str]:
        capsys.readouterr()
        found = run([*argv, "--json"])
        out, err = capsys.readouterr()
        assert found == code, err
        assert "tok-" not in out + err
        return (json.loads(out) if out else None), err

    ctx.paths.create()
    call("add", "linear", guarded.url)
    return call


def test_signing_in_reads_the_tools_and_signing_out_forgets(
    verb: Verb, browser: Browser, ctx: AppContext
) -> None:
    found, said = verb("sign-in", "linear")
    assert found == {
        "name": "linear",
        "signed_in": True,
        "status": "read",
        "problem": "",
        "tools": 2,
    }
    assert browser.opened[0] in said and len(browser.opened) == 1
    found, _ = verb("sign-out", "linear")
    assert (found["signed_in"], found["status"]) == (False, "needs sign-in")
    assert "tok-" not in ctx.paths.secrets.read_text()
    _, said = verb("sign-out", "linear", code=1)
    assert "You are not signed in to linear." in said


def test_without_a_browser_only_the_address_is_printed(
    verb: Verb, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.cli.console import Console

    told: list[str] = []

    def note(_console: Console, text: str) -> None:  # a person copies the address
        told.append(text)
        browser.open(text.split()[-1])

    with monkeypatch.context() as patch:
        patch.setattr(Console, "note", note)
        verb("sign-in", "linear", "--no-browser")
    assert len(told) == 1 and "/authorize?" in told[0]


def test_a_denied_sign_in_is_a_refusal(verb: Verb, browser: Browser, guarded: Guarded) -> None:
    guarded.control(deny="access_denied")
    found, said = verb("sign-in", "linear", code=1)
    assert found is None and "The sign-in was not allowed." in said


def test_a_server_that_is_not_there_is_named(verb: Verb) -> None:
    for word in ("sign-in", "sign-out"):
        _, said = verb(word, "nobody", code=1)
        assert "There is no server called nobody." in said and "linear" in said


def test_a_program_registered_by_hand_gives_its_secret_on_a_pipe(
    verb: Verb, browser: Browser, guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    body = {"redirect_uris": [f"http://127.0.0.1:{port}/callback"], "scope": "tools"}
    made = httpx2.post(f"{guarded.base}/register", json=body).json()
    monkeypatch.setattr("sys.stdin", io.StringIO(made["client_secret"] + "\n"))
    told = ("--client-id", made["client_id"], "--client-secret", "--port", str(port))
    found, said = verb("sign-in", "linear", *told)
    assert found["status"] == "read" and made["client_secret"] not in said
