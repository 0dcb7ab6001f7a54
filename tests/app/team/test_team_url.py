"""The team gateway's URL in a host's file: written, read back, kept from a stranger, undone."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.export.apply import apply, undo_host
from app.export.http.of_team import VARIABLE, endpoint_of
from app.export.masking import masked_diff
from app.export.plan import Plan
from app.host_status.drift import IN_SYNC
from app.host_status.http import over_http
from app.host_status.overview import prepare, survey
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.registry.register import register
from app.system.endpoint import Endpoint, TeamEndpoint
from app.team import membership
from store import servers
from store.records import THROUGH
from tests.fakes.team_process import TrialProcess

PROFILE = "everyday@sample-team"
OWN = {"command": "python", "args": ["own.py"]}
FILES = {
    "opencode": (
        ".config/opencode/opencode.json",
        {"mcp": {"own": {"type": "local", "command": ["python", "own.py"]}}},
    ),
    "cursor": (".cursor/mcp.json", {"mcpServers": {"own": OWN}}),
}
Planned = Callable[..., Plan]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, value in FILES.values():
        file = tmp_path / "house" / name
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(value, indent=2))
    codex = tmp_path / "house" / ".codex/config.toml"
    codex.parent.mkdir()
    codex.write_text('# mine\n[mcp_servers.own]\ncommand = "python"\nargs = ["own.py"]\n')
    return tmp_path / "house"


@pytest.fixture
def places(home: Path) -> Places:
    return Places(home, {}, "linux", root=home.parent / "machine")


@pytest.fixture
def planned(
    ctx: AppContext, db: apsw.Connection, places: Places, running_trial: TrialProcess
) -> Planned:
    """Plans for a member: `planned("cursor")`, with a variable set or not."""
    membership.join(ctx, db, running_trial.url, running_trial.tokens["sam"])
    membership.synchronise(ctx, db)
    register(ctx, db, read_hosts(places))

    def make(host: str, *, variable: bool = False, profile: str = PROFILE) -> Plan:
        own = Endpoint(ctx.paths, on=False, port=41380, refusal="no backend")
        seen = replace(places, environ={VARIABLE: "set"}) if variable else places
        catalog = load_catalog(db, profile)
        return prepare(db, seen, catalog, host_id=host, mode=THROUGH, endpoint=own)

    return make


def test_without_a_url_a_hosts_entry_reaches_the_servers_of_the_teams_profile_by_itself(
    planned: Planned, ctx: AppContext, db: apsw.Connection, places: Places
) -> None:
    assert planned("codex").of_team  # the member has joined
    catalog = load_catalog(db, PROFILE)
    plan = prepare(db, places, catalog, host_id="codex", mode=THROUGH)
    assert plan.refusal is None and set(plan.behind) == {"files", "notes", "tracker"}
    assert "own.py" in text(plan)
    named = "Codex also reaches files, notes, tracker, which its files do not name."
    assert named in plan.warnings
    assert apply(plan, ctx, db)
    (status,) = [one for one in survey(db, places, catalog) if one.host.id == "codex"]
    assert status.state == IN_SYNC
    assert prepare(db, places, catalog, host_id="codex", mode=THROUGH).empty
    own = prepare(db, places, load_catalog(db), host_id="cursor", mode=THROUGH)
    assert own.refusal is not None  # one's own profile reaches none of them


def text(plan: Plan) -> str:
    (file,) = plan.files
    return (file.after or b"").decode()


@pytest.mark.parametrize("host", ["cursor", "opencode", "codex"])
def test_the_url_and_a_token_go_beside_ones_own_servers(
    planned: Planned, host: str, running_trial: TrialProcess
) -> None:
    plan = planned(host)
    assert plan.refusal is None and plan.of_team and plan.gives_token
    assert f"{running_trial.url}/mcp/everyday?toolcrib=everyday%40sample-team" in text(plan)
    assert f"Bearer {running_trial.tokens['sam']}" in text(plan)
    assert "own.py" in text(plan)  # which the team's gateway does not have
    assert "own is not in the profile; it stays as it is." in plan.warnings
    note = "Its file gets your team token, which opens the team's tools to all who read it."
    assert note in plan.warnings
    assert all(running_trial.tokens["sam"] not in str(file) for file in masked_diff(plan))


@pytest.mark.parametrize(
    ("host", "spelled"),
    [
        ("cursor", "Bearer ${env:TOOLCRIB_TEAM_TOKEN}"),
        ("opencode", "Bearer {env:TOOLCRIB_TEAM_TOKEN}"),
        ("codex", 'bearer_token_env_var = "TOOLCRIB_TEAM_TOKEN"'),
    ],
)
def test_with_the_variable_set_its_name_is_written(
    planned: Planned, host: str, spelled: str, running_trial: TrialProcess
) -> None:
    plan = planned(host, variable=True)
    assert spelled in text(plan) and not plan.gives_token
    assert running_trial.tokens["sam"] not in text(plan)
    assert any("must be set where it starts" in one for one in plan.warnings)


@pytest.mark.parametrize("host", ["cursor", "opencode", "codex"])
def test_it_is_known_again_and_undone(
    ctx: AppContext, db: apsw.Connection, planned: Planned, places: Places, host: str
) -> None:
    plan = planned(host)
    file = plan.files[0].path
    before = file.read_bytes()
    assert apply(plan, ctx, db)
    names = {server.name for server in servers.all_servers(db)}
    register(ctx, db, read_hosts(places))
    assert {server.name for server in servers.all_servers(db)} == names  # it is no server
    own = Endpoint(ctx.paths, on=False, port=41380)
    status = next(
        one
        for one in survey(db, places, load_catalog(db, "default"), endpoint=own)
        if one.host.id == host
    )
    assert (status.state, status.profile, status.http) == (IN_SYNC, PROFILE, True)
    assert over_http(db) == ()  # no token of this machine's endpoint is in it
    assert planned(host).empty
    undo_host(host, ctx, db)
    assert file.read_bytes() == before


def test_a_renewed_token_is_written_again(
    ctx: AppContext, db: apsw.Connection, planned: Planned, running_trial: TrialProcess
) -> None:
    plan = planned("cursor")
    membership.join(ctx, db, running_trial.url, running_trial.tokens["alex"])
    with pytest.raises(ToolcribError, match="changed meanwhile"):
        apply(plan, ctx, db)
    apply(planned("cursor"), ctx, db)
    membership.join(ctx, db, running_trial.url, running_trial.tokens["sam"])
    again = planned("cursor")
    assert any("no longer the profile's: write again" in one for one in again.warnings)
    assert running_trial.tokens["sam"] in text(again)


def test_a_project_cannot_pass_a_server_off_as_the_teams(
    ctx: AppContext, db: apsw.Connection, planned: Planned, places: Places, tmp_path: Path
) -> None:
    project = tmp_path / "house" / "project"
    (project / ".cursor").mkdir(parents=True)
    url = "https://evil.example.org/mcp/x?toolcrib=default&servers=own"
    tree = {"mcpServers": {"toolcrib": {"url": url}}}
    (project / ".cursor/mcp.json").write_text(json.dumps(tree))
    register(ctx, db, read_hosts(replace(places, project=project)))
    (server,) = [one for one in servers.all_servers(db) if one.spec.url == url]
    assert not server.trusted


def test_ones_own_profile_has_this_machines_endpoint(
    ctx: AppContext, db: apsw.Connection, planned: Planned
) -> None:
    own = Endpoint(ctx.paths, on=True, port=41380)
    assert endpoint_of(db, "default", own) is own
    assert isinstance(endpoint_of(db, PROFILE, own), TeamEndpoint)
    assert "no backend" in (planned("cursor", profile="default").refusal or "")


def test_a_host_that_is_not_written_gets_a_text_to_paste_without_the_token(
    planned: Planned, running_trial: TrialProcess
) -> None:
    plan = planned("continue")
    assert "Replace TOKEN with your team token." in (plan.refusal or "")
    assert f"{running_trial.url}/mcp/everyday?" in plan.snippet and "TOKEN" in plan.snippet
    assert running_trial.tokens["sam"] not in plan.snippet


def test_no_install_link_is_made_for_a_teams_url(planned: Planned) -> None:
    assert planned("cursor").link == ""
