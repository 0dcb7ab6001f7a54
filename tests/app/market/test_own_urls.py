"""Packages that answer at a URL of their own: started after consent, reached, ended with it all."""

import json
import socket
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

import raw_host

from app.cli.main import run
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.gateway.reach import run as reach
from app.hosts.display import launch_text
from app.hosts.entries import gateway_of
from app.hosts.launch import LaunchSpec
from app.market.entry import Entry, read_entry
from app.market.launch import choices, launch_of, shown_command
from app.market.records import row_of
from app.market.stack import StackServer
from app.registry.calling import CallSession
from app.registry.importing import add_server
from app.registry.register import targets
from app.registry.scan import ScanOptions, scan
from store import market, servers, tools
from store.connection import transaction
from store.market import MarketSource
from store.typed import Json

SERVER = Path(__file__).parents[2] / "fakes" / "port_server.py"
PORT = {"type": "named", "name": "--port", "valueHint": "port", "isRequired": True}
KEY = {"name": "PORT_KEY", "isRequired": True, "isSecret": True}
SECRET = "pk-s3cret-value-4711"


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """A free port, with an npx on the PATH that starts the server."""
    shim = tmp_path / "bin" / "npx"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SERVER}" "$@"\n')
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(shim.parent), prepend=":")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number: int = taken.getsockname()[1]
    return number


def listed(*flags: str, kind: str = "streamable-http", url: str = "", **more: Any) -> Entry:
    words = [PORT, *({"type": "positional", "value": flag} for flag in flags)]
    package = {
        "registryType": "npm", "identifier": "port", "version": "1.0.0",
        "transport": {"type": kind, "url": url or "http://localhost:{port}/mcp"},
        "packageArguments": words, "environmentVariables": [KEY], **more,
    }  # fmt: skip
    return read_entry({"name": "com.example/port", "packages": [package]})


def launch(entry: Entry, port: int) -> LaunchSpec:
    (way,) = choices(entry)
    assert way.problem == ""
    return launch_of(entry, way, {"port": str(port), "PORT_KEY": SECRET})


def status(ctx: AppContext, db: apsw.Connection, made: LaunchSpec) -> tuple[str, str]:
    add_server(ctx, db, "port", made)
    (one,) = scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False)).servers
    return one.status, one.problem


@pytest.mark.parametrize(("kind", "path", "flags"), [("streamable-http", "mcp", ()),
                                                     ("sse", "sse", ("--sse",))])  # fmt: skip
def test_it_is_started_waited_for_read_called_and_ended(
    ctx: AppContext, db: apsw.Connection, port: int, kind: str, path: str, flags: tuple[str, ...]
) -> None:
    entry = listed(*flags, kind=kind, url=f"http://localhost:{{port}}/{path}")
    made = launch(entry, port)
    shown = launch_text(made)
    assert f"http://localhost:{port}/{path} -- npx -y port@1.0.0" in shown.command
    assert "downloads port@1.0.0 from npm" in shown.line and SECRET not in shown.line
    assert gateway_of(made) is None, "a host's entry of it is a server's own, not Toolcrib's"
    assert status(ctx, db, made) == ("read", "")
    assert {one.name for one in tools.tools(db)} == {"add", "who"}
    record = servers.by_name(db, "port")
    assert record is not None
    with transaction(db):
        servers.set_trusted(db, record.id, True)
    session = CallSession(ctx, record.id)
    try:
        assert session.call("add", {"a": 1, "b": 2}).result["content"][0]["text"] == "3"
        answer = session.call("who", {}).result["content"][0]["text"]
        pid, told_host = int(answer.split()[0]), answer.split()[-1]
        assert told_host == "127.0.0.1" and psutil.pid_exists(pid)
        again = CallSession(ctx, record.id)
        try:
            printed = again.call("add", {"a": 1, "b": 2}).printed
        finally:
            again.close()
        assert f"Port {port} is used by another program" in printed
    finally:
        session.close()
    assert _is_dead(pid)
    with socket.create_server(("127.0.0.1", port)):
        pass  # nothing listens there any more


@pytest.mark.parametrize(
    ("flag", "why"),
    [("--wide", "listens to the whole network"), ("--exit", "exited before it listened")],
)
def test_one_that_the_network_would_reach_or_that_ends_is_refused_with_a_sentence(
    ctx: AppContext, db: apsw.Connection, port: int, flag: str, why: str
) -> None:
    word, problem = status(ctx, db, launch(listed(flag), port))
    assert word != "read" and why in problem and SECRET not in problem
    with socket.create_server(("127.0.0.1", port)):
        pass


