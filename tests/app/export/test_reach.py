"""A host reaches the servers that its file named, and others only by name."""

import json

import pytest

from app.export.apply import apply, undo
from app.export.entries.plan import plan_entry
from app.export.plan import EDIT, EntryChange
from app.gateway.options import parse
from app.gateway.rehearsal import rehearse
from app.host_status.overview import survey
from app.host_status.sizes import host_sizes
from app.host_status.tool_list import listed_tools
from app.hosts.documents.values import read_values
from app.hosts.facts import load_hosts
from app.hosts.reading import read_host
from app.system.endpoint import Endpoint
from store import exports, servers
from store.connection import transaction
from store.records import THROUGH, EntryRecord

OWN, FAR = {"command": "own"}, {"command": "far"}
MODES = ("as-is", "native", "pruned", "through")


def _file(world, facts):
    kinds = [k for k in facts.files if k.role == "servers" and k.writable and k.scope == "user"]
    kind = next((k for k in kinds if not k.older), None)
    if kind is None or not world.places.candidates(kind):
        return None
    return kind, world.places.candidates(kind)[0]


def _stock(world, facts, kind, path):
    """One server in this host's file, another in another host's."""
    style = kind.style or facts.style
    entry = {"type": style.type} if style.type else {}
    entry |= {style.command: ["own"] if style.array else "own", **dict(style.new)}
    if style.command == "cmd":
        entry |= {"name": "own", "args": [], "envs": {}, "type": "stdio"}
    tree = {"own": entry}
    for key in reversed(kind.at):
        tree = {key: tree}
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind.format == "toml":
        path.write_text(f'[{".".join(kind.at)}.own]\ncommand = "own"\n')
    else:
        path.write_text(json.dumps(tree))  # which YAML reads, too
    other = ".codeium/windsurf/mcp_config.json" if facts.id == "cursor" else ".cursor/mcp.json"
    world.write(other, {"mcpServers": {"far": FAR}})
    world.learn()
    assert {row.server.name for row in world.catalog.tools} == {"own", "far"}
    world.off("own/beta_delete")


def _reached(world, host_id):
    """Names of the servers that a host comes to by its files, asked of a gateway where one is."""
    facts = next(one for one in load_hosts() if one.id == host_id)
    names = set()
    for reading in read_host(world.places, facts):
        names |= {entry.name for entry in reading.entries}
        if reading.through:
            tree = read_values(reading.file.read_bytes(), reading.kind.format).value
            for key in reading.through_at:
                tree = tree[key]
            heard = rehearse(
                str(world.ctx.paths.database),
                reading.through,
                behind=_behind(tree),
                query="alpha get",
            )
            names |= {one for one in ("own", "far") if f"{one}/alpha" in heard.search}
            assert [one for one in ("own", "far") if f" {one}" in heard.tools]
            names |= {one for one in ("own", "far") if f" {one}" in heard.tools}
    return names


def _behind(entry):
    """What the gateway makes of the command that the host would start."""
    command = entry.get("command", entry.get("cmd", []))
    words = command[1:] if isinstance(command, list) else entry["args"]
    return parse(words).behind


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("facts", [one for one in load_hosts() if one.writable], ids=lambda f: f.id)
def test_a_host_never_reaches_a_server_that_its_file_did_not_name(world, facts, mode):
    place = _file(world, facts)
    if place is None or (mode == "native" and facts.native is None):
        pytest.skip("it has no such file or mode")
    _stock(world, facts, *place)
    world.export(facts.id, mode)
    assert _reached(world, facts.id) == {"own"}
    if mode == "through":
        world.export(facts.id, mode, also=["far"])
        assert _reached(world, facts.id) == {"own", "far"}


@pytest.fixture
def two(world):
    """Cursor with one server, Windsurf with another."""
    world.write(".cursor/mcp.json", {"mcpServers": {"own": OWN}})
    world.serve_another()
    return world


def _size(world, host_id="cursor"):
    sizes = host_sizes(survey(world.db, world.places, world.catalog))
    return next(size for size in sizes if size.facts.id == host_id)


def test_hosts_and_the_list_of_tools_say_what_a_host_reaches(two):
    two.export("cursor", THROUGH)
    size = _size(two)
    assert size.behind == ("own",)
    assert {tool.tool_id.partition("/")[0] for tool in listed_tools(size)} == {"", "own"}


def test_adding_a_server_of_another_host_is_said_before_it_is_written(two):
    made = two.plan("cursor", THROUGH, also=["far"])
    assert "Cursor also reaches far, which its files do not name." in made.warnings
    assert "toolcrib: one entry for 2 servers: own, far" in made.changes
    refusal = two.plan("cursor", THROUGH, also=["gone"]).refusal
    assert refusal.startswith("There is no server called gone.")
    assert "--mode through" in two.plan("cursor", "pruned", also=["far"]).refusal


