"""Servers that stand in a host's file are edited, renamed, switched off and removed there."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.export.apply import apply, undo_host
from app.export.entries.plan import find_entry, plan_entry
from app.export.plan import DISABLE, EDIT, ENABLE, REMOVE, EntryChange
from app.host_status.drift import IN_SYNC, find_drift
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.registry.register import register
from store import exports, servers
from store.records import AS_IS, EntryRecord

JSON = """{
  "globalShortcut": "Alt+Space",   "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "files"]},
    "github": {
      "command": "npx", "args": ["-y", "github", "--read"],
      "env": {"TOKEN": "old-s3cret-value",  "KEEP": "x"}
    },
    "last": {"command": "uvx", "args": []}
  }
}
"""
JSONC = """{
  // my servers
  "servers": {
    "github": { /* mine */ "type": "stdio", "command": "npx", "args": ["-y", "github", "--read"],
      "env": {"TOKEN": "old-s3cret-value", "KEEP": "x"}, }, // it stays
    "files": {"command": "npx", "args": [],},
  },
}
"""
TOML = """# top
model = "gpt-5.5"

[mcp_servers.github]   # mine
command = "npx"
args = ["-y", "github", "--read"]

[mcp_servers.github.env]
TOKEN = "old-s3cret-value"
KEEP = "x"

# about files
[mcp_servers.files]
command = "npx"
"""
YAML = """# top
GOOSE_MODEL: "x"   # kept
extensions:
  developer: {type: builtin, enabled: true}
  # about github
  github:   # mine
    type: stdio
    cmd: npx
    args: ["-y", "github", "--read"]
    envs:
      TOKEN: old-s3cret-value
      KEEP: "x"
    enabled: true
  files: {type: stdio, cmd: npx, args: [], enabled: true}
