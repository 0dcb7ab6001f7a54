"""A server behind Toolcrib is edited in the copy that "as is" gives back; undo takes it back."""

import json
from dataclasses import replace

import pytest

from app.core.errors import ToolcribError
from app.export.apply import apply, undo_host
from app.export.entries.plan import load_entry, load_plan
from app.export.masking import masked_diff
from app.export.plan import DISABLE, EDIT, ENABLE, REMOVE, EntryChange
from app.host_status.drift import IN_SYNC, find_drift
from app.host_status.entry_taken import register_entry
from app.host_status.status import host_status
from app.hosts.facts import host
from app.secrets.secret_store import SecretStore
from app.system.endpoint import Endpoint
from store import exports, servers
from store.records import AS_IS, THROUGH, EntryRecord

JSON = """{
  "globalShortcut": "Alt+Space",   "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "files"]},
    "github": {"command": "npx", "args": ["-y", "github"],
      "env": {"TOKEN": "old-s3cret-value"}}
  }
}
"""


@pytest.fixture
def world(host_world, ctx, db, tmp_path):
    world = host_world.HostWorld(tmp_path, ctx, db)
    world.file = world.write(".cursor/mcp.json", JSON)
    world.learn()
    db.execute("UPDATE servers SET read_at = 1")
    world.export("cursor", THROUGH)
    return world


def entry(world, name="github"):
    return EntryRecord("cursor", "user", str(world.file), name)


def edited(world, name="", **parts):
    launch = load_entry(world.db, world.places, entry(world)).entry.launch
    change = EntryChange(entry(world), EDIT, name, replace(launch, **parts))
    return load_plan(world.ctx, world.db, world.places, change)


def write(world, plan):
    apply(plan, world.ctx, world.db)
    names = plan.change.entry.name, plan.change.name
    register_entry(world.ctx, world.db, world.places, plan.change.entry, names)


def take_back(world, name="github", new=""):
    undo_host("cursor", world.ctx, world.db)
    register_entry(world.ctx, world.db, world.places, entry(world, new or name), (new, name))


def secrets_of(world, name="github"):
    return SecretStore.open(world.ctx.paths).get(servers.by_name(world.db, name).spec.key).env


def test_an_edit_is_shown_changes_what_is_started_and_what_as_is_gives(world):
    through = world.file.read_bytes()
    server = servers.by_name(world.db, "github")
    plan = edited(world, args=("-y", "github@2"), env={"TOKEN": "new-s3cret-value"})
    (shown,) = masked_diff(plan)
    assert '"github@2"' in shown.after and '"github@2"' not in shown.before
    assert "s3cret" not in shown.after + shown.before
    assert any("through Toolcrib" in text for text in plan.warnings)
    write(world, plan)
    assert world.file.read_bytes() == through, "the host's own entry is Toolcrib's, as before"
    now = servers.by_name(world.db, "github")
    assert (now.id, now.spec.args, now.trusted) == (server.id, ("-y", "github@2"), True)
    assert secrets_of(world) == {"TOKEN": "new-s3cret-value"}
    (drift,) = find_drift(exports.for_host(world.db, "cursor"))
    assert drift.state == IN_SYNC
    world.export("cursor", AS_IS)
    assert world.file.read_text() == JSON.replace('"github"]', '"github@2"]').replace(
        "old-", "new-"
    )


def test_its_undo_gives_the_former_launch_with_its_values_back(world):
    through = world.file.read_bytes()
    write(world, edited(world, args=("-y", "github@2"), env={"TOKEN": "new-s3cret-value"}))
    take_back(world)
    assert world.file.read_bytes() == through
    assert servers.by_name(world.db, "github").spec.args == ("-y", "github")
    assert secrets_of(world) == {"TOKEN": "old-s3cret-value"}
    undo_host("cursor", world.ctx, world.db)
    assert world.file.read_text() == JSON


def test_it_can_be_renamed_and_the_catalog_keeps_its_name(world):
    write(world, edited(world, name="hub"))
    assert load_entry(world.db, world.places, entry(world, "hub")).kept is not None
    assert [e.name for e in servers.by_name(world.db, "github").entries] == ["hub"]
    take_back(world, "github", "hub")
    assert [e.name for e in servers.by_name(world.db, "github").entries] == ["github"]
    write(world, edited(world, name="hub"))
    world.export("cursor", AS_IS)
    assert set(json.loads(world.file.read_text())["mcpServers"]) == {"files", "hub"}


