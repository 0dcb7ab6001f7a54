"""A second home joins the trial's team, gets its catalogue, and is as before once it leaves."""

import json
import re

import apsw
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.registry.importing import add_server
from app.team import membership, sending
from app.team.client import EndedTokenError, OfflineError, TeamClient, plain_url
from store import profiles, queries, servers, teams, tools
from store.connection import transaction
from store.errors import StoreError
from store.records import EntryRecord, LabelRecord, NewTool, ServerSpec
from tests.fakes.team_process import TrialProcess
from tests.fakes.team_replica import program


def contents(db: apsw.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but the search index, which is checked by what it finds."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    kept = [name for name in names if not name.startswith(("keywords_", "sqlite_"))]
    return {name: db.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in kept}


def give_own_work(db: apsw.Connection) -> None:
    """A server of the user's own that is called like one of the team's, with ticks."""
    with transaction(db):
        entry = EntryRecord("cursor", "user", "/home/a/.cursor/mcp.json", "notes")
        spec = ServerSpec(transport="stdio", key="own", command="own-notes")
        server_id = servers.place(db, entry, spec, name="notes", trusted=True)
        raw = {"name": "mine", "description": "does mine"}
        (tool_id,) = tools.save_list(db, server_id, [NewTool("mine", raw, "h")], 1.0).added
        profiles.set_pinned(db, 1, [tool_id], True)


def move_out_of_reach(ctx: AppContext, db: apsw.Connection) -> None:
    """Nothing listens any more where the team's server was."""
    with transaction(db):
        db.execute("UPDATE teams SET url = 'http://127.0.0.1:9'")
    ctx_secrets = json.loads(ctx.paths.secrets.read_text())
    ctx_secrets["team token"]["url"] = "http://127.0.0.1:9"
    ctx.paths.secrets.write_text(json.dumps(ctx_secrets))


@pytest.fixture
def joined(ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess) -> None:
    give_own_work(db)
    membership.join(ctx, db, running_trial.url, running_trial.tokens["sam"])
    membership.synchronise(ctx, db)


def test_the_teams_tools_come_reviewed_and_ones_own_stay(
    ctx: AppContext, db: apsw.Connection, joined: None
) -> None:
    names = [server.name for server in servers.all_servers(db)]
    assert names == ["files", "notes", "notes@sample-team", "tracker"]
    of_team = [tool for tool in tools.tools(db) if tool.server != "notes"]
    assert of_team and all(tool.hash == tool.trusted_hash and not tool.problem for tool in of_team)
    open_findings = db.execute("SELECT count(*) FROM findings WHERE decided = ''").fetchone()
    assert open_findings == (0,)
    states = profiles.states(db, 1)
    assert all(not states[tool.id].on for tool in of_team)
    assert [s.pinned for s in states.values() if s.on] == [True]


def test_a_team_profile_is_the_teams_alone(
    ctx: AppContext, db: apsw.Connection, joined: None
) -> None:
    profile = profiles.by_name(db, "everyday@sample-team")
    assert profile is not None
    assert profile.settings["servers"] == ["files", "notes@sample-team", "tracker"]
    pinned = [state for state in profiles.states(db, profile.id).values() if state.pinned]
    assert len(pinned) == 1
    tool = tools.tools(db)[0]
    for change in (
        lambda: profiles.set_on(db, profile.id, [tool.id], False),
        lambda: profiles.set_pinned(db, profile.id, [tool.id], True),
        lambda: profiles.save_settings(db, profile.id, {}),
        lambda: profiles.delete(db, profile.id),
    ):
        with pytest.raises(StoreError, match="belongs to your team"), transaction(db):
            change()
    with transaction(db):  # a tool that changed on this machine is held all the same
        profiles.set_held(db, profile.id, [tool.id], "new")
        copy = profiles.create(db, "my own", copy_of=profile.id)
        profiles.set_on(db, copy.id, [tool.id], False)


def test_leaving_brings_back_what_was_before(
    ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess
) -> None:
    give_own_work(db)
    before, secrets = contents(db), ctx.paths.secrets
    token = running_trial.new_token("sam")
    membership.join(ctx, db, running_trial.url, token)
    membership.synchronise(ctx, db)
    assert token in secrets.read_text()
    assert contents(db) != before
    left = membership.leave(ctx, db)
    assert (left.servers, list(left.profiles)) == (3, ["everyday@sample-team"])
    after = contents(db)
    own = ("summaries", "token_counts", "keywords", "requests", "findings", "blobs")
    assert {k: v for k, v in after.items() if k not in own} == {
        k: v for k, v in before.items() if k not in own
    }
    assert db.execute("SELECT count(*) FROM summaries").fetchone() == (1,)  # of one's own tool
    assert token not in secrets.read_text()


def listed_token(trial: TrialProcess) -> str:
    """The newest token of sam, as an admin sees it."""
    words = ("token", "list", "sam", "--organisation", "sample-team")
    return program({"TOOLCRIB_TEAM_DATABASE": trial.database}, *words).splitlines()[0]


def test_leaving_ends_the_token_of_this_machine_alone(
    ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess
) -> None:
    token, other = running_trial.new_token("sam"), running_trial.tokens["sam"]
    assert "never used" in listed_token(running_trial)
    membership.join(ctx, db, running_trial.url, token)
    left = membership.leave(ctx, db)
    assert left.token_text == "Its token counts no more on the team server."
    with TeamClient(running_trial.url, token) as client, pytest.raises(EndedTokenError):
        client.me()
    with TeamClient(running_trial.url, other) as client:
        assert client.me().member == "sam"
    assert listed_token(running_trial).endswith("revoked")
    membership.join(ctx, db, running_trial.url, other)


def test_a_token_that_was_ended_before_keeps_no_one_from_leaving(
    ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess
) -> None:
    token = running_trial.new_token("sam")
    membership.join(ctx, db, running_trial.url, token)
    with TeamClient(running_trial.url, token) as client:
        client.send("/v1/tokens", {}, "DELETE")
    assert not membership.leave(ctx, db).token_problem


def test_out_of_reach_one_leaves_all_the_same_and_an_admin_finds_and_ends_the_token(
    ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess
) -> None:
    token = running_trial.new_token("sam")
    membership.join(ctx, db, running_trial.url, token)
    move_out_of_reach(ctx, db)
    left = membership.leave(ctx, db)
    assert "cannot be reached. The token of this machine may still count there." in left.token_text
    assert "toolcrib-team token list sam --organisation sample-team" in left.token_text
    assert membership.state(db).team is None and "team token" not in ctx.paths.secrets.read_text()
    row = listed_token(running_trial)
    assert re.search(r"last used \d{4}-\d\d-\d\d", row) and "revoked" not in row
    words = ("token", "revoke", row.split()[0])
    assert "counts no more" in program({"TOOLCRIB_TEAM_DATABASE": running_trial.database}, *words)
    with TeamClient(running_trial.url, token) as client, pytest.raises(EndedTokenError):
        client.me()


def test_a_second_synchronisation_fetches_what_changed_alone(
    ctx: AppContext, db: apsw.Connection, joined: None
) -> None:
    made = membership.synchronise(ctx, db)
    assert (made.applied.servers, made.applied.tools, made.applied.profiles) == (0, 0, 0)


def test_a_stopped_synchronisation_goes_on_where_it_was(
    ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess
) -> None:
    membership.join(ctx, db, running_trial.url, running_trial.tokens["sam"])
    with pytest.raises(ToolcribError, match="stopped"):
        membership.synchronise(ctx, db, keep_going=lambda: False)
    team = membership.current(db)
    assert team.cursor > 0 and not team.complete and servers.all_servers(db) == []
    membership.synchronise(ctx, db)
    assert len(servers.all_servers(db)) == 3 and membership.current(db).complete


def test_offline_says_so_and_the_catalogue_stays(
    ctx: AppContext, db: apsw.Connection, joined: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_out_of_reach(ctx, db)
    count = len(tools.tools(db))
    with pytest.raises(OfflineError, match="cannot be reached"):
        membership.synchronise(ctx, db)
    assert len(tools.tools(db)) == count
    assert "cannot be reached" in membership.current(db).problem


def test_what_is_sent_is_listed_before_and_sent_once(
    ctx: AppContext, db: apsw.Connection, joined: None, running_trial: TrialProcess
) -> None:
    with transaction(db):
        queries.save_labels(
            db,
            [
                LabelRecord(0, "find a note", ("notes@sample-team/search_notes",), "typed", 1.0),
                LabelRecord(0, "my own secret", ("notes/mine",), "typed", 1.0),
            ],
        )
    listed = sending.unsent(ctx, db, "labels").rows
    assert listed == [{"query": "find a note", "tools": ["notes/search_notes"]}]
    assert sending.send(ctx, db) == {}
    sending.choose(db, ["labels", "use"])
    assert sending.send(ctx, db) == {"labels": 1, "use": 0}
    assert sending.send(ctx, db) == {"labels": 0, "use": 0}


def test_what_is_sent_holds_no_secret_of_a_server(
    ctx: AppContext, db: apsw.Connection, joined: None
) -> None:
    add_server(ctx, db, "db", LaunchSpec("stdio", "db-server", env={"PLACE": "k7Qw-9zPx-33ab"}))
    tool = "notes@sample-team/search_notes"
    with transaction(db):
        queries.save_labels(
            db, [LabelRecord(0, "the note on k7Qw-9zPx-33ab", (tool,), "imported", 1.0)]
        )
    (row,) = sending.unsent(ctx, db, "labels").rows
    assert row["query"] == "the note on ••••"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://a",
        "http://tools.example.org",
        "https://user@a",
        "https://a/path",
        "https://a?x=1",
    ],
)
def test_urls_that_are_no_team_servers(text: str) -> None:
    with pytest.raises(ToolcribError):
        plain_url(text)


def test_a_wrong_token_is_named_and_joins_nothing(
    ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess
) -> None:
    with pytest.raises(ToolcribError, match="does not take the token"):
        membership.join(ctx, db, running_trial.url, "tct_" + "x" * 43)
    assert teams.current(db) is None


def test_joining_out_of_reach_promises_nothing_that_was_never_synchronised(
    ctx: AppContext, db: apsw.Connection
) -> None:
    with pytest.raises(OfflineError, match="cannot be reached") as caught:
        membership.join(ctx, db, "http://127.0.0.1:9", "tct_x")
    assert caught.value.hint == "Check the URL, and that the team server runs."