"""
FILES = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", JSON),
    "vscode": (".config/Code/User/mcp.json", JSONC),
    "codex": (".codex/config.toml", TOML),
    "goose": (".config/goose/config.yaml", YAML),
    "kiro": (".kiro/settings/mcp.json", JSON),
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    home = tmp_path / "home"
    for path, text in FILES.values():
        (home / path).parent.mkdir(parents=True)
        (home / path).write_text(text)
    return Places(home, {}, "linux")


def record(places: Places, host: str, name: str = "github") -> EntryRecord:
    return EntryRecord(host, "user", str(places.home / FILES[host][0]), name)


def run(ctx, places, change):
    """Plan, write, and take the file in; the plan."""
    with closing(ctx.open_store()) as db:
        plan = plan_entry(places, change, exports.for_host(db, change.entry.host))
        assert not plan.refusal, plan.refusal
        apply(plan, ctx, db, insist=True)  # a test beside this one may run such a host
        register(ctx, db, read_hosts(places))
    return plan


def undo(ctx, host):
    with closing(ctx.open_store()) as db:
        undo_host(host, ctx, db)


def edited(places, entry):
    """The same launch with another command, a changed, a new and a missing variable."""
    launch = find_entry(places, entry).entry.launch
    env = {"TOKEN": "new-s3cret-value", "MORE": "y"}
    args = (*launch.args[:2], "--write")
    return EntryChange(entry, EDIT, launch=replace(launch, command="bunx", args=args, env=env))


HOSTS = ["claude-desktop", "vscode", "codex", "goose"]


@pytest.mark.parametrize("host", HOSTS)
def test_an_edit_changes_its_places_only_and_undo_gives_the_old_bytes(ctx, places, host):
    entry = record(places, host)
    file = Path(entry.file)
    before = file.read_text()
    run(ctx, places, edited(places, entry))
    launch = find_entry(places, entry).entry.launch
    assert (launch.command, launch.args) == ("bunx", ("-y", "github", "--write"))
    assert launch.env == {"TOKEN": "new-s3cret-value", "MORE": "y"}
    gone = [line for line in before.splitlines() if line not in file.read_text().splitlines()]
    touched = ("npx", "--read", "TOKEN", "KEEP", "env")
    assert all(any(word in line for word in touched) for line in gone), gone
    kept = [line for line in before.splitlines() if "files" in line or "last" in line]
    assert all(line in file.read_text() for line in kept)
    with closing(ctx.open_store()) as db:
        assert servers.by_name(db, "github") is not None
    undo(ctx, host)
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("host", HOSTS)
def test_a_rename_changes_the_name_alone(ctx, places, host):
    entry = record(places, host)
    file = Path(entry.file)
    before = file.read_text()
    run(ctx, places, EntryChange(entry, EDIT, name="my hub"))
    after = file.read_text()
    assert after.replace("my hub", "github").replace('"github"', "github") == before.replace(
        '"github"', "github"
    )
    assert find_entry(places, replace(entry, name="my hub")).entry.launch is not None
    undo(ctx, host)
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("host", HOSTS)
def test_a_removal_takes_the_entry_alone_and_the_catalog_follows(ctx, places, host):
    with closing(ctx.open_store()) as db:
        register(ctx, db, read_hosts(places))
        named = {e.name for e in servers.all_entries(db) if e.host == host}
        assert "github" in named
    entry = record(places, host)
    file = Path(entry.file)
    before = file.read_text()
    run(ctx, places, EntryChange(entry, REMOVE))
    lines = file.read_text().splitlines()
    assert "TOKEN" not in file.read_text() and "files" in file.read_text()
    rest = iter(before.splitlines())
    whole = host != "vscode"  # whose entry shares its last line with a comment, which stays
    assert all(line in rest for line in lines) if whole else "// it stays" in file.read_text()
    with closing(ctx.open_store()) as db:
        named = {e.name for e in servers.all_entries(db) if e.host == host}
        assert "github" not in named and "files" in named
    undo(ctx, host)
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("host", ["codex", "goose", "kiro"])
def test_a_server_is_switched_off_by_the_hosts_own_key_and_on_again(ctx, places, host):
    entry = record(places, host)
    file = Path(entry.file)
    before = file.read_text()
    run(ctx, places, EntryChange(entry, DISABLE))
    assert find_entry(places, entry).entry.disabled
    gone = [line for line in before.splitlines() if line not in file.read_text().splitlines()]
    assert len(gone) <= 1
    run(ctx, places, EntryChange(entry, ENABLE))
    assert not find_entry(places, entry).entry.disabled
    undo(ctx, host)
    undo(ctx, host)
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("host", ["claude-desktop", "vscode"])
def test_a_host_without_such_a_key_says_so_and_offers_removal(places, host):
    plan = plan_entry(places, EntryChange(record(places, host), DISABLE))
    assert "no key in its file that switches a server off" in plan.refusal
    assert "Remove the entry there" in plan.refusal and not plan.files


def test_an_outside_change_in_between_refuses_the_write_and_stays_at_its_undo(ctx, places):
    entry = record(places, "claude-desktop")
    file = Path(entry.file)
    plan = plan_entry(places, EntryChange(entry, REMOVE))
    file.write_text(JSON.replace("Alt+Space", "Alt+X"))
    with closing(ctx.open_store()) as db, pytest.raises(ToolcribError, match="changed meanwhile"):
        apply(plan, ctx, db)
    run(ctx, places, EntryChange(entry, REMOVE))
    file.write_text(file.read_text().replace("Alt+X", "Alt+Y"))
    undo(ctx, "claude-desktop")
    assert file.read_text() == JSON.replace("Alt+Space", "Alt+Y")


def test_a_file_that_is_read_but_not_written_refuses_with_its_name(places):
    file = places.home / ".cursor/plugins/local/x/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"github": {"command": "npx"}}}')
    entry = EntryRecord("cursor", "extension", str(file), "github")
    refusal = plan_entry(places, EntryChange(entry, REMOVE)).refusal
    assert refusal.startswith(f"Toolcrib reads {file} but does not write it.")


def test_a_name_that_is_taken_and_an_entry_that_is_gone_refuse(places):
    entry = record(places, "claude-desktop")
    taken = plan_entry(places, EntryChange(entry, EDIT, name="files")).refusal
    assert "a server called files" in taken and entry.file in taken
    gone = plan_entry(places, EntryChange(replace(entry, name="nobody"), REMOVE)).refusal
    assert gone.startswith(f"nobody is no longer in {entry.file}.")


def test_a_project_file_is_changed_where_the_project_is(ctx, places, tmp_path):
    file = tmp_path / "work/.vscode/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(JSONC)
    entry = EntryRecord("vscode", "project", str(file), "github")
    run(ctx, places, EntryChange(entry, REMOVE))
    assert "github" not in file.read_text() and "// my servers" in file.read_text()


def test_as_is_after_an_export_keeps_what_was_changed_between(world):
    """An entry changed while others run through Toolcrib is the user's, and stays when it goes."""
    file = world.write(".cursor/mcp.json", JSON)
    world.learn()
    world.narrow()
    world.export("cursor", "pruned")
    pruned = file.read_bytes()
    entry = EntryRecord("cursor", "user", str(file), "files")
    plan = plan_entry(
        world.places, EntryChange(entry, REMOVE), exports.for_host(world.db, "cursor")
    )
    assert plan.mode == "pruned" and not plan.refusal
    apply(plan, world.ctx, world.db)
    (drift,) = find_drift(exports.for_host(world.db, "cursor"))
    assert drift.state == IN_SYNC
    world.export("cursor", AS_IS)
    assert file.read_text() == JSON.replace(
        '"files": {"command": "npx", "args": ["-y", "files"]},\n    ', ""
    )
    for _ in range(2):
        undo_host("cursor", world.ctx, world.db)
    assert file.read_bytes() == pruned


