"""Editors change a team profile by a draft: shown with whom it concerns, sent, taken back."""

from collections.abc import Callable
from contextlib import closing

import apsw
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings
from app.team import drafts, membership, publishing
from app.team.client import ChangedMeanwhileError, OfflineError, TeamClient
from store import profiles, teams, tools
from store.connection import transaction
from store.typed import Json
from tests.fakes.team_process import TrialProcess

TEAM, DRAFT = "everyday@sample-team", "everyday draft"
Edit = Callable[..., None]


@pytest.fixture
def as_robin(ctx: AppContext, db: apsw.Connection, running_trial: TrialProcess) -> None:
    """A home of the team's editor, with a draft of the team's one profile."""
    membership.join(ctx, db, running_trial.url, running_trial.new_token("robin"))
    membership.synchronise(ctx, db)
    drafts.begin(db, DRAFT, TEAM)


@pytest.fixture
def put_back(running_trial: TrialProcess):
    """The team's profile is afterwards as it was: other tests use the same team."""
    yield
    with TeamClient(running_trial.url, running_trial.tokens["robin"]) as client:
        save(client, ticks=[{"tool": "notes/search_notes", "on": True, "pinned": True}])


def save(client: TeamClient, *, ticks: list[Json], settings: Json | None = None) -> int:
    """Save the profile as another editor does; its version."""
    version = next(
        item["version"]
        for item in client.changes(0).items[::-1]
        if item["kind"] == "profile" and item.get("name") == "everyday"
    )
    body = {"settings": settings or {}, "ticks": ticks, "version": version}
    return int(client.save_profile("everyday", body)["version"])


@pytest.fixture
def edit(db: apsw.Connection, as_robin: None) -> Edit:
    """Change the draft: `edit("files/read_text_file", on=False)`."""

    def change(tool_id: str, *, on: bool | None = None, pinned: bool | None = None) -> None:
        record = profiles.by_name(db, DRAFT)
        ids = [tool.id for tool in tools.tools(db) if tool.tool_id == tool_id]
        assert record is not None and ids
        with transaction(db):
            if on is not None:
                profiles.set_on(db, record.id, ids, on)
            if pinned is not None:
                profiles.set_pinned(db, record.id, ids, pinned)

    return change


def ticks(db: apsw.Connection) -> dict[str, tuple[bool, bool]]:
    team = membership.current(db)
    (row,) = teams.rows(db, team.id, teams.PROFILE)
    return {one["tool"]: (one["on"], one["pinned"]) for one in row.body["ticks"]}


def test_a_draft_is_shown_with_whom_it_concerns_sent_and_taken_back(
    ctx: AppContext, db: apsw.Connection, edit: Edit, put_back: None
) -> None:
    before = ticks(db)
    edit("files/read_text_file", on=False)
    edit("notes/search_notes", pinned=False)
    draft = profiles.by_name(db, DRAFT)
    assert draft is not None
    with transaction(db):
        settings = ProfileSettings.from_json(draft.settings).with_routing(k=7).to_json()
        profiles.save_settings(db, draft.id, settings)
    prepared = publishing.prepare(ctx, db, DRAFT)
    assert list(prepared.members) == [("alex", "admin"), ("robin", "editor"), ("sam", "member")]
    assert list(prepared.edit.lines) == [
        "Turn off files/read_text_file",
        "Unpin notes/search_notes",
        "Set routing.k to 7",
    ]
    assert ticks(db) == before  # nothing is sent yet
    published = publishing.publish(ctx, db, prepared)
    assert ticks(db)["files/read_text_file"] == (False, False)
    assert ticks(db)["notes/search_notes"] == (True, False)
    record = profiles.by_name(db, TEAM)
    assert record is not None and record.settings["routing"] == {"k": 7}
    assert publishing.prepare(ctx, db, DRAFT).edit.lines == []
    with pytest.raises(ToolcribError, match="changes nothing"):
        publishing.publish(ctx, db, publishing.prepare(ctx, db, DRAFT))
    publishing.take_back(ctx, db, published)
    assert ticks(db) == before
    assert len(publishing.prepare(ctx, db, DRAFT).edit.lines) == 3  # the draft is as it was