ELSEWHERE: dict[str, Callable[[], Entry]] = {
    "is no address of this machine": lambda: listed(url="http://10.0.0.1:{port}/mcp"),
    "is no address of this machine with": lambda: listed(url="http://localhost/mcp"),
    "start it yourself": lambda: listed(registryType="oci", identifier="docker.io/them/port:1"),
    "wants headers": lambda: listed(
        transport={"type": "sse", "url": "http://localhost:1/x", "headers": [{"name": "X-K"}]}
    ),
}


@pytest.mark.parametrize("why", ELSEWHERE)
def test_what_cannot_be_kept_to_this_machine_is_refused(why: str) -> None:
    (way,) = choices(ELSEWHERE[why]())
    assert why in way.problem
    with pytest.raises(ToolcribError, match="is no address of this machine"):
        entry = listed(url="http://localhost:{port}@evil.example:1/mcp")
        launch_of(entry, choices(entry)[0], {"port": "1", "PORT_KEY": SECRET})


@pytest.mark.parametrize("place", ["127.0.0.1", "10.0.0.1:1", "me@127.0.0.1:1", "127.0.0.1:1/\\x"])
def test_a_line_in_a_hosts_file_reaches_no_other_address_either(place: str) -> None:
    with pytest.raises(SystemExit, match=r"is no address of this machine .* It is not started\."):
        reach(["http", f"http://{place}/mcp", "--", sys.executable, "-c", ""])


STARTED = "npx -y port@1.0.0 --port"


@pytest.mark.parametrize("more", [{}, {"format": "number"}, {"isRequired": False}])
def test_a_port_to_fill_in_has_its_name_where_the_command_is_shown(more: dict[str, Any]) -> None:
    entry = listed(packageArguments=[PORT | more])
    (way,) = choices(entry)
    assert f"http://localhost:<port>/mcp -- {STARTED} <port>" in shown_command(entry, way)
    assert {field.key: field.wanted for field in way.fields} == {"PORT_KEY": True, "port": True}
    with pytest.raises(ToolcribError, match="needs a value for port"):
        launch_of(entry, way, {"PORT_KEY": SECRET})
    server = StackServer("port", entry=dict(entry.raw), number=way.number)
    assert (
        f":<port>/mcp -- {STARTED} <port>"
        in launch_text(server.launch_with({}, "/home", shown=True)).line
    )


PORTS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "a variable of the URL": ({"variables": {"port": {}}}, {"port": "4711"}),
    "a variable with a default": ({"variables": {"port": {"default": "4711"}}}, {}),
    "the environment": ({"env": {}}, {"port": "4711"}),
    "the environment, fixed": ({"env": {"value": "4711"}}, {}),
}


@pytest.mark.parametrize("how", PORTS)
def test_a_port_may_come_from_what_is_no_argument(how: str) -> None:
    more, values = PORTS[how]
    env = [{"name": "port", **more.pop("env")}] if "env" in more else []
    kind = {"type": "streamable-http", "url": "http://localhost:{port}/mcp", **more}
    entry = listed(packageArguments=[], environmentVariables=env, transport=kind)
    (way,) = choices(entry)
    assert [field.key for field in way.fields if field.wanted] == list(values)
    assert "http://localhost:4711/mcp" in launch_of(entry, way, values).args


def test_a_dry_run_shows_the_command_or_why_there_is_none(
    ctx: AppContext, db: apsw.Connection, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    with transaction(db):
        source = MarketSource(0, "https://list.example", "list")
        source = replace(source, id=market.add_source(db, source))
        market.save(db, source, [row_of(listed(runtimeArguments=[PORT]))])
    (package,) = dry_run(capsys)["packages"]
    assert (package["command"], "npx “--port”" in package["problem"]) == ("", True)
    with transaction(db):
        market.save(db, source, [row_of(listed())])
    (package,) = dry_run(capsys)["packages"]
    assert STARTED in package["command"] and package["problem"] == ""


def dry_run(capsys: pytest.CaptureFixture[str]) -> Json:
    assert run(["add", "--from", "com.example/port", "--dry-run", "--json"]) == 0
    value: Json = json.loads(capsys.readouterr().out)
    return value


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_nothing_of_it_outlives_the_session_that_started_it(port: int, how: str) -> None:
    made = launch(listed(), port)
    host = raw_host.RawHost([made.command, *made.args], {"PORT_KEY": SECRET})
    try:
        host.initialize()
        pid = int(raw_host.text(host.call("who")).split()[0])
        getattr(host.process, how)()
        host.until(lambda: not psutil.pid_exists(pid) or _is_dead(pid), 30)
    finally:
        host.close()


def _is_dead(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