@pytest.mark.parametrize("over_http", [False, True])
def test_one_that_another_host_names_too_parts_from_it_and_the_file_names_the_new_one(
    host_world, ctx, db, tmp_path, over_http
):
    world = host_world.HostWorld(tmp_path, ctx, db)
    world.file = world.write(".cursor/mcp.json", JSON)
    world.write(".kiro/settings/mcp.json", JSON)
    world.learn()
    ctx.paths.create()
    ctx.keep(http=True)
    address = Endpoint(ctx.paths, on=True, port=41380) if over_http else None
    world.export("cursor", THROUGH, endpoint=address)
    through = world.file.read_text()
    plan = edited(world, args=("-y", "github@2"))
    assert any("It is also in Kiro, where it stays" in text for text in plan.warnings)
    assert "In the Catalog it becomes github-2. Read its tools there afterwards." in plan.warnings
    write(world, plan)
    text = world.file.read_text()
    assert text.replace("github-2", "github") == through != text
    assert servers.by_name(world.db, "github").spec.args == ("-y", "github")
    assert servers.by_name(world.db, "github-2").spec.args == ("-y", "github@2")
    assert set(exports.for_host(world.db, "cursor")[0].detail["behind"]) == {"files", "github-2"}
    take_back(world)
    assert world.file.read_text() == through
    assert servers.by_name(world.db, "github").spec.args == ("-y", "github")
    assert len(servers.by_name(world.db, "github").entries) == 2


def test_a_file_changed_since_keeps_that_change_and_the_edit(world):
    tree = json.loads(world.file.read_text())
    tree["theme"] = "dark"
    world.file.write_text(json.dumps(tree))
    write(world, edited(world, args=("-y", "github@2")))
    world.export("cursor", AS_IS)
    now = json.loads(world.file.read_text())
    assert now["theme"] == "dark"
    assert now["mcpServers"]["github"]["args"] == ["-y", "github@2"]


def test_no_change_writes_nothing_and_one_that_is_gone_says_so(world):
    assert not edited(world).files
    with pytest.raises(ToolcribError, match="is behind Toolcrib"):
        load_entry(world.db, world.places, entry(world, "nobody"))


def plan_of(world, kind, name="github"):
    return load_plan(world.ctx, world.db, world.places, EntryChange(entry(world, name), kind))


def behind(world):
    words = json.loads(world.file.read_text())["mcpServers"]["toolcrib"]["args"]
    return words[words.index("--servers") + 1].split(",")


def test_one_behind_toolcrib_is_removed_from_what_the_host_reaches_and_undo_gives_it_back(world):
    through = world.file.read_bytes()
    plan = plan_of(world, REMOVE)
    (shown,) = masked_diff(plan)
    assert '"github"' in shown.before and '"github"' not in shown.after
    assert (
        any(
            "no more, also where it runs; a call under way ends first." in text
            for text in plan.warnings
        )
        and plan.restart_hint
    )
    write(world, plan)
    assert behind(world) == ["files"] == exports.for_host(world.db, "cursor")[0].detail["behind"]
    assert "github" not in [one.name for one in servers.all_servers(world.db)]
    only = plan_of(world, REMOVE, "files").refusal
    assert only == "files is the only server behind Toolcrib in Cursor. Write Cursor as is first."
    take_back(world)
    assert world.file.read_bytes() == through
    back = servers.by_name(world.db, "github")
    assert back.trusted and len(world.catalog.of_server(back.id)) == 4
    assert secrets_of(world) == {"TOKEN": "old-s3cret-value"}
    write(world, plan_of(world, REMOVE))
    world.export("cursor", AS_IS)
    assert set(json.loads(world.file.read_text())["mcpServers"]) == {"files"}


