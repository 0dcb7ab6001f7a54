"""An entry that runs through Toolcrib is edited, renamed, switched off and removed as any other."""

import json
from dataclasses import replace

import pytest

from app.export.apply import apply, undo_host
from app.export.entries.plan import load_entry, load_plan
from app.export.masking import masked_diff
from app.export.plan import DISABLE, EDIT, ENABLE, REMOVE, EntryChange
from app.host_status.drift import IN_SYNC, find_drift
from app.host_status.entry_taken import register_entry
from app.hosts.reading import read_hosts
from app.registry.register import register
from app.secrets.secret_store import SecretStore
from store import exports, servers
from store.records import AS_IS, PRUNED, EntryRecord

JSON = """{
  "globalShortcut": "Alt+Space",   "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "files"]},
    "github": {"command": "npx", "args": ["-y", "github"],
      "env": {"TOKEN": "old-s3cret-value"}},
    "remote": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer old-s3cret"}}
  }
}
"""
TOML = """# top
model = "x"

[mcp_servers.files]
command = "npx"
args = ["-y", "files"]

[mcp_servers.github]   # mine
command = "npx"
args = ["-y", "github"]

[mcp_servers.github.env]
TOKEN = "old-s3cret-value"

[mcp_servers.remote]
url = "https://example.com/mcp"
http_headers = { Authorization = "Bearer old-s3cret" }
"""
OPENCODE = """{
  // mine
  "mcp": {
    "files": {"type": "local", "command": ["npx", "-y", "files"]},
    "github": {"type": "local", "command": ["npx", "-y", "github"],
      "environment": {"TOKEN": "old-s3cret-value"}},
    "remote": {"type": "remote", "url": "https://example.com/mcp",
      "headers": {"Authorization": "Bearer old-s3cret"}}
  }
}
"""
FILES = {
    "kiro": (".kiro/settings/mcp.json", JSON),
    "codex": (".codex/config.toml", TOML),
    "opencode": (".config/opencode/opencode.json", OPENCODE),
}


class Pruned:
    """A host with three servers, each behind its own gateway."""

    def __init__(self, world, host):
        self.world, self.host = world, host
        path, self.text = FILES[host]
        self.file = world.write(path, self.text)
        world.learn()
        world.db.execute("UPDATE servers SET read_at = 1")
        world.narrow()
        world.export(host, PRUNED)
        self.pruned = self.file.read_text()

    def entry(self, name="github"):
        return EntryRecord(self.host, "user", str(self.file), name)

    def found(self, name="github"):
        return load_entry(self.world.db, self.world.places, self.entry(name))

    def change(self, kind, name="github", new="", **parts):
        launch = replace(self.found(name).entry.launch, **parts) if parts else None
        change = EntryChange(self.entry(name), kind, new, launch)
        return load_plan(self.world.ctx, self.world.db, self.world.places, change)

    def write(self, plan):
        assert plan.refusal is None, plan.refusal
        world, change = self.world, plan.change
        apply(plan, world.ctx, world.db)
        names = change.entry.name, change.name
        register_entry(world.ctx, world.db, world.places, change.entry, names)

    def undo(self, name="github", new=""):
        world = self.world
        undo_host(self.host, world.ctx, world.db)
        register_entry(world.ctx, world.db, world.places, self.entry(new or name), (new, name))
        assert self.file.read_text() == self.pruned

    def server(self, name="github"):
        return servers.by_name(self.world.db, name)

    def entries(self, name):
        return [one for one in self.server(name).entries if one.host == self.host]

    def secrets(self, name="remote"):
        return SecretStore.open(self.world.ctx.paths).get(self.server(name).spec.key)


@pytest.fixture(params=FILES)
def pruned(request, world):
    return Pruned(world, request.param)


def test_an_edit_changes_what_the_gateway_starts_and_what_as_is_gives(pruned):
    before = pruned.server()
    args, env = ("-y", "github@2", "--read"), {"TOKEN": "new-s3cret-value"}
    plan = pruned.change(EDIT, args=args, env=env)
    (shown,) = masked_diff(plan)
    assert "toolcrib-gateway" in shown.after and "github@2" in shown.after
    assert "github@2" not in shown.before and "s3cret" not in shown.before + shown.after
    assert any("goes on starting it through Toolcrib" in text for text in plan.warnings)
    assert plan.mode == PRUNED and plan.restart_hint
    pruned.write(plan)
    after = pruned.file.read_text()
    place = pruned.found()
    assert place.live.pruned == "default" and place.live.server == "github"
    assert (place.entry.launch.args, place.entry.launch.env) == (args, env)
    kept = [line for line in pruned.pruned.splitlines() if "TOKEN" not in line]
    gone = [line for line in kept if line not in after.splitlines()]
    assert all("github" in line for line in gone), gone
    now = pruned.server()
    assert (now.id, now.spec.args, now.trusted) == (before.id, args, True)
    world = pruned.world
    (drift,) = find_drift(exports.for_host(world.db, pruned.host))
    assert drift.state == IN_SYNC
    register(world.ctx, world.db, read_hosts(world.places))  # a scan has no other opinion
    assert pruned.server().spec.args == args
    pruned.undo()
    assert pruned.server().spec.args == ("-y", "github")
    pruned.write(pruned.change(EDIT, args=("-y", "github@2"), env=env))
    world.export(pruned.host, AS_IS)
    assert pruned.file.read_text() == pruned.text.replace('"github"]', '"github@2"]').replace(
        "old-s3cret-value", "new-s3cret-value"
    )