def test_a_member_sees_the_change_and_may_make_none(
    ctx: AppContext, db: apsw.Connection, edit: Edit, running_trial: TrialProcess, put_back: None
) -> None:
    edit("files/read_text_file", on=False)
    publishing.publish(ctx, db, publishing.prepare(ctx, db, DRAFT))
    membership.leave(ctx, db)
    membership.join(ctx, db, running_trial.url, running_trial.tokens["sam"])
    membership.synchronise(ctx, db)
    assert ticks(db)["files/read_text_file"] == (False, False)
    place = drafts.place_in_team(db, TEAM)
    assert (place.name, place.draft) == ("everyday", False)
    assert place.refusal == "Only editors of the team change it. You are a member."
    with pytest.raises(ToolcribError, match="Only editors"):
        drafts.begin(db, "mine", TEAM)
    with pytest.raises(ToolcribError, match="Only editors"):
        publishing.prepare(ctx, db, DRAFT)
    with (
        TeamClient(running_trial.url, running_trial.tokens["sam"]) as client,
        pytest.raises(ToolcribError, match="role"),
    ):
        client.concerned("everyday")


def test_another_editors_changes_stay_and_what_both_changed_is_named(
    ctx: AppContext, db: apsw.Connection, edit: Edit, running_trial: TrialProcess, put_back: None
) -> None:
    edit("files/read_text_file", on=False)
    edit("notes/search_notes", on=False)
    stale = publishing.prepare(ctx, db, DRAFT)
    with TeamClient(running_trial.url, running_trial.tokens["alex"]) as client:
        theirs = [
            {"tool": "notes/search_notes", "on": True, "pinned": False},
            {"tool": "files/write_text_file", "on": False, "pinned": False},
        ]
        save(client, ticks=theirs)
        with pytest.raises(ChangedMeanwhileError):
            publishing.publish(ctx, db, stale)
        assert ticks(db)["notes/search_notes"] == (True, True)  # as it was synchronised
        fresh = publishing.prepare(ctx, db, DRAFT)
        assert list(fresh.edit.overridden) == ["Turn off notes/search_notes"]
        published = publishing.publish(ctx, db, fresh)
        assert ticks(db)["files/write_text_file"] == (False, False)
        assert ticks(db)["files/read_text_file"] == (False, False)
        assert ticks(db)["notes/search_notes"] == (False, False)
        save(client, ticks=[])
        with pytest.raises(ToolcribError, match="changed again in the team"):
            publishing.take_back(ctx, db, published)


def test_new_tools_of_the_team_are_no_change_of_a_draft(
    ctx: AppContext, db: apsw.Connection, as_robin: None
) -> None:
    with transaction(db):
        (server, *_) = {tool.server_id for tool in tools.tools(db)}
        record = profiles.by_name(db, DRAFT)
        assert record is not None
        db.execute("DELETE FROM profile_tools WHERE profile_id = ?", (record.id,))
        teams.keep_off(db, server)
    assert all(state.on for state in profiles.states(db, record.id).values())


def test_offline_the_draft_stays(
    ctx: AppContext, db: apsw.Connection, edit: Edit, running_trial: TrialProcess
) -> None:
    edit("files/read_text_file", on=False)
    with transaction(db):
        db.execute("UPDATE teams SET url = 'http://127.0.0.1:9'")
    membership.remember(ctx, "http://127.0.0.1:9", running_trial.tokens["robin"])
    with pytest.raises(OfflineError, match="cannot be reached"):
        publishing.prepare(ctx, db, DRAFT)
    assert list(drafts.edit_of(db, DRAFT).lines) == ["Turn off files/read_text_file"]


def test_leaving_keeps_a_draft_as_a_profile_of_ones_own(
    ctx: AppContext, db: apsw.Connection, as_robin: None
) -> None:
    membership.leave(ctx, db)
    assert profiles.by_name(db, DRAFT) is not None
    with pytest.raises(ToolcribError, match="no draft"), closing(ctx.open_store()) as other:
        drafts.edit_of(other, DRAFT)