def test_one_that_another_entry_of_the_host_names_is_still_reached(host_world, ctx, db, tmp_path):
    world = host_world.HostWorld(tmp_path, ctx, db)
    twice = json.loads(JSON)
    twice["mcpServers"]["again"] = twice["mcpServers"]["github"]
    world.file = world.write(".cursor/mcp.json", twice)
    world.learn()
    world.export("cursor", THROUGH)
    through = world.file.read_bytes()
    write(world, plan_of(world, REMOVE))
    assert world.file.read_bytes() == through
    (server,) = [one for one in servers.all_servers(db) if one.spec.args == ("-y", "github")]
    assert [one.name for one in server.entries] == ["again"]
    world.export("cursor", AS_IS)
    assert set(json.loads(world.file.read_text())["mcpServers"]) == {"files", "again"}


@pytest.mark.parametrize("over_http", [False, True])
def test_one_behind_toolcrib_is_switched_off_and_on_again(host_world, ctx, db, tmp_path, over_http):
    world = host_world.HostWorld(tmp_path, ctx, db)
    world.file = world.write(".kiro/settings/mcp.json", JSON)
    world.learn()
    ctx.paths.create()
    ctx.keep(http=True)
    address = Endpoint(ctx.paths, on=True, port=41380) if over_http else None
    world.export("kiro", THROUGH, endpoint=address)
    through = world.file.read_text()
    mine = EntryRecord("kiro", "user", str(world.file), "github")

    def switch(kind):
        plan = load_plan(ctx, db, world.places, EntryChange(mine, kind))
        assert plan.refusal is None
        write(world, plan)

    switch(DISABLE)
    off = world.file.read_text()
    assert off == through.replace("files%2Cgithub" if over_http else "files,github", "files")
    assert [one.disabled for one in servers.by_name(db, "github").entries] == [True]
    assert not world.plan("kiro", THROUGH, endpoint=address).files
    status = host_status(
        world.places,
        host("kiro"),
        catalog=world.catalog,
        gateway_path=world.gateway,
        history=exports.for_host(db, "kiro"),
        endpoint=address,
    )
    assert (status.changes, status.plan and status.plan.changes) == (0, ())
    world.file.write_text(off.replace("Alt+Space", "Alt+X"))
    assert not world.plan("kiro", THROUGH, endpoint=address).files
    world.export("kiro", "pruned")
    assert json.loads(world.file.read_text())["mcpServers"]["github"]["disabled"] is True
    undo_host("kiro", ctx, db)
    assert world.file.read_text() == off.replace("Alt+Space", "Alt+X")
    world.file.write_text(off)
    switch(ENABLE)
    assert world.file.read_text() == through
    assert [one.disabled for one in servers.by_name(db, "github").entries] == [False]
    undo_host("kiro", ctx, db)
    assert world.file.read_text() == off
    world.export("kiro", AS_IS)
    assert json.loads(world.file.read_text())["mcpServers"]["github"]["disabled"] is True
    for _ in range(3):
        undo_host("kiro", ctx, db)
    assert world.file.read_text() == JSON


def test_one_that_was_off_before_stays_beside_and_one_switched_off_behind_stays_out(
    host_world, ctx, db, tmp_path
):
    """A new tick is written without the entry that is off on purpose coming back."""
    world = host_world.HostWorld(tmp_path, ctx, db)
    known = json.loads(JSON)
    known["mcpServers"]["idle"] = {"command": "idle", "disabled": True}
    world.file = world.write(".kiro/settings/mcp.json", known)
    world.learn()
    world.export("kiro", THROUGH)
    assert set(json.loads(world.file.read_text())["mcpServers"]) == {"idle", "toolcrib"}
    mine = EntryRecord("kiro", "user", str(world.file), "github")
    write(world, load_plan(ctx, db, world.places, EntryChange(mine, DISABLE)))
    world.serve_another()
    made = world.plan("kiro", THROUGH, also=("far",))
    assert made.files and not any("github" in text for text in made.changes)
    apply(made, ctx, db)
    assert set(json.loads(world.file.read_text())["mcpServers"]) == {"idle", "toolcrib"}
    assert behind(world) == ["files", "far"]
    world.export("kiro", AS_IS)
    entries = json.loads(world.file.read_text())["mcpServers"]
    assert [one for one in entries if entries[one].get("disabled")] == ["github", "idle"]
    for _ in range(4):
        undo_host("kiro", ctx, db)
    assert json.loads(world.file.read_text()) == known
