import json
import os

from app.export.apply import restore_all, restore_host
from app.host_status.drift import dropped, find_drift, watched
from app.host_status.status import host_status
from app.hosts.facts import host
from store import exports

CONFIG = ".config/Claude/claude_desktop_config.json"
TWO = {"mcpServers": {"stub": {"command": "x"}, "other": {"command": "y", "env": {"K": "t0p"}}}}


def drift_of(world, host_id="claude-desktop"):
    (found,) = find_drift(exports.for_host(world.db, host_id))
    return found


def status_of(world, host_id):
    return host_status(
        world.places,
        host(host_id),
        catalog=world.catalog,
        gateway_path=world.gateway,
        history=exports.for_host(world.db, host_id),
    )


def test_a_file_as_it_was_written_is_in_sync(world):
    world.write(CONFIG, TWO)
    world.learn()
    world.export("claude-desktop", "through")
    found = drift_of(world)
    assert (found.state, found.sentences, found.entries) == ("in sync", (), ())


def test_an_edit_elsewhere_in_the_file_leaves_no_changes_to_export(world):
    file = world.write(
        ".gemini/settings.json",
        '{\n  "mcpServers": {"stub": {"command": "x", "args": []}}\n}\n',
    )
    world.learn()
    world.export("gemini-cli", "through")
    assert status_of(world, "gemini-cli").state == "in sync"
    written = file.read_text()
    file.write_text(written.rstrip()[:-1].rstrip() + ',\n  "theme": "dark"\n}\n')
    status = status_of(world, "gemini-cli")
    assert (status.state, status.changes) == ("in sync", 0)
    file.write_text(file.read_text().replace("default", "another"))
    assert status_of(world, "gemini-cli").state == "changed outside"


def test_a_host_that_removed_toolcribs_entry_is_named_with_three_sides(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.export("claude-desktop", "through")
    file.write_text('{"preferences": {}}')
    found = drift_of(world)
    assert found.state == "changed outside"
    assert found.sentences == (
        "Claude Desktop rewrote its file and removed Toolcrib's entry toolcrib.",
    )
    (entry,) = found.entries
    assert (entry.name, entry.before, entry.now) == ("toolcrib", "", "")
    assert "gateway" in entry.written
    assert '"stub"' in found.before and '"toolcrib"' in found.written and "prefer" in found.now
    assert "t0p" not in found.before + found.written + found.now
    assert file.read_text() == '{"preferences": {}}'  # never rewritten by itself


def test_entries_added_changed_and_removed_are_told_apart(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.narrow()
    world.export("claude-desktop", "pruned")
    tree = json.loads(file.read_bytes())
    tree["mcpServers"]["stub"]["args"][1] = "another"
    del tree["mcpServers"]["other"]
    tree["mcpServers"]["new"] = {"command": "z"}
    file.write_text(json.dumps(tree))
    text = " ".join(drift_of(world).sentences)
    assert "New in the file: new." in text
    assert "Changed in the file: stub." in text
    assert "removed Toolcrib's entry other" in text


def test_a_change_elsewhere_and_a_removed_file_are_said(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.narrow()
    world.export("claude-desktop", "pruned")
    file.write_bytes(file.read_bytes() + b"\n")
    assert "name no server" in drift_of(world).sentences[0]
    file.unlink()
    assert drift_of(world).state == "gone"


def test_the_status_of_a_host_follows_its_file_and_the_ticks(world):
    assert status_of(world, "cursor").state == "not found"
    file = world.write(".cursor/mcp.json", TWO)
    world.learn()
    assert (status_of(world, "cursor").state, status_of(world, "cursor").mode) == (
        "in sync",
        "as-is",
    )
    world.write(".kiro/settings/mcp.json", TWO)
    world.learn()
    world.off("stub/beta_delete")
    world.export("kiro", "native")
    assert status_of(world, "kiro").state == "in sync"
    world.off("stub/alpha_list")
    status = status_of(world, "kiro")
    assert (status.state, status.changes, status.mode) == ("changes", 1, "native")
    file.write_text("{")
    assert status_of(world, "cursor").state == "not readable"


def test_keys_that_are_nothing_to_toolcrib_leave_a_host_in_sync(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.export("claude-desktop", "through")
    tree = json.loads(file.read_bytes())
    file.write_text(json.dumps(tree | {"theme": "dark"}))
    assert status_of(world, "claude-desktop").state == "in sync"
    assert "Changed besides servers: theme." in dropped([drift_of(world)])[0]  # restoring drops it
    tree["mcpServers"]["mine"] = {"command": "z"}
    file.write_text(json.dumps(tree))
    assert status_of(world, "claude-desktop").state == "changed outside"


def test_the_files_and_folders_to_watch(world):
    file = world.write(".cursor/mcp.json", TWO)
    assert watched(world.places, host("cursor")) == (file, file.parent)


def test_a_file_that_is_as_is_again_may_change_freely(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.export("claude-desktop", "through")
    world.export("claude-desktop", "as-is")
    file.write_text('{"mcpServers": {}}')
    assert find_drift(exports.for_host(world.db, "claude-desktop")) == ()
    assert status_of(world, "claude-desktop").state == "in sync"


def test_what_restoring_would_drop_is_named_without_a_value(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.narrow()
    world.export("claude-desktop", "pruned")
    tree = json.loads(file.read_bytes())
    tree["mcpServers"]["new"] = {"command": "z", "env": {"K": "t0p-s3cret"}}
    file.write_text(json.dumps({**tree, "theme": "dark", "password": "t0p-s3cret"}))
    (text,) = dropped(find_drift(exports.for_host(world.db, "claude-desktop")))
    assert text == (
        f"{file} changed since Toolcrib wrote it. New in the file: new."
        " Changed besides servers: theme, password."
    )


def test_a_file_in_place_of_which_something_else_stands_is_no_reason_to_hang(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.narrow()
    world.export("claude-desktop", "pruned")
    file.unlink()
    os.mkfifo(file)
    (text,) = dropped(find_drift(exports.for_host(world.db, "claude-desktop")))
    assert "is not a file" in text
    file.unlink()
    file.write_bytes(b"\xff\xfe\x00\xd8")
    (text,) = dropped(find_drift(exports.for_host(world.db, "claude-desktop")))
    assert "UTF-16" in text or "cannot be read" in text or "not valid" in text


def test_what_was_restored_is_the_users_again(world):
    file = world.write(CONFIG, TWO)
    world.learn()
    world.export("claude-desktop", "through")
    restore_host("claude-desktop", world.ctx, world.db)
    file.write_text('{"mcpServers": {"mine": {"command": "later"}}}')
    assert restore_all(world.ctx, world.db).records == ()
    assert "later" in file.read_text()
