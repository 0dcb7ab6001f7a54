"""Joining a team by a sign-in at its issuer: a real replica, Postgres and a real issuer."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import apsw
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))
from guarded import Browser

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.team import membership
from app.team.browser_join import join_by_browser
from app.team.client import TeamClient
from store import teams
from tests.fakes.team_issuer import Issuer
from tests.fakes.team_process import TrialProcess
from tests.fakes.team_replica import program, team_with_an_issuer

pytestmark = pytest.mark.timeout(180)


@dataclass(frozen=True)
class World:
    url: str
    issuer: Issuer
    given: dict[str, str]


@pytest.fixture(scope="module")
def world(no_process_left_behind: None) -> Iterator[World]:
    with team_with_an_issuer() as (given, issuer):
        yield World(given["TOOLCRIB_TEAM_URL"], issuer, given)


@pytest.fixture
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


def test_a_member_joins_by_a_sign_in_and_gets_a_token_of_his_own(
    ctx: AppContext, db: apsw.Connection, world: World, browser: Browser
) -> None:
    team = join_by_browser(ctx, db, world.url, browser.open, cancel=Event())
    assert (team.organisation, team.member, team.role) == ("acme", "jo", "member")
    (page,) = browser.opened
    assert page.startswith(f"{world.issuer.url}/authorize?") and "S256" in page
    membership.synchronise(ctx, db)
    token = membership.token_of(ctx, team)
    assert token.startswith("tct_")
    with TeamClient(world.url, token) as client, pytest.raises(ToolcribError, match="role"):
        client.send("/v1/tokens", {})  # a token makes no other token
    listed = program(world.given, "token", "list", "jo", "--organisation", "acme")
    assert "browser sign-in" in listed and "expires" in listed
    program(world.given, "user", "remove", "jo", "--organisation", "acme")
    try:
        with pytest.raises(ToolcribError, match="does not take the token"):
            membership.synchronise(ctx, db)
    finally:
        subject = ("--issuer", world.issuer.url, "--subject", "jo")
        program(world.given, "user", "add", "jo", "--organisation", "acme", *subject)


@pytest.mark.parametrize(
    ("person", "words"), [(None, "not allowed"), ("stranger", "does not accept the new sign-in")]
)
def test_a_refused_person_joins_nothing(
    ctx: AppContext,
    db: apsw.Connection,
    world: World,
    browser: Browser,
    person: str | None,
    words: str,
) -> None:
    world.issuer.person = person
    try:
        with pytest.raises(ToolcribError, match=words):
            join_by_browser(ctx, db, world.url, browser.open, cancel=Event())
    finally:
        world.issuer.person = "jo"
    assert teams.current(db) is None


def test_given_up_it_joins_nothing(ctx: AppContext, db: apsw.Connection, world: World) -> None:
    cancel = Event()
    with pytest.raises(ToolcribError, match="given up"):
        join_by_browser(ctx, db, world.url, lambda _page: cancel.set(), cancel=cancel)
    assert teams.current(db) is None


def test_a_team_without_an_issuer_says_so(
    ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess
) -> None:
    with pytest.raises(ToolcribError, match="no sign-in in the browser"):
        join_by_browser(ctx, db, running_trial.url, lambda _page: None, cancel=Event())


def test_the_verb_prints_the_page_and_joins(world: World, tmp_path: Path, browser: Browser) -> None:
    verb = "from app.cli.main import run; import sys; sys.exit(run(sys.argv[1:]))"
    environ = {**os.environ, "HOME": str(tmp_path), "TOOLCRIB_HOME": str(tmp_path / "crib")}
    words = ["team", "join", world.url, "--browser", "--no-browser"]
    with subprocess.Popen(
        [sys.executable, "-c", verb, *words],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr:
            if line.strip().startswith(world.issuer.url):
                browser.open(line.strip())
                break
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "You are jo (member)." in out
