"""A server is never started with an empty value for one that is not known."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.scrubber import Scrubber
from app.gateway.launching import launcher
from app.hosts.launch import LaunchSpec, missing
from app.hosts.places import Places
from app.registry.kept_values import keep, lacking
from app.registry.register import targets
from app.secrets.secret_store import Secrets, SecretStore
from store import servers, serving
from store.connection import transaction

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"
DATABASE = "postgresql://app:s3cretPassw0rd@db.example/shop"


@pytest.fixture
def machine(ctx: AppContext, db: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A host's file with a token in an argument, a variable and a URL; scanned and trusted."""
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    entry = {
        "command": sys.executable,
        "args": ["-c", "import sys", "--token", TOKEN, DATABASE],
        "env": {"API_TOKEN": TOKEN, "EMPTY": ""},
    }
    file = home / ".cursor" / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"files": entry}}))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.delenv("API_TOKEN", raising=False)
    places = Places(home, {}, "linux")
    lacking(ctx, db, places)  # registers
    with transaction(db):
        db.execute("UPDATE servers SET trusted = 1, read_at = 1")
    return places


def row(db: Any) -> serving.ServerRow:
    return serving.server_rows(db)[0]


def start(ctx: AppContext, db: Any, environ: dict[str, str] | None = None) -> Any:
    make = launcher(row(db), (), lambda: ctx.paths, Scrubber(), environ or {})
    return make()


def test_a_gateway_refuses_the_start_and_names_what_is_missing(
    ctx: AppContext, db: Any, machine: Places
) -> None:
    with pytest.raises(ToolcribError) as caught:
        start(ctx, db)
    assert "API_TOKEN, EMPTY, --token" in caught.value.title
    assert "postgresql://" in caught.value.title
    assert TOKEN not in caught.value.text and "s3cret" not in caught.value.text
    assert "toolcrib server keep-values files" in caught.value.hint


def test_a_scan_that_no_file_gives_the_values_to_does_not_start_it(
    ctx: AppContext, db: Any, machine: Places
) -> None:
    assert targets(ctx, db) == []


def test_kept_values_reach_the_server_as_the_file_has_them(
    ctx: AppContext, db: Any, machine: Places
) -> None:
    wanted = lacking(ctx, db, machine)
    assert [one.server for one in wanted] == ["files"]
    assert TOKEN not in wanted[0].text
    assert keep(ctx.paths, wanted) == ()
    assert lacking(ctx, db, machine) == ()
    (target,) = targets(ctx, db)
    assert target.launch.args[-2:] == (TOKEN, DATABASE)
    assert target.launch.env == {"API_TOKEN": TOKEN, "EMPTY": ""}


def test_nothing_is_kept_without_a_yes(
    ctx: AppContext, machine: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["server", "keep-values"]) == 4
    text = capsys.readouterr().err
    assert "files: API_TOKEN" in text and TOKEN not in text
    assert not ctx.paths.secrets.exists()


def test_switching_the_way_in_on_keeps_the_values_with_a_yes_only(
    ctx: AppContext, db: Any, machine: Places, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "60")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    try:
        assert run(["backend", "http", "on", "--port", port]) == 0
        with pytest.raises(ToolcribError, match="It was not started: no value is known for"):
            start(ctx, db)
        assert run(["backend", "http", "on", "--port", port, "--yes"]) == 0
        start(ctx, db)
    finally:
        run(["backend", "stop"])
    (target,) = targets(ctx, db)
    assert target.launch.env["API_TOKEN"] == TOKEN and TOKEN in target.launch.args
    assert TOKEN not in capsys.readouterr().out


def test_keep_values_says_what_it_kept(
    ctx: AppContext, machine: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["server", "keep-values", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"kept": ["files"], "lacking": []}
    assert run(["server", "keep-values", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"kept": [], "lacking": []}
    assert run(["server", "keep-values", "nothing", "--yes"]) == 1


def test_a_server_whose_file_is_gone_is_named_as_lacking(
    ctx: AppContext, db: Any, machine: Places
) -> None:
    spec, _secrets = LaunchSpec("stdio", "x", env={"TOKEN": TOKEN}).to_spec(b"key")
    gone = next(iter(servers.all_servers(db)))
    with transaction(db):
        servers.place(db, gone.entries[0], spec, name="other", trusted=True)
    (machine.home / ".cursor" / "mcp.json").write_text("{")  # cannot be read: entries stay
    wanted = lacking(ctx, db, machine)
    assert keep(ctx.paths, wanted) == tuple(one.server for one in wanted)


@pytest.mark.parametrize(
    ("launch", "names"),
    [
        (LaunchSpec("stdio", "x", ("--token", TOKEN)), ("--token",)),
        (LaunchSpec("stdio", "x", (f"--token={TOKEN}",)), ("--token=••••",)),
        (LaunchSpec("stdio", "x", env={"A": "1", "B_TOKEN": TOKEN}), ("A", "B_TOKEN")),
        (LaunchSpec("http", url=f"https://h/{TOKEN}/mcp"), ("https://h/••••/mcp",)),
        (LaunchSpec("http", url="https://h", headers={"X-Key": TOKEN}), ("header X-Key",)),
        (LaunchSpec("stdio", "x", ("plain",)), ()),
    ],
)
def test_every_kind_of_value_is_named(launch: LaunchSpec, names: tuple[str, ...]) -> None:
    spec, secrets = launch.to_spec(b"key")
    assert missing(spec, Secrets(), {}) == names
    assert missing(spec, secrets, {}) == ()


def test_a_variable_of_the_surroundings_is_used_and_nothing_else(ctx: AppContext) -> None:
    spec, _ = LaunchSpec("stdio", "x", env={"API_TOKEN": TOKEN}).to_spec(b"key")
    assert missing(spec, Secrets(), {"API_TOKEN": "of the shell"}) == ()
    launch = LaunchSpec.from_spec(spec, SecretStore.open(ctx.paths).get(spec.key))
    assert launch.env == {}  # inherited, not emptied
