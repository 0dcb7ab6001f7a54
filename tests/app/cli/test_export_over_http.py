"""`toolcrib export HOST --mode through --http` over a real backend, and a client of its entry."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "fakes"))

import gateway_store  # noqa: E402
from web_client import WebClient, free_port  # noqa: E402

from app.core.paths import Paths  # noqa: E402
from app.core.settings import Settings  # noqa: E402
from tests.fakes.verbs import Verbs  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no backend")
PROBE = {"command": sys.executable, "args": [str(ROOT / "tests/fakes/probe_upstream.py")]}
MINE = '{\n  "mcpServers": {},\n  "mine": 1\n}\n'
WRITE = ("export", "cursor", "--mode", "through", "--http", "--also", "probe")
Toolcrib = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "user" / ".cursor" / "mcp.json"
    made.parent.mkdir(parents=True)
    made.write_text(MINE)
    return made


@pytest.fixture
def toolcrib(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, verbs: Verbs
) -> Iterator[Toolcrib]:
    """toolcrib("hosts") in a home of its own, with one server and the endpoint off."""
    home = tmp_path / "toolcrib"
    gateway_store.stock(home, {"probe": {**PROBE, "env": {"PROBE_NAME": "probe"}}})
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    own = {
        "TOOLCRIB_HOME": str(home),
        "TOOLCRIB_MODELS": str(tmp_path / "no-models"),
        "HOME": str(tmp_path / "user"),
        "PYTHONPATH": str(ROOT),
    }

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = verbs.run_text(*words, env={**os.environ, **own})
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done

    yield run
    run("backend", "stop")


@pytest.fixture
def port(toolcrib: Toolcrib, tmp_path: Path) -> int:
    """A free port that the settings name, the endpoint off."""
    port = free_port()
    settings = Paths.default({"TOOLCRIB_HOME": str(tmp_path / "toolcrib")}).settings_file
    Settings(http_port=port).save(settings)
    return port


def entry_of(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())["mcpServers"]["toolcrib"]


def client(file: Path) -> WebClient:
    """What a host makes of the entry in its file."""
    entry = entry_of(file)
    url = urlsplit(entry["url"])
    scheme, token = entry["headers"]["Authorization"].split()
    assert scheme == "Bearer" and url.hostname == "127.0.0.1" and url.port
    return WebClient(url.port, token, f"{url.path}?{url.query}")


def state(toolcrib: Toolcrib) -> tuple[str, bool, int]:
    hosts = json.loads(toolcrib("hosts", "--json").stdout)["hosts"]
    (cursor,) = [one for one in hosts if one["id"] == "cursor"]
    return cursor["state"], cursor["http"], cursor["changes"]


def status(toolcrib: Toolcrib) -> dict[str, Any]:
    return json.loads(toolcrib("backend", "http", "status", "--json").stdout)


def test_without_consent_the_endpoint_stays_off_and_nothing_is_written(
    toolcrib: Toolcrib, port: int, file: Path
) -> None:
    refused = toolcrib(*WRITE, code=4)
    assert "Nothing was written. Switch it on with: toolcrib backend http on" in refused.stderr
    assert file.read_text() == MINE and not status(toolcrib)["on"]
    dry = toolcrib(*WRITE, "--dry-run")
    assert "••••" in dry.stdout and "Nothing was written" in dry.stdout
    assert "is off, so Cursor would reach nothing" in dry.stderr
    assert file.read_text() == MINE and not status(toolcrib)["on"]


def test_a_client_lists_and_calls_tools_by_what_was_written(
    toolcrib: Toolcrib, port: int, file: Path, tmp_path: Path
) -> None:
    told = toolcrib(*WRITE, "--yes")
    assert entry_of(file)["url"] == f"http://127.0.0.1:{port}/mcp/default?servers=probe"
    web = client(file)
    web.initialize()
    names = [tool["name"] for tool in web.request("tools/list").last["result"]["tools"]]
    assert names == ["search_tools", "call_tool"]
    assert web.call("call_tool", {"name": "probe/echo", "arguments": {"text": "hi"}}).text == "hi"
    token = entry_of(file)["headers"]["Authorization"].split()[1]
    again = toolcrib(*WRITE)
    assert "in sync: nothing to write" in again.stdout
    assert state(toolcrib) == ("in sync", True, 0)
    assert token not in told.stdout + told.stderr + again.stdout + again.stderr
    home = tmp_path / "toolcrib"  # the store, the logs of every process, the settings
    holders = {f for f in home.rglob("*") if f.is_file() and token.encode() in f.read_bytes()}
    assert {holder.parent for holder in holders} == {home / "backups" / "cursor"}
    assert all(stat.S_IMODE(holder.stat().st_mode) == 0o600 for holder in holders)
    toolcrib("restore", "cursor")
    assert file.read_text() == MINE


def test_renewing_and_switching_off_name_the_hosts_and_show_them(
    toolcrib: Toolcrib, port: int, file: Path
) -> None:
    toolcrib(*WRITE, "--yes")
    renewed = toolcrib("backend", "http", "renew").stderr
    assert "Cursor have" not in renewed and "Cursor has an old token in its file" in renewed
    assert "toolcrib export cursor --mode through --http" in renewed
    assert state(toolcrib)[:2] == ("changes", True)
    told = toolcrib(*WRITE).stderr
    assert "The token in the file is no longer the profile's: write again." in told
    assert client(file).initialize().status == 200
    off = toolcrib("backend", "http", "off").stderr
    assert "Cursor reaches nothing until it is on again" in off
    assert state(toolcrib) == ("endpoint off", True, 0)
    other = free_port()
    moved = toolcrib("backend", "http", "on", "--port", str(other)).stderr
    assert "Cursor has the URL of the old port" in moved
    assert state(toolcrib)[:2] == ("changes", True)
    toolcrib(*WRITE)
    assert entry_of(file)["url"] == f"http://127.0.0.1:{other}/mcp/default?servers=probe"
    assert client(file).initialize().status == 200


def test_a_backend_that_is_switched_off_names_the_hosts_and_they_are_shown(
    toolcrib: Toolcrib, port: int, file: Path
) -> None:
    toolcrib(*WRITE, "--yes")
    assert "Cursor reaches nothing until it is on again" in toolcrib("backend", "off").stderr
    assert state(toolcrib)[0] == "endpoint off"
    refused = toolcrib(*WRITE, "--yes", code=1).stderr
    assert "The HTTP endpoint needs the backend, which is off" in refused
    toolcrib("backend", "on")
    assert state(toolcrib)[0] == "in sync"


def test_a_write_that_fails_leaves_the_endpoint_off(
    toolcrib: Toolcrib, port: int, file: Path
) -> None:
    twin = file.with_name("twin.json")
    os.link(file, twin)  # a file of two names is not written
    refused = toolcrib(*WRITE, "--yes", code=1).stderr
    assert "hard links" in refused
    assert file.read_text() == MINE and not status(toolcrib)["on"]


def test_a_port_that_is_taken_leaves_everything_as_it_was(
    toolcrib: Toolcrib, port: int, file: Path
) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        refused = toolcrib(*WRITE, "--yes", code=1).stderr
    assert f"Port {port} cannot be used" in refused
    assert file.read_text() == MINE and not status(toolcrib)["on"]


def test_the_endpoint_is_switched_on_again_where_the_file_is_right_already(
    toolcrib: Toolcrib, port: int, file: Path
) -> None:
    toolcrib(*WRITE, "--yes")
    written = file.read_bytes()
    toolcrib("backend", "http", "off")
    assert "Switch it on with" in toolcrib(*WRITE, code=4).stderr
    assert "in sync" in toolcrib(*WRITE, "--yes").stdout
    assert file.read_bytes() == written
    web = client(file)
    web.initialize()
    assert status(toolcrib)["on"]
