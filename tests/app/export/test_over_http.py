"""The one entry for all servers as a URL: how each host spells it, and what becomes of it."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.endpoint import profile_at
from app.core.errors import ToolcribError
from app.core.settings import Settings
from app.export.apply import apply, restore_host, undo_host
from app.export.entries.plan import plan_entry
from app.export.http.checks import is_open_to_others
from app.export.masking import masked_diff
from app.export.plan import EDIT, EntryChange
from app.export.snippet import snippet
from app.export.wrapping import GatewayCall
from app.host_status.drift import IN_SYNC, OUTSIDE
from app.host_status.status import CHANGES, ENDPOINT_OFF, host_status
from app.hosts.entries import THROUGH_NAME, view_entry
from app.hosts.facts import HostFacts, host, load_hosts
from app.hosts.importing import read_data
from app.hosts.launch import HTTP
from app.hosts.reading import read_host, style_of
from app.policy.profiles import create, forget
from app.registry.register import register
from app.system.endpoint import Address, Endpoint, renew_secret
from store import exports, servers
from store.records import EntryRecord

STUB = {"command": "python", "args": ["stub.py"], "env": {"A": "x"}}
TREE = {"mcpServers": {"stub": STUB}, "other": 1}
AT = Address("http://127.0.0.1:41380/mcp/default", "5ec7e7" * 10)
ABLE = [one for one in load_hosts() if one.http]
WRITTEN = [one for one in ABLE if one.writable]


def by_id(facts: HostFacts) -> str:
    return facts.id


@pytest.fixture
def endpoint(ctx):
    ctx.paths.create()
    ctx.keep(http=True)
    return Endpoint(ctx.paths, on=True, port=41380)


@pytest.fixture
def cursor(world):
    file = world.write(".cursor/mcp.json", TREE)
    file.chmod(0o600)
    world.learn()
    return file


def status_of(world, endpoint, host_id="cursor"):
    return host_status(
        world.places,
        host(host_id),
        catalog=world.catalog,
        gateway_path=world.gateway,
        history=exports.for_host(world.db, host_id),
        endpoint=endpoint,
    )


# ---- how it is spelled


@pytest.mark.parametrize("facts", ABLE, ids=by_id)
def test_what_is_written_for_a_host_is_read_back_as_that_url_with_that_header(facts):
    text = snippet(facts, GatewayCall("/gw", "default", "", AT))
    kind = next(file for file in facts.files if file.role == "servers")
    reading = read_data(text.encode(), Path(f"x.{kind.format}"), facts.id)
    assert reading.through == "default" and not reading.entries
    assert "/gw" not in text and text.count(AT.token) == 1
    raw = _raw(text, kind.format, reading.through_at)
    launch = view_entry(raw, style_of(reading)).launch
    assert launch is not None
    assert (launch.transport, launch.url) == (HTTP, AT.url)
    assert launch.headers == {"Authorization": AT.bearer}


def _raw(text, kind, at):
    from app.hosts.documents.values import read_values

    value = read_values(text.encode(), kind).value
    for key in at:
        value = value[key]
    return value


# as their sources and documentation have it (design/HOSTS.md, section 6)
SPELLED = {
    "claude-code": {"type": "http", "alwaysLoad": True, "url": 1, "headers": 1},
    "cursor": {"url": 1, "headers": 1},
    "vscode": {"type": "http", "url": 1, "headers": 1},
    "codex": {"url": 1, "http_headers": 1},
    "copilot-cli": {"type": "http", "url": 1, "headers": 1, "tools": ["*"]},
    "opencode": {"type": "remote", "url": 1, "headers": 1, "enabled": True},
    "windsurf": {"serverUrl": 1, "headers": 1},
    "antigravity": {"serverUrl": 1, "headers": 1},
    "cline": {"type": "streamableHttp", "url": 1, "headers": 1},
    "zed": {"url": 1, "headers": 1},
    "gemini-cli": {"type": "http", "url": 1, "headers": 1},
    "qwen-code": {"httpUrl": 1, "headers": 1},
    "kilo-code": {"type": "remote", "url": 1, "headers": 1, "enabled": True},
    "factory-droid": {"type": "http", "url": 1, "headers": 1},
    "crush": {"type": "http", "url": 1, "headers": 1},
    "visual-studio": {"type": "http", "url": 1, "headers": 1},
}


@pytest.mark.parametrize("host_id", SPELLED)
def test_the_keys_are_the_hosts_own(host_id):
    facts = host(host_id)
    text = snippet(facts, GatewayCall("/gw", "default", "", AT))
    kind = next(file for file in facts.files if file.role == "servers")
    entry = _raw(text, kind.format, (*kind.at, THROUGH_NAME))
    assert {k: 1 if "url" in k.lower() or "headers" in k else v for k, v in entry.items()} == (
        SPELLED[host_id]
    )


def test_goose_has_it_as_an_extension():
    text = snippet(host("goose"), GatewayCall("/gw", "default", "", AT))
    entry = _raw(text, "yaml", ("extensions", "toolcrib"))
    assert (entry["type"], entry["uri"]) == ("streamable_http", AT.url)
    assert entry["headers"] == {"Authorization": AT.bearer}
    assert (entry["name"], entry["enabled"], entry["envs"]) == ("toolcrib", True, {})


@pytest.mark.parametrize("facts", [one for one in load_hosts() if not one.http], ids=by_id)
def test_a_host_without_evidence_is_refused_in_one_sentence(world, endpoint, facts):
    made = world.plan(facts.id, "through", endpoint=endpoint)
    assert made.refusal is not None and made.refusal.startswith(f"{facts.name} is not known to")
    assert not made.files and not made.snippet


@pytest.mark.parametrize("facts", [one for one in ABLE if not one.writable], ids=by_id)
def test_what_is_to_be_pasted_has_a_word_where_the_token_belongs(world, endpoint, facts):
    made = world.plan(facts.id, "through", endpoint=endpoint)
    assert "Bearer TOKEN" in made.snippet and endpoint.url("default", ["SERVER"]) in made.snippet
    assert made.refusal is not None and "toolcrib backend http token" in made.refusal
    assert endpoint.address("default").token not in made.snippet


@pytest.mark.parametrize("mode", ["as-is", "native", "pruned"])
def test_other_modes_have_no_url(world, endpoint, cursor, mode):
    refusal = world.plan("codex", mode, endpoint=endpoint).refusal
    assert refusal == "Only the one entry for all servers (through) can be written as a URL."


# ---- written, taken back, written in another mode


@pytest.mark.parametrize("facts", WRITTEN, ids=by_id)
def test_undo_restores_the_bytes_of_every_host_that_is_written(world, endpoint, facts, samples):
    if facts.id == "windsurf":
        world.write(".cursor/mcp.json", TREE)
        world.learn()
    else:
        world.serve_another()
    places = world.places
    if facts.id == "visual-studio":
        world.places = places = replace(places, system="windows")
    kinds = [k for k in facts.files if k.role == "servers" and k.writable and k.scope == "user"]
    path = places.candidates(kinds[0])[0]
    before = {
        "json": "{}\n",
        "jsonc": "// mine\n{}\n",
        "toml": "# mine\n",
        "yaml": "a: 1\n",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before[kinds[0].format])
    data = path.read_bytes()
    also = ["stub" if facts.id == "windsurf" else "far"]
    (record,) = world.export(facts.id, "through", endpoint=endpoint, also=also)
    text = path.read_text()
    assert endpoint.address("default").token in text and "toolcrib-gateway" not in text
    (reading,) = [r for r in read_host(places, facts) if r.file == path]
    assert reading.through == "default"
    undo_host(facts.id, world.ctx, world.db)
    assert path.read_bytes() == data
    assert record.detail["http"] is True


def test_modes_are_switched_from_the_file_as_it_was(world, endpoint, cursor):
    before = cursor.read_bytes()
    world.narrow()
    texts = {}
    for mode, more in (
        ("through", {"endpoint": endpoint}),
        ("pruned", {}),
        ("through", {}),
        ("through", {"endpoint": endpoint}),
    ):
        world.export("cursor", mode, **more)
        texts.setdefault((mode, bool(more)), cursor.read_text())
    assert cursor.read_text() == texts["through", True]
    assert "http://" not in texts["through", False] and "http://" not in texts["pruned", False]
    assert status_of(world, endpoint).http
    world.export("cursor", "as-is")
    assert cursor.read_bytes() == before
    assert not status_of(world, endpoint).http


def test_native_switches_come_after_a_url_and_before_one(world, endpoint):
    file = world.write(".codex/config.toml", '# mine\n[mcp_servers.stub]\ncommand = "x"\n')
    world.learn()
    world.narrow()
    world.export("codex", "through", endpoint=endpoint)
    text = file.read_text()
    assert '[mcp_servers.toolcrib.http_headers]\nAuthorization = "Bearer ' in text
    world.export("codex", "native")
    native = file.read_text()
    assert "127.0.0.1" not in native and "_tools" in native
    world.export("codex", "through", endpoint=endpoint)
    assert file.read_text() == text
    restore_host("codex", world.ctx, world.db)
    assert file.read_text() == '# mine\n[mcp_servers.stub]\ncommand = "x"\n'


def test_the_users_own_changes_survive_switching_back(world, endpoint, cursor):
    world.export("cursor", "through", endpoint=endpoint)
    tree = json.loads(cursor.read_text())
    cursor.write_text(json.dumps({**tree, "mine": 2}))
    world.export("cursor", "as-is")
    assert json.loads(cursor.read_text()) == {**TREE, "mine": 2}


def test_a_toolcrib_that_remembers_nothing_still_knows_its_url(world, endpoint, cursor):
    from app.export.plan import plan

    world.export("cursor", "through", endpoint=endpoint)
    given = {"catalog": world.catalog, "gateway_path": Path("/new/gw")}
    renewed = plan(world.places, "cursor", mode="through", **given)
    after = json.loads(renewed.files[0].after)["mcpServers"]
    assert after == {
        "toolcrib": {"command": "/new/gw", "args": ["--profile", "default", "--servers", "stub"]}
    }
    gone = plan(world.places, "cursor", mode="as-is", **given)
    assert json.loads(gone.files[0].after)["mcpServers"] == {}


@pytest.mark.parametrize("port", [41380, 50000])
def test_an_own_url_is_no_server_whatever_the_port_and_while_the_endpoint_is_off(
    world, endpoint, cursor, port
):
    made = world.plan("cursor", "through", endpoint=replace(endpoint, port=port))
    world.ctx.keep(http_port=port)
    apply(made, world.ctx, world.db)
    world.ctx.keep(http=False, http_port=41380)
    register(world.ctx, world.db, read_host(world.places, host("cursor")))
    assert [s.name for s in servers.all_servers(world.db)] == ["stub"]


def test_only_a_whole_profile_at_this_machine_is_our_url():
    assert profile_at("http://127.0.0.1:41380/mcp/my%20own") == "my own"
    assert profile_at("http://localhost:1/mcp/default") == "default"
    assert profile_at("http://[::1]:1/mcp/default") == "default"
    for other in (
        "http://127.0.0.1:41380/mcp/default/stub",
        "https://127.0.0.1:41380/mcp/default",
        "http://h.example/mcp/default",
        "http://127.0.0.1:41380/mcp",
        "http://[::1/mcp/default",
        "",
    ):
        assert profile_at(other) == ""


def test_editing_another_entry_keeps_the_host_over_http(world, endpoint):
    world.write(".cursor/mcp.json", {"mcpServers": {"stub": STUB, "gone": {"command": "z"}}})
    world.learn()
    world.db.execute("UPDATE servers SET trusted = 0 WHERE name = 'gone'")
    world.export("cursor", "through", endpoint=endpoint)
    entry = EntryRecord("cursor", "user", str(world.home / ".cursor/mcp.json"), "gone")
    change = EntryChange(entry, EDIT, "other")
    apply(
        plan_entry(world.places, change, exports.for_host(world.db, "cursor")), world.ctx, world.db
    )
    status = status_of(world, endpoint)
    assert status.http and status.state == IN_SYNC


# ---- what is out of date


def test_a_renewed_token_is_shown_and_written_again(world, endpoint, cursor):
    world.export("cursor", "through", endpoint=endpoint)
    assert status_of(world, endpoint).state == IN_SYNC
    renew_secret(world.ctx.paths)
    status = status_of(world, endpoint)
    assert (status.state, status.changes, status.http) == (CHANGES, 1, True)
    assert any("token in the file is no longer" in line for line in status.plan.warnings)
    apply(status.plan, world.ctx, world.db)
    assert status_of(world, endpoint).state == IN_SYNC
    assert endpoint.address("default").token in cursor.read_text()
    world.export("cursor", "as-is")
    assert json.loads(cursor.read_text()) == TREE


def test_another_port_is_shown_and_written_again(world, endpoint, cursor):
    world.export("cursor", "through", endpoint=endpoint)
    world.ctx.keep(http_port=50123)
    status = status_of(world, replace(endpoint, port=50123))
    assert status.state == CHANGES
    (line,) = [line for line in status.plan.warnings if "write again" in line]
    assert ":41380/" in line and ":50123/" in line
    apply(status.plan, world.ctx, world.db)
    assert status_of(world, replace(endpoint, port=50123)).state == IN_SYNC


def test_an_endpoint_that_is_off_is_shown(world, endpoint, cursor):
    world.export("cursor", "through", endpoint=endpoint)
    status = status_of(world, replace(endpoint, on=False))
    assert status.state == ENDPOINT_OFF and status.changes == 0
    assert any("is off, so Cursor would reach nothing" in w for w in status.plan.warnings)


def test_a_backend_that_may_not_run_is_an_endpoint_that_is_off(world, endpoint, cursor):
    world.export("cursor", "through", endpoint=endpoint)
    status = status_of(world, replace(endpoint, refusal="There is no backend here."))
    assert status.state == ENDPOINT_OFF
    assert status.plan.refusal == "There is no backend here."


def test_an_entry_changed_outside_is_drift(world, endpoint, cursor):
    world.export("cursor", "through", endpoint=endpoint)
    token = endpoint.address("default").token
    cursor.write_text(cursor.read_text().replace(token, "0" * 64))
    status = status_of(world, endpoint)
    assert status.state == OUTSIDE
    (drift,) = status.drift
    shown = f"{drift.written}{drift.now}{drift.before}{drift.sentences}{drift.entries}"
    assert token not in shown and "0" * 64 not in shown


def test_a_token_renewed_between_preview_and_write_is_not_written(world, endpoint, cursor):
    made = world.plan("cursor", "through", endpoint=endpoint)
    before = cursor.read_bytes()
    renew_secret(world.ctx.paths)
    with pytest.raises(ToolcribError, match="changed meanwhile"):
        apply(made, world.ctx, world.db)
    assert cursor.read_bytes() == before and not exports.for_host(world.db, "cursor")


def test_a_profile_that_a_host_has_by_url_is_not_deleted(world, endpoint, cursor):
    create(world.db, "lean")
    from app.catalog.catalog import load_catalog
    from app.export.plan import plan

    made = plan(
        world.places,
        "cursor",
        catalog=load_catalog(world.db, "lean"),
        mode="through",
        gateway_path=world.gateway,
        endpoint=endpoint,
    )
    apply(made, world.ctx, world.db)
    with pytest.raises(ToolcribError, match="Cursor gets the profile lean"):
        forget(world.db, "lean")


# ---- what is told before


def test_what_a_url_means_is_told_before_it_is_written(world, endpoint, cursor):
    made = world.plan("cursor", "through", endpoint=replace(endpoint, on=False))
    notes = "\n".join(made.warnings)
    assert "The HTTP endpoint (127.0.0.1:41380) is off, so Cursor would reach nothing." in notes
    assert "Cursor cannot start Toolcrib over HTTP: after a login its tools are missing" in notes
    assert ", which opens the profile default to all who read it." in notes
    assert "a token (a variable's name in its place would stay empty: nothing sets one)" in notes
    early = world.plan("cursor", "through", endpoint=replace(endpoint, at_login=True))
    assert "cannot start Toolcrib over HTTP; your login starts it." in "\n".join(early.warnings)
    assert "is off" not in "\n".join(early.warnings)


def test_a_server_that_needs_its_hosts_variables_stays(world, endpoint):
    tree = {"mcpServers": {"stub": STUB, "far": {"command": "f", "env": {"K": "${env:KEY}"}}}}
    file = world.write(".cursor/mcp.json", tree)
    world.learn()
    made = world.plan("cursor", "through", endpoint=endpoint)
    assert any(w.startswith("far takes ${env:KEY} from the host,") for w in made.warnings)
    apply(made, world.ctx, world.db)
    assert set(json.loads(file.read_text())["mcpServers"]) == {"far", "toolcrib"}


# ---- the token


def test_the_preview_masks_the_token_in_every_format(world, endpoint):
    world.serve_another()
    world.write(".cursor/mcp.json", TREE)
    world.write(".codex/config.toml", '[mcp_servers.stub]\ncommand = "x"\n')
    world.write(".config/goose/config.yaml", "extensions: {}\n")
    token = endpoint.address("default").token
    for host_id in ("cursor", "codex", "goose", "opencode", "windsurf", "zed"):
        made = world.plan(host_id, "through", endpoint=endpoint, also=["far"])
        (file,) = masked_diff(made)
        assert token not in file.after and "••••" in file.after, host_id
        assert token not in repr(made) + repr(made.files) + "\n".join(made.warnings + made.changes)


def test_the_token_reaches_the_hosts_file_and_our_private_copies_and_nothing_else(
    world, endpoint, cursor
):
    world.export("cursor", "through", endpoint=endpoint)
    renew_secret(world.ctx.paths)
    old = cursor.read_text()
    world.export("cursor", "through", endpoint=endpoint)
    tokens = [json.loads(t)["mcpServers"]["toolcrib"]["headers"] for t in (old, cursor.read_text())]
    holders = set()
    world.db.pragma("wal_checkpoint")
    for file in world.ctx.paths.home.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            if any(t["Authorization"].partition(" ")[2].encode() in data for t in tokens):
                holders.add(file.parent)
                assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert holders == {world.ctx.paths.backups / "cursor"}
    for folder in (world.ctx.paths.backups, world.ctx.paths.backups / "cursor"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_projects_file_gets_no_token(world, endpoint, cursor, tmp_path):
    project = tmp_path / "home" / "project"
    (project / ".cursor").mkdir(parents=True)
    (project / ".cursor/mcp.json").write_text(json.dumps(TREE))
    made = world.plan("cursor", "through", endpoint=endpoint, project=project)
    assert made.refusal == (
        "A project's file may be committed, and the token with it. Write it as a command instead."
    )


@pytest.mark.parametrize("mark", [".git", ".hg", ".jj", ".svn"])
def test_a_file_that_lies_in_a_repository_behind_a_link_gets_no_token(
    world, endpoint, cursor, mark
):
    dotfiles = world.home / "dotfiles"
    (dotfiles / "cursor").mkdir(parents=True)
    (dotfiles / mark).mkdir()
    real = dotfiles / "cursor/mcp.json"
    real.write_bytes(cursor.read_bytes())
    cursor.unlink()
    cursor.symlink_to(real)
    made = world.plan("cursor", "through", endpoint=endpoint)
    assert made.refusal is not None and f"is in the repository {dotfiles}" in made.refusal
    assert world.plan("cursor", "through").refusal is None


def test_a_linked_file_is_written_where_it_leads_and_stays_a_link(world, endpoint, cursor):
    real = world.home / "elsewhere.json"
    real.write_bytes(cursor.read_bytes())
    cursor.unlink()
    cursor.symlink_to(real)
    before = real.read_bytes()
    world.export("cursor", "through", endpoint=endpoint)
    assert cursor.is_symlink() and "127.0.0.1" in real.read_text()
    undo_host("cursor", world.ctx, world.db)
    assert cursor.is_symlink() and real.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_refused_and_stays(world, endpoint, cursor):
    cursor.chmod(0o400)
    before = cursor.read_bytes()
    with pytest.raises(ToolcribError, match="is read-only") as error:
        world.export("cursor", "through", endpoint=endpoint)
    assert endpoint.address("default").token not in f"{error.value} {error.value.hint}"
    assert cursor.read_bytes() == before


def test_a_new_file_is_its_owners_alone(world, endpoint):
    world.serve_another()
    world.export("cursor", "through", endpoint=endpoint, also=["far"])
    assert stat.S_IMODE((world.home / ".cursor/mcp.json").stat().st_mode) == 0o600


def test_a_file_that_others_may_read_is_told(world, endpoint, cursor, monkeypatch):
    made = world.plan("cursor", "through", endpoint=endpoint)
    assert not any("Other users" in line for line in made.warnings)
    cursor.chmod(0o644)
    real = Path.stat

    def open_folders(path, **more):  # pytest's own folders are closed
        found = real(path, **more)
        if not stat.S_ISDIR(found.st_mode):
            return found
        return os.stat_result((found.st_mode | stat.S_IXOTH, *found[1:10]))

    assert not is_open_to_others(cursor) or real(cursor.parents[3]).st_mode & stat.S_IXOTH
    monkeypatch.setattr(Path, "stat", open_folders)
    made = world.plan("cursor", "through", endpoint=endpoint)
    assert any(w.startswith("Other users of this computer may read") for w in made.warnings)


def test_settings_that_were_saved_by_another_process_count(world, endpoint, cursor):
    made = world.plan("cursor", "through", endpoint=endpoint)
    other = replace(Settings.load(world.ctx.paths.settings_file), http_port=50001)
    other.save(world.ctx.paths.settings_file)
    with pytest.raises(ToolcribError, match="changed meanwhile"):
        apply(made, world.ctx, world.db)
