"""Files that Toolcrib wrote, seen by a Toolcrib that remembers nothing of it."""

import json

import pytest

from app.export.apply import apply
from app.export.history import ChangedPlaces, revert_edits
from app.export.plan import plan
from app.hosts.documents.edits import Delete, Set, apply_edits
from app.hosts.importing import read_data

STUB = {"command": "python", "args": ["stub.py"], "env": {"A": "x"}}
TREE = {"mcpServers": {"stub": STUB, "web": {"url": "https://h.example/mcp"}}}


def forgetful(
    world, mode, gateway="/new/toolcrib-gateway", host="cursor", profile="default", also=None
):
    from pathlib import Path

    return plan(
        world.places,
        host,
        catalog=world.seen_by(profile),
        mode=mode,
        gateway_path=Path(gateway),
        also=also,
    )


def tree_after(made):
    (file,) = made.files
    return json.loads(file.after)["mcpServers"]


@pytest.fixture
def pruned(world):
    file = world.write(".cursor/mcp.json", TREE)
    world.learn()
    world.narrow()
    world.export("cursor", "pruned")
    world.learn()
    world.narrow()
    return file


def test_pruning_again_takes_the_new_gateway_and_profile_and_wraps_once(world, pruned):
    after = tree_after(forgetful(world, "pruned", profile="lean"))
    assert after["stub"]["command"] == "/new/toolcrib-gateway"
    assert after["stub"]["args"] == [
        *("--profile", "lean", "--server", "stub", "--"),
        *("python", "stub.py"),
    ]
    assert after["web"]["args"] == ["--profile", "lean", "--server", "web"]


def test_as_is_gives_each_command_back_and_says_what_it_cannot_know(world, pruned):
    made = forgetful(world, "as-is")
    after = tree_after(made)
    assert after["stub"] == STUB
    assert any("URL of web is no longer known" in warning for warning in made.warnings)


def test_one_entry_replaces_wrapped_ones(world, pruned):
    assert list(tree_after(forgetful(world, "through"))) == ["toolcrib"]


def test_the_one_entry_is_renewed_or_removed(world):
    world.serve_another()
    world.write(".cursor/mcp.json", {"mcpServers": {"mine": STUB}})
    made = forgetful(world, "through", "/old/toolcrib-gateway", also=["far"])
    apply(made, world.ctx, world.db)
    after = tree_after(forgetful(world, "through"))
    assert after["toolcrib"]["command"] == "/new/toolcrib-gateway"
    made = forgetful(world, "as-is")
    assert tree_after(made) == {"mine": STUB}
    assert made.changes == ("toolcrib: removed",)


def test_an_array_command_is_unwrapped_too(world):
    entry = {"type": "local", "command": ["x", "y"], "enabled": True}
    file = world.write(".config/opencode/opencode.jsonc", {"mcp": {"stub": entry}})
    world.learn()
    world.narrow()
    world.export("opencode", "pruned")
    assert "toolcrib-gateway" in file.read_text()
    made = forgetful(world, "native", host="opencode")
    (written,) = made.files
    assert json.loads(written.after)["mcp"]["stub"] == entry
    (found,) = read_data(written.after, written.path, "opencode").entries
    assert found.pruned == ""


def test_reverting_puts_places_back_and_leaves_the_users_changes():
    before = {"a": {"x": 1}, "list": ["u"]}
    now = {"a": {"x": 2, "mine": 3}, "new": {"y": 1}, "list": ["u", "ours", "later"]}
    change = ChangedPlaces((("a", "x"), ("new",), ("gone", "z")), ((("list",), ("ours",)),))
    edits = revert_edits(now, before, change)
    assert apply_edits(now, edits) == {"a": {"x": 1, "mine": 3}, "list": ["u", "later"]}
    assert ChangedPlaces.from_json(json.loads(json.dumps(change.to_json()))) == change


def test_edits_name_no_value_when_they_are_printed():
    assert "s3cret" not in repr(Set(("a",), "s3cret")) + repr(Delete(("a",)))


def test_a_missing_copy_of_the_original_is_said(world, pruned):
    for copy in (world.ctx.paths.backups / "cursor").iterdir():
        copy.unlink()
    refusal = world.plan("cursor", "as-is").refusal
    assert "copy of mcp.json from before Toolcrib is gone" in refusal