def test_what_was_added_by_name_is_kept_until_it_is_taken_back(two):
    two.export("cursor", THROUGH, also=["far"])
    again = two.plan("cursor", THROUGH)
    assert again.empty and again.also == ("far",)
    narrowed = two.plan("cursor", THROUGH, also=[])
    (record,) = apply(narrowed, two.ctx, two.db)
    assert _size(two).behind == ("own",)
    undo(record.id, two.ctx, two.db)
    assert set(_size(two).behind) == {"own", "far"}
    assert two.plan("cursor", THROUGH).empty


def test_a_server_that_is_not_trusted_cannot_be_added(two):
    with transaction(two.db):
        servers.set_trusted(two.db, servers.by_name(two.db, "far").id, False)
    assert "far is not trusted yet." in two.plan("cursor", THROUGH, also=["far"]).refusal


def test_an_entry_of_an_earlier_build_keeps_what_it_had_and_is_offered_less(two):
    two.export("cursor", THROUGH)
    file = two.home / ".cursor/mcp.json"
    tree = json.loads(file.read_text())
    tree["mcpServers"]["toolcrib"]["args"] = ["--profile", "default"]
    file.write_text(json.dumps(tree, indent=2) + "\n")
    old = exports.for_host(two.db, "cursor")[0]
    detail = {k: v for k, v in old.detail.items() if k not in ("behind", "also")}
    two.db.execute("UPDATE exports SET detail = ? WHERE id = ?", (json.dumps(detail), old.id))
    size = _size(two)
    assert (size.narrowed, set(size.behind)) == (False, {"far", "own"})
    assert parse(["--profile", "default"]).behind is None
    made = two.plan("cursor", THROUGH)
    assert any(w.startswith("An earlier Toolcrib gave Cursor every server") for w in made.warnings)
    apply(made, two.ctx, two.db)
    assert (_size(two).narrowed, _size(two).behind) == (True, ("own",))


def test_a_server_that_is_added_to_the_file_later_goes_behind_when_it_is_written_again(two):
    two.export("cursor", THROUGH)
    file = two.home / ".cursor/mcp.json"
    tree = json.loads(file.read_text())
    tree["mcpServers"]["later"] = {"command": "later"}
    file.write_text(json.dumps(tree, indent=2) + "\n")
    two.learn()
    assert _size(two).behind == ("own",)
    two.export("cursor", THROUGH)
    assert set(_size(two).behind) == {"own", "later"}


def test_a_server_that_was_renamed_in_the_catalogue_stays_the_one_that_is_reached(two):
    two.export("cursor", THROUGH, also=["far"])
    with transaction(two.db):
        far = servers.by_name(two.db, "far").id
        assert servers.rename(two.db, far, "near")
        other = servers.by_name(two.db, "own").id
        assert not servers.rename(two.db, other, "far"), "the name still means the other server"
    assert set(_size(two).behind) == {"near", "own"}
    two.write(".gemini/settings.json", {"mcpServers": {"far": {"command": "newer"}}})
    two.learn()
    names = {server.name for server in two.catalog.servers}
    assert "far" not in names and {"near", "far-2"} <= names
    assert set(_size(two).behind) == {"near", "own"}


def test_one_profile_for_two_hosts_reaches_different_servers(two):
    two.export("cursor", THROUGH)
    two.export("windsurf", THROUGH)
    assert (_size(two).behind, _size(two, "windsurf").behind) == (("own",), ("far",))
    assert _reached(two, "cursor") == {"own"}
    assert _reached(two, "windsurf") == {"far"}


def test_a_change_of_one_entry_leaves_what_the_one_entry_reaches(two):
    two.export("cursor", THROUGH, also=["far"])
    file = two.home / ".cursor/mcp.json"
    tree = json.loads(file.read_text())
    tree["mcpServers"]["beside"] = {"command": "b"}
    file.write_text(json.dumps(tree))
    change = EntryChange(EntryRecord("cursor", "user", str(file), "beside"), EDIT, name="besides")
    made = plan_entry(two.places, change, exports.for_host(two.db, "cursor"))
    apply(made, two.ctx, two.db)
    newest = exports.for_host(two.db, "cursor")[0]
    assert newest.detail["also"] == ["far"]
    assert set(newest.detail["behind"]) == {"own", "far"}
    assert two.plan("cursor", THROUGH).also == ("far",)


def test_a_url_names_its_servers_too(two):
    two.ctx.paths.create()
    two.ctx.keep(http=True)
    two.export("cursor", THROUGH, endpoint=Endpoint(two.ctx.paths, on=True, port=41380))
    entry = json.loads((two.home / ".cursor/mcp.json").read_text())["mcpServers"]["toolcrib"]
    assert entry["url"].endswith("/mcp/default?servers=own")
    assert _size(two).behind == ("own",)
