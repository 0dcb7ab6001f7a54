"""Eight hours in which nobody does anything, on a clock that the test moves."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import raw_host
from web_client import WebClient, free_port

from app.core.paths import Paths
from app.core.settings import Settings
from app.system.endpoint import endpoint_secret, token_of

ROOT = Path(__file__).parents[4]
MINUTE, HOUR = 60, 3_600
pytestmark = pytest.mark.usefixtures("encoderless")
Pass = Callable[[float], dict[str, Any]]
IDLE = {"gateway": {"server_idle_minutes": 30}}


@pytest.fixture
def hours(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Pass]]:
    """hours() starts the backend, and gives what lets seconds pass in it."""
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    monkeypatch.delenv("TOOLCRIB_BACKEND_IDLE", raising=False)
    started: list[subprocess.Popen[str]] = []

    def start() -> Pass:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "fakes" / "idle_backend.py")],
            env={**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline().strip() == str(process.pid)
        to, back = process.stdin, process.stdout

        def let_pass(seconds: float) -> dict[str, Any]:
            to.write(f"{seconds}\n")
            to.flush()
            return json.loads(back.readline())

        return let_pass

    yield start
    for process in started:
        process.communicate(timeout=60)


@pytest.fixture
def host(home: Path) -> Iterator[Callable[..., raw_host.RawHost]]:
    """host("--server", "alpha") is a host of that backend, through an adapter."""
    hosts: list[raw_host.RawHost] = []

    def start(*args: str) -> raw_host.RawHost:
        environ = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
        command = raw_host.gateway_command("--profile", "default", *args)
        hosts.append(raw_host.RawHost(command, environ))
        hosts[-1].initialize()
        return hosts[-1]

    yield start
    for one in hosts:
        one.close()


def until(holds: Callable[[], object]) -> None:
    limit = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)


def pid_of(host: raw_host.RawHost) -> int:
    return int(host.call("pid")["content"][0]["text"])


def test_eight_idle_hours_end_idle_servers_and_nothing_else(
    stocked: Callable[..., Path],
    hours: Callable[[], Pass],
    host: Callable[..., raw_host.RawHost],
    control: Callable[[str], dict[str, Any]],
) -> None:
    stocked({"alpha": "ok", "beta": "ok"}, IDLE)
    let_pass = hours()
    idle, watching = host("--server", "alpha"), host("--server", "beta")
    first, watched = pid_of(idle), pid_of(watching)
    watching.request("resources/subscribe", {"uri": "beta://doc/1"})
    assert not let_pass(29 * MINUTE)["over"]
    assert psutil.pid_exists(first)
    let_pass(2 * MINUTE)
    until(lambda: not psutil.pid_exists(first))
    assert pid_of(watching) == watched  # it waits for news of a resource
    early = let_pass(29 * MINUTE)
    late = let_pass(7 * HOUR)
    assert not late["over"]
    assert late["megabytes"] < early["megabytes"] + 5
    assert late["threads"] <= early["threads"] and late["descriptors"] <= early["descriptors"]
    assert pid_of(watching) == watched
    assert pid_of(idle) != first and idle.call("echo", {"text": "on"})["content"][0]["text"] == "on"
    assert [session["host"] for session in control("status")["sessions"]] == ["raw-host"] * 2


def test_five_minutes_after_the_last_host_it_ends(
    stocked: Callable[..., Path],
    hours: Callable[[], Pass],
    host: Callable[..., raw_host.RawHost],
    control: Callable[[str], dict[str, Any]],
) -> None:
    stocked({"alpha": "ok"})
    let_pass = hours()
    last = host("--server", "alpha")
    server = pid_of(last)
    assert not let_pass(8 * HOUR)["over"] and pid_of(last) == server
    last.close()
    until(lambda: not control("status")["sessions"])
    assert not psutil.pid_exists(server)
    assert not let_pass(290)["over"]
    assert let_pass(20)["over"]


def test_over_http_a_forgotten_session_ends_and_the_process_stays(
    stocked: Callable[..., Path],
    hours: Callable[[], Pass],
    home: Path,
    control: Callable[[str], dict[str, Any]],
) -> None:
    stocked({"alpha": "ok"})
    port = free_port()
    Settings(http=True, http_port=port).save(home / "settings.toml")
    token = token_of(endpoint_secret(Paths(home, home / "models")), "default")
    let_pass = hours()
    let_pass(10)
    web = WebClient(port, token, "/mcp/default/alpha")
    web.initialize()
    server = int(web.call("pid").text)
    assert not let_pass(25 * MINUTE)["over"] and int(web.call("pid").text) == server
    with web.stream("GET"):
        assert not let_pass(2 * HOUR)["over"]  # a stream is open: somebody is there
        assert psutil.pid_exists(server)
    until(lambda: not let_pass(31 * MINUTE)["over"] and not control("status")["sessions"])
    until(lambda: not psutil.pid_exists(server))
    assert web.call("pid").status == 404
    assert not let_pass(8 * HOUR)["over"]
    Settings(http_port=port).save(home / "settings.toml")
    let_pass(10)
    assert let_pass(310)["over"]
