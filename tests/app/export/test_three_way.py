"""A write is taken back by its places: what else was written to the file since stays."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from app.core.errors import ToolcribError
from app.export.apply import apply, undo_host, undo_writes
from app.export.entries.plan import find_entry, plan_entry
from app.export.plan import EDIT, REMOVE, EntryChange
from app.export.three_way import Versions, taken_back
from app.hooks import files as hooks
from app.hooks.rules import rules_plan
from app.hosts.documents.values import read_values
from app.hosts.facts import host
from app.hosts.places import Places
from store import exports
from store.records import THROUGH, EntryRecord

GATEWAY = Path("/opt/toolcrib/toolcrib-gateway")
JSON = """{
  // mine
  "theme": "dark",
  "mcpServers": {
    "github": { "command": "npx", "args": ["-y", "github"], "env": {"TOKEN": "old-s3cret"} },
    "files": { "command": "npx", "args": [] }
  }
}
"""
TOML = """model = "gpt-5.5"  # mine

[mcp_servers.github]
command = "npx"
args = ["-y", "github"]

[mcp_servers.github.env]
TOKEN = "old-s3cret"

[mcp_servers.files]
command = "npx"
"""
YAML = """GOOSE_MODEL: x  # mine
extensions:
  github:
    type: stdio
    cmd: npx
    args: ["-y", "github"]
    envs: {TOKEN: old-s3cret}
    enabled: true
  files: {type: stdio, cmd: npx, args: [], enabled: true}
