"""Scans of a server behind a sign-in, with a real authorization server."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import apsw
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec
from app.registry.register import Target
from app.registry.scan import ScanOptions, ServerStatus, scan
from app.registry.signing import sign_in, sign_out
from store import servers
from store.records import COULD_NOT_START, NEEDS_SIGN_IN, READ, ServerRecord

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

from guarded import Browser, Guarded, running

MakeTargets = Callable[..., list[Target]]


@pytest.fixture(scope="module", params=[HTTP, SSE])
def guarded(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with running(request.param) as guarded:
        yield guarded


@pytest.fixture
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def target(guarded: Guarded, make_targets: MakeTargets) -> Target:
    guarded.control(life=3600, deny="", state="", hide=[], down=False, page="", more={})
    return make_targets(linear=LaunchSpec(HTTP, url=guarded.url))[0]


def read(ctx: AppContext, target: Target) -> ServerStatus:
    return scan(ctx, [target], ScanOptions(prepare_encoder=False)).servers[0]


def stored(db: apsw.Connection) -> ServerRecord:
    found = servers.by_name(db, "linear")
    assert found is not None
    return found


def enter(ctx: AppContext, target: Target, browser: Browser) -> bool:
    return sign_in(ctx, target, open_page=browser.open, cancel=Event())


def every_byte(folder: Path, secrets: Path) -> bytes:
    files = [f for f in folder.rglob("*") if f.is_file() and f != secrets]
    return b"".join(f.read_bytes() for f in files)


def test_without_a_sign_in_it_is_a_row_and_no_browser_opens(
    ctx: AppContext, db: apsw.Connection, target: Target, guarded: Guarded
) -> None:
    before = guarded.control()["authorized"]
    status = read(ctx, target)
    assert (status.status, status.problem) == (NEEDS_SIGN_IN, "It asks for a sign-in.")
    assert guarded.control()["authorized"] == before


def test_after_it_the_tools_are_read_and_no_token_is_anywhere_but_in_the_secret_store(
    ctx: AppContext, db: apsw.Connection, target: Target, browser: Browser
) -> None:
    assert enter(ctx, target, browser)
    status = read(ctx, target)
    assert (status.status, status.tools) == (READ, 2), status.problem
    assert stored(db).taken_with["signed_in"] is True
    assert b"tok-" in ctx.paths.secrets.read_bytes()
    assert b"tok-" not in every_byte(ctx.paths.home, ctx.paths.secrets)


def test_tokens_that_ended_are_renewed_by_the_scan(
    ctx: AppContext, db: apsw.Connection, target: Target, browser: Browser, guarded: Guarded
) -> None:
    enter(ctx, target, browser)
    guarded.control(end_access=True)
    before = guarded.control()["refreshed"]
    assert read(ctx, target).status == READ
    assert guarded.control()["refreshed"] == before + 1


def test_a_sign_in_that_ended_is_said_and_keeps_the_tools(
    ctx: AppContext, db: apsw.Connection, target: Target, browser: Browser, guarded: Guarded
) -> None:
    enter(ctx, target, browser)
    read(ctx, target)
    guarded.control(end_all=True)
    status = read(ctx, target)
    assert (status.status, status.problem) == (NEEDS_SIGN_IN, "Its sign-in has ended.")
    assert enter(ctx, target, browser)
    assert read(ctx, target).status == READ


def test_a_silent_authorization_server_is_no_reason_to_sign_in_again(
    ctx: AppContext, db: apsw.Connection, target: Target, browser: Browser, guarded: Guarded
) -> None:
    enter(ctx, target, browser)
    guarded.control(end_access=True, down=True)
    status = read(ctx, target)
    assert status.status == COULD_NOT_START and "could not be renewed now" in status.problem


def test_signing_out_removes_the_tokens_and_says_so(
    ctx: AppContext, db: apsw.Connection, target: Target, browser: Browser, guarded: Guarded
) -> None:
    enter(ctx, target, browser)
    read(ctx, target)
    before = guarded.control()["revoked"]
    assert sign_out(ctx, db, stored(db)).servers
    server = stored(db)
    assert (server.status, server.problem) == (NEEDS_SIGN_IN, "You signed out.")
    assert "signed_in" not in server.taken_with
    assert guarded.control()["revoked"] == before + 1
    assert b"tok-" not in every_byte(ctx.paths.home, Path())
    assert read(ctx, target).status == NEEDS_SIGN_IN


def test_cancelling_leaves_nothing(ctx: AppContext, db: apsw.Connection, target: Target) -> None:
    cancel = Event()
    assert not sign_in(ctx, target, open_page=lambda _page: cancel.set(), cancel=cancel)
    assert not ctx.paths.secrets.exists()


def test_a_denied_sign_in_leaves_nothing(
    ctx: AppContext, db: apsw.Connection, target: Target, browser: Browser, guarded: Guarded
) -> None:
    guarded.control(deny="access_denied")
    with pytest.raises(ToolcribError, match="was not allowed"):
        enter(ctx, target, browser)
    assert not ctx.paths.secrets.exists()


def test_a_program_has_nothing_to_sign_in_to(
    ctx: AppContext, db: apsw.Connection, browser: Browser, make_targets: MakeTargets
) -> None:
    program: list[Any] = make_targets(local=LaunchSpec(STDIO, "true"))
    with pytest.raises(ToolcribError, match="nothing to sign in to"):
        enter(ctx, program[0], browser)
