"""What the hosts' files name, placed in the store, without starting anything."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings
from app.hosts.launch import HTTP, STDIO, LaunchSpec
from app.hosts.places import Places
from app.hosts.reading import HostReading, read_hosts
from app.registry.importing import add_server, edit_server, import_file, import_text, preview
from app.registry.probe import ProbeOptions
from app.registry.register import register, targets
from app.registry.scan import ScanOptions, scan
from app.secrets.secret_store import SecretStore
from store import profiles, servers
from store.connection import transaction

MakeFake = Callable[..., LaunchSpec]
SECRET = "hunter2-hunter2"


def entry(launch: LaunchSpec, **more: object) -> dict[str, object]:
    return {"command": launch.command, "args": list(launch.args), "env": dict(launch.env), **more}


class Home:
    """A fake home with Cursor's user and project files."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "home" / ".cursor" / "mcp.json"
        self.project = folder / "work" / ".cursor" / "mcp.json"
        for file in (self.user, self.project):
            file.parent.mkdir(parents=True)
        self.places = Places(folder / "home", {}, "linux", folder / "work", root=folder)

    def write(self, file: Path, **entries: object) -> tuple[HostReading, ...]:
        file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
        return read_hosts(self.places)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def names(db: apsw.Connection) -> dict[str, bool]:
    return {server.name: server.trusted for server in servers.all_servers(db)}


