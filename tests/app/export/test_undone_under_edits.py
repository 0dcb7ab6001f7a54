"""A write that is undone under a later edit of a server leaves that edit in the file."""

import json
from dataclasses import replace

import pytest

from app.core.errors import ToolcribError
from app.export.apply import apply, undo, undo_host
from app.export.entries.plan import load_entry, load_plan
from app.export.plan import DISABLE, EDIT, REMOVE, EntryChange
from app.host_status.drift import find_drift
from app.host_status.entry_taken import register_entry, register_taken_back
from store import exports, servers
from store.records import AS_IS, PRUNED, THROUGH, EntryRecord

JSON = """{
  "theme": "x",   "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "files"]},
    "github": {"command": "npx", "args": ["-y", "github"],
      "env": {"TOKEN": "old-s3cret-value"}},
    "remote": {"url": "https://example.com/mcp"}
  }
}
"""
LATER = '"later": {"command": "npx", "args": ["-y", "later"]}'


@pytest.fixture
def kiro(world):
    world.file = world.write(".kiro/settings/mcp.json", JSON)
    world.learn()
    world.narrow()
    return world


def entry(world, name="github"):
    return EntryRecord("kiro", "user", str(world.file), name)


def change(world, kind, name="github", new="", **parts):
    launch = load_entry(world.db, world.places, entry(world, name)).entry.launch if parts else None
    made = EntryChange(entry(world, name), kind, new, launch and replace(launch, **parts))
    plan = load_plan(world.ctx, world.db, world.places, made)
    assert plan.refusal is None, plan.refusal
    apply(plan, world.ctx, world.db)
    register_entry(world.ctx, world.db, world.places, made.entry, (name, new))


def take_back(world, record):
    done = undo(record.id, world.ctx, world.db)
    register_taken_back(world.ctx, world.db, world.places, [done])


CHANGES = {
    "edit": ({"kind": EDIT, "args": ("-y", "github@2")}, ('"github"]', '"github@2"]')),
    "value": (
        {"kind": EDIT, "env": {"TOKEN": "new-s3cret-value"}},
        ("old-s3cret-value", "new-s3cret-value"),
    ),
    "rename": ({"kind": EDIT, "new": "hub"}, ('"github": {', '"hub": {')),
    "url": (
        {"kind": EDIT, "name": "remote", "url": "https://example.org/v2"},
        ("https://example.com/mcp", "https://example.org/v2"),
    ),
    "off": (
        {"kind": DISABLE, "name": "files"},
        ('"files"]}', '"files"], "disabled": true}'),
    ),
    "remove": (
        {"kind": REMOVE, "name": "remote"},
        (',\n    "remote": {"url": "https://example.com/mcp"}', ""),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("mode", [THROUGH, PRUNED])
def test_the_edit_stays_and_can_still_be_taken_back(kiro, mode, name):
    (written,) = kiro.export("kiro", mode)
    parts, (was, now) = CHANGES[name]
    change(kiro, **parts)
    take_back(kiro, written)
    edited = JSON.replace(was, now)
    assert edited != JSON and kiro.file.read_text() == edited
    (left,) = exports.in_force(exports.for_host(kiro.db, "kiro"))
    assert (left.mode, left.detail["change"]["kind"]) == (AS_IS, parts["kind"])
    assert not find_drift(exports.for_host(kiro.db, "kiro"))
    named = {e.name for row in servers.all_servers(kiro.db) for e in row.entries}
    assert named == set(json.loads(edited)["mcpServers"])
    if name == "edit":
        assert servers.by_name(kiro.db, "github").spec.args == ("-y", "github@2")
    kiro.export("kiro", THROUGH)  # and the next write begins with it
    undo_host("kiro", kiro.ctx, kiro.db)
    assert kiro.file.read_text() == edited
    undo_host("kiro", kiro.ctx, kiro.db)
    assert kiro.file.read_text() == JSON


def test_several_edits_and_a_change_from_outside_stay(kiro):
    (written,) = kiro.export("kiro", THROUGH)
    change(kiro, EDIT, args=("-y", "github@2"))
    kiro.file.write_text(kiro.file.read_text().replace('"x"', '"dark"'))
    change(kiro, EDIT, new="hub")
    change(kiro, EDIT, "remote", url="https://example.org/v2")
    take_back(kiro, written)
    expected = (
        JSON.replace('"x"', '"dark"')
        .replace('"github"]', '"github@2"]')
        .replace('"github": {', '"hub": {')
        .replace("example.com/mcp", "example.org/v2")
    )
    assert json.loads(kiro.file.read_text()) == json.loads(expected)
    for _ in range(3):
        undo_host("kiro", kiro.ctx, kiro.db)
    assert json.loads(kiro.file.read_text()) == json.loads(JSON.replace('"x"', '"dark"'))


def test_under_an_edit_of_what_an_older_write_wraps_it_is_refused_and_nothing_changes(kiro):
    kiro.export("kiro", PRUNED)
    (written,) = kiro.export("kiro", THROUGH)
    change(kiro, EDIT, args=("-y", "github@2"))
    before, records = kiro.file.read_bytes(), exports.for_host(kiro.db, "kiro")
    with pytest.raises(ToolcribError, match="github was changed since this write") as refused:
        undo(written.id, kiro.ctx, kiro.db)
    assert refused.value.hint == "Undo that first."
    assert kiro.file.read_bytes() == before
    assert exports.for_host(kiro.db, "kiro") == records
    undo_host("kiro", kiro.ctx, kiro.db)
    undo(written.id, kiro.ctx, kiro.db)


def test_over_an_older_through_its_servers_stay_behind(kiro):
    kiro.export("kiro", THROUGH)
    own = exports.behind_of(exports.for_host(kiro.db, "kiro"))
    assert own
    text = kiro.file.read_text().replace('"mcpServers": {', f'"mcpServers": {{{LATER},', 1)
    kiro.file.write_text(text)
    (written,) = kiro.export("kiro", THROUGH, profile="other")
    change(kiro, EDIT, "later", new="hub")
    take_back(kiro, written)
    newest = exports.newest_own(exports.for_host(kiro.db, "kiro"))
    assert (newest.mode, newest.profile) == (THROUGH, "default")
    assert newest.detail["change"]["name"] == "hub"
    assert exports.behind_of([newest]) == own
    assert "hub" in json.loads(kiro.file.read_text())["mcpServers"]
