"""A second home joins a team, gets its profile, writes it to a real host, and the host calls a tool
through the team's gateway. Real Postgres, real server, real host; the model alone is a script."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
from judge.fake_model import FakeModel, Script
from judge.journey import GATEWAY, Household
from judge.real import RealHost, real_host
from judge.trial import program, run_host

from app.catalog.catalog import load_catalog
from app.export.apply import apply
from app.export.plan import plan
from app.hosts.reading import read_hosts
from app.registry.register import register
from store import exports
from store.records import THROUGH
from tests.fakes.team_fixtures import running_trial
from tests.fakes.team_process import TrialProcess
from tests.fakes.web_client import WebClient

__all__ = ["running_trial"]
pytestmark = [pytest.mark.hosts, pytest.mark.timeout(400)]
PROFILE = "everyday@sample-team"
TITLE = "written through the team"


@pytest.fixture(params=["codex", pytest.param("opencode", marks=pytest.mark.exhaustive)])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Household:
    host: RealHost = real_host(request.param)
    if not (program(host).is_file() and shutil.which("node")):
        missing = f"run: python tests/hosts/install.py {host.id}"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    return Household(host, tmp_path)


def toolcrib(house: Household, *words: str, given: str = "") -> str:
    """Run the command line as a user of that home does; its output."""
    environ = {**os.environ, "HOME": str(house.home), "TOOLCRIB_HOME": str(house.ctx.paths.home)}
    done = subprocess.run(
        [str(GATEWAY.with_name("toolcrib")), *words],
        input=given,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def host_that_searches(house: Household) -> Iterator[FakeModel]:
    """The host's model, which makes a note by a tool of the team."""
    wanted = Script(
        "notes/create_note",
        {"title": TITLE, "body": house.host.id},
        query="create a new note",
        through=True,
        answers=(TITLE,),
    )
    with FakeModel(wanted, delay=house.host.delay) as model:
        house.set_up(model.port)
        yield model


def run(house: Household, model: FakeModel) -> None:
    """Let the host answer; the tool's answer has reached its model."""
    ended = run_host(house.host, house.home, model)
    heard = model.conversation
    seen = f"{heard.asked} {ended.out[-800:]}{ended.err[-800:]}"
    assert any(TITLE in one.results for one in heard.requests), seen


def test_a_real_host_reaches_the_teams_gateway_by_its_url(
    house: Household, running_trial: TrialProcess
) -> None:
    house.ctx.paths.create()
    toolcrib(house, "team", "join", running_trial.url, given=running_trial.tokens["sam"])
    write = ["export", house.host.id, "--mode", "through", "--http", "--profile", PROFILE]
    with host_that_searches(house) as model:
        toolcrib(house, *write, "--yes")
        run(house, model)
    seen = toolcrib(house, "hosts", "--json")
    assert '"state": "in sync"' in seen
    assert "Restored" in toolcrib(house, "restore", house.host.id, "--yes")


def test_a_real_host_calls_a_tool_of_the_team(
    house: Household, running_trial: TrialProcess
) -> None:
    house.ctx.paths.create()
    token = running_trial.new_token("sam")
    printed = toolcrib(house, "team", "join", running_trial.url, given=token)
    assert f"Give one to a host: toolcrib export HOST --mode through --profile {PROFILE}" in printed
    assert "Synchronised: 3 servers, " in printed and "1 profile changed" in printed
    with host_that_searches(house) as model:
        with closing(house.ctx.open_store()) as db:
            register(house.ctx, db, read_hosts(house.places))
            made = plan(
                house.places,
                house.host.id,
                catalog=load_catalog(db, PROFILE),
                mode=THROUGH,
                gateway_path=GATEWAY,
                history=exports.for_host(db, house.host.id),
                also=("notes",),
            )
            assert not made.refusal
            assert apply(made, house.ctx, db)
        run(house, model)
    team = WebClient(running_trial.port, running_trial.tokens["robin"], "/mcp")
    given = {
        "name": "call_tool",
        "arguments": {"name": "notes/search_notes", "arguments": {"query": TITLE}},
    }
    assert TITLE in team.ask("tools/call", given).text
    left = toolcrib(house, "team", "leave", "--yes")
    assert "restore" in left and "token counts no more" in left