def test_a_server_behind_toolcrib_whose_copy_is_not_known_says_where_it_is(world):
    file = world.write(".cursor/mcp.json", JSON)
    world.learn()
    world.export("cursor", "through")
    entry = EntryRecord("cursor", "user", str(file), "github")
    refusal = plan_entry(world.places, EntryChange(entry, REMOVE)).refusal
    assert refusal.startswith("github is behind Toolcrib in Cursor. Write Cursor as is first")


def test_as_is_takes_a_hosts_own_switches_back_under_the_new_name(world):
    """Renamed between, and the file changed by somebody else since."""
    file = world.write(".codex/config.toml", TOML)
    world.learn()
    world.narrow()
    world.export("codex", "native")
    assert "enabled_tools" in file.read_text() or "disabled_tools" in file.read_text()
    entry = EntryRecord("codex", "user", str(file), "github")
    change = EntryChange(entry, EDIT, name="hub")
    plan = plan_entry(world.places, change, exports.for_host(world.db, "codex"))
    apply(plan, world.ctx, world.db)
    file.write_text(file.read_text() + "\n[tui]\nnew = 1\n")
    world.export("codex", AS_IS)
    assert file.read_text() == TOML.replace(".github", ".hub") + "\n[tui]\nnew = 1\n"


ARGS = {
    "claude-desktop": (
        '{"mcpServers": {"github": {"command": "npx", "args": [\n'
        '  "-y", // yes\n  "\\u0067it", // one\n  8080\n]}}}\n'
    ),
    "codex": (
        '[mcp_servers.github]\ncommand = "npx"\n'
        "args = [\n  '-y', # yes\n  'git', # one\n  '8080',\n]\n"
    ),
    "goose": (
        "extensions:\n  github:\n    type: stdio\n    cmd: npx\n    enabled: true\n"
        "    args:\n    - '-y'  # yes\n    - git  # one\n    - '8080'"
    ),
}


@pytest.mark.parametrize("host", ARGS)
def test_arguments_that_come_or_go_leave_the_others_as_they_are_written(ctx, places, host):
    entry = record(places, host)
    file = Path(entry.file)
    file.write_text(ARGS[host])
    for args in (("-y", "git", "8080", "--more"), ("git", "8080")):
        launch = find_entry(places, entry).entry.launch
        run(ctx, places, EntryChange(entry, EDIT, launch=replace(launch, args=args)))
        assert find_entry(places, entry).entry.launch.args == args
        rest = iter(file.read_text().replace(",", "").splitlines())
        kept = [line for line in ARGS[host].replace(",", "").splitlines() if "-y" not in line]
        assert all(line in rest for line in kept), file.read_text()
        undo(ctx, host)
        assert file.read_text() == ARGS[host]


def test_a_rename_in_one_project_says_nothing_of_another_of_the_same_file(ctx, tmp_path):
    home, folders = tmp_path / "home", (str(tmp_path / "one"), str(tmp_path / "two"))
    file = home / ".claude.json"
    home.mkdir()
    launch = {"command": "npx", "args": ["-y"]}
    own = {folders[0]: {"old": launch}, folders[1]: {"new": {**launch, "args": ["-y", "other"]}}}
    named = {folder: {"mcpServers": entries} for folder, entries in own.items()}
    file.write_text(json.dumps({"projects": named}))
    entry = EntryRecord("claude-code", f"local:{folders[0]}", str(file), "old")
    run(ctx, Places(home, {}, "linux"), EntryChange(entry, EDIT, name="new"))
    with closing(ctx.open_store()) as db:
        by_scope = {
            one.scope: row.name
            for row in servers.all_servers(db)
            for one in row.entries
            if one.file == str(file)
        }
    assert by_scope[f"local:{folders[0]}"].startswith("old")
    assert by_scope[f"local:{folders[1]}"].startswith("new")