"""
FILES = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", JSON),
    "gemini-cli": (".gemini/settings.json", JSON),
    "qwen-code": (".qwen/settings.json", JSON),
    "codex": (".codex/config.toml", TOML),
    "goose": (".config/goose/config.yaml", YAML),
}
MINE = {".json": ('"dark"', '"light"'), ".toml": ("gpt-5.5", "gpt-6"), ".yaml": (": x", ": y")}


@pytest.fixture
def places(tmp_path):
    for path, text in FILES.values():
        file = tmp_path / "home" / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return Places(tmp_path / "home", {}, "linux")


@pytest.fixture
def db(ctx):
    with closing(ctx.open_store()) as opened:
        yield opened


def at(places, host_id):
    return places.home / FILES[host_id][0]


def edit_github(ctx, db, places, host_id, command="bunx"):
    """As `toolcrib server edit github` does; the records."""
    entry = EntryRecord(host_id, "user", str(at(places, host_id)), "github")
    launch = replace(find_entry(places, entry).entry.launch, command=command)
    change = EntryChange(entry, EDIT, launch=launch)
    return apply(plan_entry(places, change, exports.for_host(db, host_id)), ctx, db)


def hook(ctx, db, places, host_id):
    facts = host(host_id)
    history = exports.hooks_of(db, host_id)
    plan = hooks.install_plan(
        places, facts, profile="default", gateway_path=GATEWAY, history=history
    )
    return hooks.install(plan, ctx, db)


def undo(ctx, db, records):
    return undo_writes([record.id for record in records], ctx, db)


@pytest.mark.parametrize("host_id", ["gemini-cli", "qwen-code"])
def test_there_is_a_way_back_where_servers_and_hooks_share_a_file(ctx, db, places, host_id):
    file = at(places, host_id)
    hook(ctx, db, places, host_id)
    edit_github(ctx, db, places, host_id)
    hooks.remove(host(host_id), file, ctx, db)
    assert '"bunx"' in file.read_text() and "toolcrib" not in file.read_text()
    undo_host(host_id, ctx, db)
    assert file.read_text() == JSON


@pytest.mark.parametrize("host_id", ["gemini-cli", "qwen-code"])
def test_a_hook_is_taken_back_under_a_later_edit_of_a_server(ctx, db, places, host_id):
    file = at(places, host_id)
    written = hook(ctx, db, places, host_id)
    edited = edit_github(ctx, db, places, host_id)
    undo(ctx, db, written)
    assert file.read_text() == JSON.replace(
        '"command": "npx", "args": ["-y', '"command": "bunx", "args": ["-y'
    )
    undo(ctx, db, edited)
    assert file.read_text() == JSON
    assert not exports.in_force(exports.all_exports(db))


@pytest.mark.parametrize("host_id", FILES)
def test_undo_keeps_an_unrelated_change_elsewhere_in_the_file(ctx, db, places, host_id):
    file = at(places, host_id)
    records = edit_github(ctx, db, places, host_id)
    old, new = MINE[file.suffix]
    file.write_text(file.read_text().replace(old, new))
    undo(ctx, db, records)
    assert file.read_text() == FILES[host_id][1].replace(old, new)


@pytest.mark.parametrize("host_id", ["claude-desktop", "gemini-cli", "qwen-code"])
def test_undo_finds_its_places_in_a_file_that_the_host_wrote_anew(ctx, db, places, host_id):
    file = at(places, host_id)
    records = edit_github(ctx, db, places, host_id)
    now = read_values(file.read_bytes(), "json").value
    now["mcpServers"]["new"] = {"command": "uvx"}
    file.write_text(json.dumps(dict(reversed(now.items()))))
    undo(ctx, db, records)
    was = read_values(JSON.encode(), "json").value
    was["mcpServers"]["new"] = {"command": "uvx"}
    assert json.loads(file.read_text()) == was


@pytest.mark.parametrize("host_id", FILES)
def test_a_removed_server_comes_back_beside_one_that_was_added_since(ctx, db, places, host_id):
    file = at(places, host_id)
    kind = {".json": "json", ".toml": "toml", ".yaml": "yaml"}[file.suffix]
    was = read_values(file.read_bytes(), kind).value
    entry = EntryRecord(host_id, "user", str(file), "github")
    records = apply(plan_entry(places, EntryChange(entry, REMOVE)), ctx, db)
    file.write_text(file.read_text().replace("files", "more"))
    undo(ctx, db, records)
    after = read_values(file.read_bytes(), kind).value
    servers = next(key for key in was if isinstance(was[key], dict))
    assert after[servers]["github"] == was[servers]["github"]
    assert set(after[servers]) == {"github", "more"}


@pytest.mark.parametrize("host_id", FILES)
def test_undo_is_refused_where_its_own_place_changed_and_names_it(ctx, db, places, host_id):
    file = at(places, host_id)
    records = edit_github(ctx, db, places, host_id)
    file.write_text(file.read_text().replace("bunx", "other-s3cret"))
    changed = file.read_bytes()
    with pytest.raises(ToolcribError, match=r"changed since .*github\.(command|cmd)") as refused:
        undo(ctx, db, records)
    assert "s3cret" not in f"{refused.value.title} {refused.value.hint}"
    assert file.read_bytes() == changed
    assert exports.in_force(exports.for_host(db, host_id))


def test_of_several_writes_none_is_taken_back_where_one_cannot(ctx, db, places):
    first = edit_github(ctx, db, places, "gemini-cli")
    other = edit_github(ctx, db, places, "qwen-code")
    at(places, "qwen-code").write_text("{}")
    before = at(places, "gemini-cli").read_bytes()
    with pytest.raises(ToolcribError, match="changed since"):
        undo(ctx, db, [*first, *other])
    assert at(places, "gemini-cli").read_bytes() == before
    at(places, "qwen-code").unlink()
    with pytest.raises(ToolcribError, match="it is gone"):
        undo(ctx, db, other)


def test_a_hook_that_the_user_added_since_stays_and_one_that_was_changed_is_refused(
    ctx, db, places
):
    file = at(places, "gemini-cli")
    records = hook(ctx, db, places, "gemini-cli")
    tree = read_values(file.read_bytes(), "json").value
    mine = {"hooks": [{"type": "command", "command": "echo mine"}]}
    tree["hooks"]["BeforeAgent"].insert(0, mine)
    file.write_text(json.dumps(tree))
    undo(ctx, db, records)
    assert json.loads(file.read_text())["hooks"] == {"BeforeAgent": [mine]}


def test_words_beside_the_rules_snippet_stay_when_it_is_taken_back(ctx, db, places):
    facts = host("claude-code")
    plan = rules_plan(places, facts, profile="default", mode=THROUGH)
    path = plan.files[0].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# Mine\n\nBe brief.\n")
    plan = rules_plan(places, facts, profile="default", mode=THROUGH)
    records = apply(plan, ctx, db)
    path.write_text(path.read_text().replace("# Mine", "# Ours") + "\nMore.\n")
    undo(ctx, db, records)
    assert path.read_text() == "# Ours\n\nBe brief.\n\nMore.\n"


def test_a_file_made_for_a_hook_goes_unless_there_is_more_in_it_by_then(ctx, db, places):
    file = at(places, "gemini-cli")
    file.unlink()
    records = hook(ctx, db, places, "gemini-cli")
    file.write_text(json.dumps(json.loads(file.read_text())))
    undo(ctx, db, records)
    assert not file.exists()
    records = hook(ctx, db, places, "gemini-cli")
    file.write_text(json.dumps({**json.loads(file.read_text()), "theme": "dark"}))
    undo(ctx, db, records)
    assert json.loads(file.read_text()) == {"theme": "dark"}


KEYS = some.sampled_from(["a", "b", "c", "d"])
ENTRY = some.fixed_dictionaries({"command": some.text("xyz", min_size=1), "n": some.integers(0, 3)})
SERVERS = some.dictionaries(KEYS, ENTRY, max_size=4)


@settings(deadline=None, max_examples=150)
@given(was=SERVERS, ours=SERVERS, theirs=SERVERS, indent=some.sampled_from([None, 2]))
def test_entries_that_only_others_changed_are_as_they_left_them(was, ours, theirs, indent):
    """Ours are keys a and b, theirs c and d; together they are the file now."""

    def data(ab, cd):
        servers = {key: ab[key] for key in ("a", "b") if key in ab}
        servers |= {key: cd[key] for key in ("c", "d") if key in cd}
        return {"mcpServers": servers, "hooks": {"Stop": []}}

    def text(tree):
        return json.dumps(tree, indent=indent).encode()

    versions = Versions(text(data(was, was)), text(data(ours, was)), text(data(ours, theirs)))
    back = taken_back(Path("mcp.json"), "json", versions)
    assert json.loads(back) == data(was, theirs)
