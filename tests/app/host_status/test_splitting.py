"""A split makes profiles, writes hosts and projects, and is undone in one step, byte for byte."""

import json
from pathlib import Path

import apsw
import pytest

from app.core.errors import ToolcribError
from app.evidence.projects import encoded, project_folder
from app.host_status.splitting import Split, look_at_split, make_split, owners_of, undo_split
from app.policy.budget import Budget
from app.policy.policy_file import read_policy
from app.policy.profiles import names
from app.policy.sessions import HOST, PROJECT, Owner
from store import events, host_records, policies, splits
from store.connection import transaction
from store.records import THROUGH, EventRecord, HostCall, HostRecord

NOW = 1_795_700_000.0
CURSOR = ".cursor/mcp.json"
BUDGET = Budget(limit=500)


@pytest.fixture
def served(world, db: apsw.Connection, monkeypatch: pytest.MonkeyPatch):
    """Cursor through Toolcrib with three servers of four tools (100 tokens each), and calls."""
    monkeypatch.setattr("app.host_status.overview.gateway_program", lambda: world.gateway)
    world.write(CURSOR, {"mcpServers": {name: {"command": name} for name in ("a", "b", "c")}})
    world.learn()
    world.export("cursor", THROUGH)
    with transaction(db):
        events.add(
            db,
            [
                EventRecord(NOW - 60, "call", host="Cursor", session=f"s{n}", tool=tool)
                for n in range(3)
                for tool in ("a/alpha_get", "b/alpha_list")
            ],
        )
    return world


def add_project(db: apsw.Connection, folder: Path, *tools: str) -> Owner:
    """Calls that Claude Code recorded in a folder."""
    key = encoded(str(folder))
    with transaction(db):
        record = HostRecord(0, "claude-code", f"/h/.claude/projects/{key}/one.jsonl", 1, 1.0)
        number = host_records.save_record(db, record)
        calls = [HostCall(str(n).encode(), *t.split("/"), NOW - 9) for n, t in enumerate(tools)]
        host_records.add_calls(db, number, "claude-code", calls)
    return Owner(PROJECT, key)


def profile_of(split: Split, owner: Owner):
    return next(p for p in split.plan.profiles if owner in [one.owner for one in p.served])


def look(world) -> Split:
    return look_at_split(world.db, world.places, world.catalog, BUDGET, NOW)


def test_a_host_gets_its_profile_and_undoing_puts_every_byte_back(served) -> None:
    file = served.home / CURSOR
    before = file.read_bytes()
    split = look(served)
    assert file.read_bytes() == before and names(served.db) == ("default",)
    record = make_split(served.ctx, served.db, served.catalog, split, [Owner(HOST, "cursor")])
    profile = profile_of(split, Owner(HOST, "cursor"))
    assert {"a/alpha_get", "b/alpha_list"} <= {t.tool.tool_id for t in profile.tools}
    assert profile.name in json.dumps(json.loads(file.read_text()))
    assert set(names(served.db)) == {"default", *(p.name for p in split.plan.profiles)}
    undone = undo_split(served.ctx, served.db)
    assert file.read_bytes() == before and names(served.db) == ("default",)
    assert undone.profiles == tuple(record.detail["profiles"]) and undone.notes == ()
    assert splits.newest(served.db) is None
    with pytest.raises(ToolcribError, match="There is no split to undo"):
        undo_split(served.ctx, served.db)


def test_a_project_gets_a_policy_file_that_is_trusted_and_goes_with_the_split(
    served, tmp_path: Path
) -> None:
    folder = tmp_path / "my-app"
    folder.mkdir()
    owner = add_project(served.db, folder, "c/alpha_get", "c/beta_delete")
    split = look(served)
    make_split(served.ctx, served.db, served.catalog, split, owners_of(split, [str(folder)]))
    path = folder / ".toolcrib.toml"
    policy = read_policy(path)
    profile = profile_of(split, owner)
    assert policy.only == tuple(t.tool.tool_id for t in profile.tools)
    assert policies.trust_of(served.db, str(path)).digest
    undo_split(served.ctx, served.db)
    assert not path.exists() and not policies.trust_of(served.db, str(path)).digest


def test_a_policy_that_was_edited_stays_and_is_named(served, tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    add_project(served.db, folder, "c/alpha_get")
    split = look(served)
    make_split(served.ctx, served.db, served.catalog, split, owners_of(split, ["all"]))
    path = folder / ".toolcrib.toml"
    path.write_text("version = 1\n")
    undone = undo_split(served.ctx, served.db)
    assert undone.notes == (f"{path} was changed since, and stays.",)
    assert path.read_text() == "version = 1\n"


def test_a_project_with_a_policy_of_its_own_is_left_as_it_is(served, tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / ".toolcrib.toml").write_text("version = 1\n")
    add_project(served.db, folder, "c/alpha_get")
    split = look(served)
    refused = next(one for one in split.assignments if one.owner.kind == PROJECT)
    assert refused.refusal == f"It has a policy, {folder / '.toolcrib.toml'}; edit that one."
    with pytest.raises(ToolcribError, match="gets no profile"):
        owners_of(split, [str(folder)])


def test_nothing_is_left_where_a_file_changed_after_it_was_shown(served) -> None:
    split = look(served)
    file = served.home / CURSOR
    file.write_text(file.read_text() + "\n")
    now = file.read_bytes()
    with pytest.raises(ToolcribError):
        make_split(served.ctx, served.db, served.catalog, split, [Owner(HOST, "cursor")])
    assert file.read_bytes() == now
    assert names(served.db) == ("default",) and splits.newest(served.db) is None


def test_a_host_that_gets_no_profile_is_named_with_what_to_do(served) -> None:
    served.export("cursor", "as-is")
    refusal = next(one.refusal for one in look(served).assignments if one.owner.kind == HOST)
    assert refusal.endswith("does not get the profile default; write its config in Hosts first.")


def test_a_folder_is_found_by_its_spelling_unless_two_have_it(tmp_path: Path) -> None:
    folder = tmp_path / "my.app"
    folder.mkdir()
    key = encoded(str(folder))
    assert project_folder(key) == folder
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "app").mkdir()
    assert project_folder(key) is None
    assert project_folder(encoded(str(tmp_path / "gone"))) is None