def test_a_url_is_edited_in_the_copy_and_the_gateway_gets_its_values(pruned):
    plan = pruned.change(
        EDIT, "remote", url="https://example.org/v2", headers={"Authorization": "Bearer new-s3cret"}
    )
    (shown,) = masked_diff(plan)
    assert "example.org/v2" in shown.after and "example.org" not in shown.before
    assert "s3cret" not in shown.before + shown.after
    assert not plan.restart_hint and any("next call on" in text for text in plan.warnings)
    pruned.write(plan)
    assert pruned.file.read_text() == pruned.pruned, "the file has no URL to change"
    assert pruned.server("remote").spec.url == "https://example.org/v2"
    assert pruned.secrets().headers == {"Authorization": "Bearer new-s3cret"}
    pruned.undo("remote")
    assert pruned.server("remote").spec.url == "https://example.com/mcp"
    assert pruned.secrets().headers == {"Authorization": "Bearer old-s3cret"}
    pruned.write(pruned.change(EDIT, "remote", url="https://example.org/v2"))
    pruned.world.export(pruned.host, AS_IS)
    assert pruned.file.read_text() == pruned.text.replace("example.com/mcp", "example.org/v2")


@pytest.mark.parametrize("name", ["github", "remote"])
def test_it_is_renamed_and_the_catalog_keeps_its_name(pruned, name):
    pruned.write(pruned.change(EDIT, name, new="hub"))
    assert pruned.found("hub").live.server == name
    assert [one.name for one in pruned.entries(name)] == ["hub"]
    pruned.undo(name, "hub")
    assert [one.name for one in pruned.entries(name)] == [name]
    pruned.write(pruned.change(EDIT, name, new="hub"))
    pruned.world.export(pruned.host, AS_IS)
    renamed = pruned.file.read_text()
    assert f'"{name}": {{' not in renamed and f"mcp_servers.{name}]" not in renamed
    assert "hub" in renamed and "toolcrib" not in renamed


@pytest.mark.parametrize("name", ["github", "remote"])
def test_it_is_removed_with_its_copy_and_undo_gives_both_back(pruned, name):
    pruned.write(pruned.change(REMOVE, name))
    assert name not in [one.name for one in servers.all_servers(pruned.world.db)]
    pruned.undo(name)
    back = pruned.server(name)
    assert back.trusted and len(pruned.world.catalog.of_server(back.id)) == 4
    pruned.write(pruned.change(REMOVE, name))
    pruned.world.export(pruned.host, AS_IS)
    left = {"github", "remote"} - {name}
    assert all(one in pruned.file.read_text() for one in left | {"files"})
    assert "toolcrib" not in pruned.file.read_text()
    with pytest.raises(Exception, match="no longer in"):
        pruned.found(name)


@pytest.mark.parametrize("name", ["github", "remote"])
def test_it_is_switched_off_and_on_again_and_as_is_keeps_it_off(pruned, name):
    pruned.write(pruned.change(DISABLE, name))
    off = pruned.file.read_text()
    assert pruned.found(name).live.disabled and off != pruned.pruned
    assert [one.disabled for one in pruned.entries(name)] == [True]
    pruned.write(pruned.change(ENABLE, name))
    assert not pruned.found(name).live.disabled
    assert [one.disabled for one in pruned.entries(name)] == [False]
    undo_host(pruned.host, pruned.world.ctx, pruned.world.db)
    assert pruned.file.read_text() == off
    pruned.undo(name)
    pruned.write(pruned.change(DISABLE, name))
    pruned.world.export(pruned.host, AS_IS)
    (found,) = [
        one
        for reading in read_hosts(pruned.world.places)
        for one in reading.entries
        if one.name == name
    ]
    assert found.disabled and not found.pruned


def test_one_that_another_host_names_too_parts_and_its_gateway_is_told_the_new_name(world):
    world.write(".kiro/settings/mcp.json", JSON)
    path, text = ".cursor/mcp.json", JSON
    FILES["cursor"] = (path, text)
    pruned = Pruned(world, "cursor")
    for name, parts, new in (
        ("github", {"args": ("-y", "github@2")}, "github-2"),
        ("remote", {"url": "https://example.org/v2"}, "remote-2"),
    ):
        plan = pruned.change(EDIT, name, **parts)
        assert f"In the Catalog it becomes {new}. Read its tools there afterwards." in plan.warnings
        pruned.write(plan)
        args = json.loads(pruned.file.read_text())["mcpServers"][name]["args"]
        assert args[args.index("--server") + 1] == new
        assert [one.host for one in pruned.server(new).entries] == ["cursor"]
        assert [one.host for one in pruned.server(name).entries] == ["kiro"]
        pruned.undo(name)
        assert len(pruned.server(name).entries) == 2


def test_a_value_of_the_hosts_own_is_refused_where_toolcrib_reaches_the_url(world):
    FILES["vscode"] = (".config/Code/User/mcp.json", JSON.replace("mcpServers", "servers"))
    pruned = Pruned(world, "vscode")
    plan = pruned.change(EDIT, "remote", headers={"Authorization": "Bearer ${input:token}"})
    assert plan.refusal == (
        "${input:token} comes from VS Code, and Toolcrib starts the server."
        " Write VS Code as is first, then edit it."
    )
    assert pruned.change(EDIT, args=("-y", "${input:repo}")).refusal is None  # the host fills it