def test_servers_of_a_project_start_untrusted(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    home.write(home.user, mine=entry(fake("tools=1")))
    register(ctx, db, home.write(home.project, theirs=entry(fake("tools=2"))))
    assert names(db) == {"mine": True, "theirs": False}


def test_a_server_that_the_user_names_as_well_is_trusted(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    home.write(home.user, mine=entry(fake("tools=1")))
    register(ctx, db, home.write(home.project, mine=entry(fake("tools=1"))))
    assert names(db) == {"mine": True}
    (server,) = servers.all_servers(db)
    assert {found.scope for found in server.entries} == {"user", "project"}


def test_registering_twice_changes_nothing(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    readings = home.write(home.user, mine=entry(fake("tools=1")))
    first = register(ctx, db, readings)
    assert register(ctx, db, readings).server_ids == first.server_ids
    assert names(db) == {"mine": True}


def test_targets_show_the_exact_command_without_secrets(
    ctx: AppContext, db: apsw.Connection, home: Home
) -> None:
    raw = {"command": sys.executable, "args": ["x.py", "--api-key", SECRET], "env": {"A": SECRET}}
    registered = register(ctx, db, home.write(home.user, mine=raw))
    (target,) = targets(ctx, db, registered)
    assert target.command == f"{sys.executable} x.py --api-key •••• · sets A"
    assert target.launch.env == {"A": SECRET}
    assert SECRET not in repr(target)


def test_a_server_that_no_file_names_any_more_is_forgotten(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    both = {"mine": entry(fake("tools=1")), "other": entry(fake("tools=2"))}
    register(ctx, db, home.write(home.user, **both))
    gone = register(ctx, db, home.write(home.user, mine=both["mine"]))
    assert len(gone.retired) == 1
    assert names(db) == {"mine": True}


def test_a_file_that_is_gone_takes_its_servers_along(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    register(ctx, db, home.write(home.user, mine=entry(fake("tools=1"))))
    home.user.unlink()
    register(ctx, db, read_hosts(home.places))
    assert names(db) == {}


def test_a_file_that_cannot_be_read_keeps_its_servers(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    register(ctx, db, home.write(home.user, mine=entry(fake("tools=1"))))
    home.user.write_text("{", encoding="utf-8")
    register(ctx, db, read_hosts(home.places))
    assert names(db) == {"mine": True}
    assert any(problem for *_, problem, _ in servers.host_files(db))


def test_a_file_that_goes_through_toolcrib_keeps_its_servers(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    register(ctx, db, home.write(home.user, mine=entry(fake("tools=1"))))
    through = {"command": "/x/toolcrib-gateway", "args": ["--profile", "default"]}
    register(ctx, db, home.write(home.user, toolcrib=through))
    assert names(db) == {"mine": True}


@pytest.mark.parametrize("path", ["/mcp/default", "/mcp/my%20work/github"])
@pytest.mark.parametrize("machine", ["127.0.0.1", "localhost", "[::1]"])
def test_our_own_url_is_no_server_and_its_file_keeps_its_servers(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake, machine: str, path: str
) -> None:
    ours = {"url": f"http://{machine}:{ctx.settings.http_port}{path}"}
    register(ctx, db, home.write(home.user, files=entry(fake()), crib=ours))
    assert names(db) == {"files": True, "crib": True}  # while the endpoint is off it may be another
    ctx.keep(http=True)
    register(ctx, db, home.write(home.user, files=entry(fake()), crib=ours))
    assert names(db) == {"files": True}
    register(ctx, db, home.write(home.user, crib=ours))  # the rest is behind it
    assert names(db) == {"files": True}
    register(ctx, db, home.write(home.user))
    assert names(db) == {}


def test_our_own_url_cannot_be_added_imported_or_put_in_a_servers_place(
    ctx: AppContext, db: apsw.Connection, fake: MakeFake
) -> None:
    ctx.keep(http=True)
    url = f"http://127.0.0.1:{ctx.settings.http_port}/mcp/default"
    ours = LaunchSpec(HTTP, url=url)
    with pytest.raises(ToolcribError, match="URL of Toolcrib itself"):
        add_server(ctx, db, "crib", ours)
    with pytest.raises(ToolcribError, match="URL of Toolcrib itself"):
        import_text(ctx, db, json.dumps({"mcpServers": {"crib": {"url": url}}}))
    add_server(ctx, db, "files", fake())
    server = servers.by_name(db, "files")
    assert server is not None
    with pytest.raises(ToolcribError, match="URL of Toolcrib itself"):
        edit_server(ctx, db, server, "other", ours)
    assert names(db) == {"files": True}
    both = {"crib": {"url": url}, "files": entry(fake())}
    assert import_text(ctx, db, json.dumps({"mcpServers": both})).names == ("files",)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:41381/mcp/default",
        "http://127.0.0.1:41380/mcp",
        "http://127.0.0.1:41380/sse/default",
        "https://127.0.0.1:41380/mcp/default",
        "http://example.com:41380/mcp/default",
        "http://127.0.0.1:41380.example.com/mcp/default",
        "http://127.0.0.1:41380@example.com/mcp/default",
        "http://[::1/mcp/default",
    ],
)
def test_a_url_like_ours_is_a_server(
    ctx: AppContext, db: apsw.Connection, home: Home, url: str
) -> None:
    ctx.keep(http=True)
    register(ctx, db, home.write(home.user, other={"url": url}))
    assert names(db) == {"other": True}


def test_an_entry_that_was_pruned_still_names_its_server(
    ctx: AppContext, db: apsw.Connection, home: Home, fake: MakeFake
) -> None:
    plain = entry(fake("tools=1"))
    register(ctx, db, home.write(home.user, mine=plain))
    (before,) = servers.all_servers(db)
    args = ["--profile", "default", "--server", "mine", "--", plain["command"]]
    pruned = {**plain, "command": "/x/toolcrib-gateway", "args": [*args, *plain["args"]]}
    registered = register(ctx, db, home.write(home.user, mine=pruned))
    (after,) = servers.all_servers(db)
    assert (after.id, after.spec) == (before.id, before.spec)
    (target,) = targets(ctx, db, registered)
    assert target.launch.command == sys.executable


def test_an_entry_that_names_nothing_is_a_row_with_its_problem(
    ctx: AppContext, db: apsw.Connection, home: Home
) -> None:
    register(ctx, db, home.write(home.user, one={"args": ["x"]}, two={}))
    rows = servers.all_servers(db)
    assert [row.name for row in rows] == ["one", "two"]
    assert all(row.status == "could not start" and row.problem for row in rows)
    assert targets(ctx, db) == []


def test_an_import_makes_a_profile_that_shows_only_its_servers(
    ctx: AppContext, db: apsw.Connection, fake: MakeFake, tmp_path: Path, quick: ProbeOptions
) -> None:
    add_server(ctx, db, "by hand", fake("tools=2"))
    file = tmp_path / "some.json"
    config = {"mcpServers": {"one": entry(fake("tools=3", API_KEY=SECRET))}}
    file.write_text(json.dumps(config), encoding="utf-8")
    assert preview(file)[0][0] == "one"
    imported = import_file(ctx, db, file, profile="judge")
    assert (imported.names, imported.secrets_in) == (("one",), "file")
    (launch,) = (row.spec.key for row in servers.all_servers(db) if row.name == "one")
    assert SecretStore.open(ctx.paths).get(launch).env["API_KEY"] == SECRET
    scan(ctx, targets(ctx, db), ScanOptions(probe=quick))  # from the store and its secrets alone
    assert {row.server.name for row in load_catalog(db, "judge").shown} == {"one"}
    assert {row.server.name for row in load_catalog(db).shown} == {"one", "by hand"}


def test_importing_again_widens_the_profile_and_keeps_one_server(
    ctx: AppContext, db: apsw.Connection, fake: MakeFake, tmp_path: Path
) -> None:
    for name in ("one", "two", "one"):
        file = tmp_path / f"{name}.json"
        entries = {name: entry(fake(f"exit-code={len(name)},huge-tool" if name == "two" else ""))}
        file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
        import_file(ctx, db, file, profile="judge")
    record = profiles.by_name(db, "judge")
    assert record is not None
    assert ProfileSettings.from_json(record.settings).servers == ("one", "two")
    assert list(names(db)) == ["one", "two"]


def test_a_profile_that_shows_all_servers_stays_so(
    ctx: AppContext, db: apsw.Connection, fake: MakeFake
) -> None:
    text = json.dumps({"mcpServers": {"one": entry(fake())}})
    import_text(ctx, db, text, profile="default")
    record = profiles.by_name(db, "default")
    assert record is not None
    assert ProfileSettings.from_json(record.settings).servers is None


def test_a_second_paste_keeps_the_servers_of_the_first(
    ctx: AppContext, db: apsw.Connection, fake: MakeFake
) -> None:
    for name in ("one", "two"):
        import_text(ctx, db, json.dumps({"mcpServers": {name: entry(fake(f"exit-code={name}"))}}))
    assert list(names(db)) == ["one", "two"]


def test_a_text_without_servers_is_refused(ctx: AppContext, db: apsw.Connection) -> None:
    for text in ("{", "[]", '{"mcpServers": {}}', "hello"):
        with pytest.raises(ToolcribError):
            import_text(ctx, db, text)
    with transaction(db):
        assert names(db) == {}


def test_servers_typed_in_stay_beside_each_other(
    ctx: AppContext, db: apsw.Connection, fake: MakeFake
) -> None:
    add_server(ctx, db, "one", fake("tools=1"))
    add_server(ctx, db, "two", fake("tools=2"))
    add_server(ctx, db, "one", fake("tools=5"))
    assert list(names(db)) == ["one", "two"]
    launches = {target.name: target.launch for target in targets(ctx, db)}
    assert launches["one"].env["FAKE_MODE"] == "tools=5"


def test_reading_the_files_starts_nothing_and_writes_nothing(
    ctx: AppContext, db: apsw.Connection, home: Home, tmp_path: Path
) -> None:
    trap = tmp_path / "started"
    code = f"open({str(trap)!r}, 'w').close()"
    launch = LaunchSpec(STDIO, sys.executable, ("-c", code))
    readings = home.write(home.user, mine=entry(replace(launch, env={"A": "b"})))
    before = home.user.stat().st_mtime_ns
    register(ctx, db, readings)
    targets(ctx, db)
    assert not trap.exists()
    assert home.user.stat().st_mtime_ns == before


def test_registering_loads_neither_the_sdk_nor_an_encoder() -> None:
    code = "import sys, app.registry.importing; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"mcp", "pydantic", "jsonschema_rs", "numpy", "onnxruntime", "torch", "PySide6"}
    assert not heavy & set(loaded)


LISTED = "- name: notes\n  command: npx\n  args: [-y, notes]\n- uses: hub/block\n"


@pytest.mark.parametrize("text", [LISTED, f"name: mine\nmcpServers:\n{LISTED}"])
def test_continues_list_of_servers_is_taken(
    ctx: AppContext, db: apsw.Connection, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    assert [name for name, _ in preview(file)] == ["notes", "hub/block"]
    assert import_file(ctx, db, file).names == ("notes", "hub-block")


def test_a_preview_without_servers_is_refused_as_the_import_is(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    for text in ('{"mcpServers": {}}', '{"mcpServers": [{"command": "x"}]}', "[]", "[1]", "5"):
        file.write_text(text)
        with pytest.raises(ToolcribError):
            preview(file)
