"""However the gateway ends, every process it started is gone within five seconds."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from raw_host import RawHost, gateway_command, text

pytestmark = pytest.mark.usefixtures("encoderless")


def family(stocked, gateway):
    stocked({"kin": "family"})
    host = gateway()
    host.initialize()
    assert text(host.run("kin/echo", {"text": "x"})) == "x"
    tree = host.until(lambda: len(host.tree()) >= 3 and host.tree())
    return host, tree


def assert_gone(processes, began):
    _, alive = psutil.wait_procs(processes, timeout=max(0.1, 5 - (time.monotonic() - began)))
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def test_closing_stdin_ends_stubborn_and_escaped_children(stocked, gateway):
    host, tree = family(stocked, gateway)
    began = time.monotonic()
    host.close()
    assert_gone(tree, began)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_sigterm_ends_them_too(stocked, gateway):
    host, tree = family(stocked, gateway)
    began = time.monotonic()
    host.process.send_signal(signal.SIGTERM)
    assert_gone([*tree, psutil.Process(host.process.pid)], began)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_signal_that_comes_with_an_answer_is_not_missed(stocked, gateway):
    """Ten times, since it was missed once in five on a busy machine."""
    stocked({"probe": "ok"})
    for _ in range(10):
        host = gateway()
        host.initialize()
        host.run("probe/echo", {"text": "x"})
        host.process.send_signal(signal.SIGTERM)
        host.process.wait(5)


def test_a_server_that_exits_by_itself_costs_no_time(stocked, gateway):
    stocked({"probe": "ok"})
    host = gateway()
    host.initialize()
    host.run("probe/echo", {"text": "x"})
    assert host.close() < 1.5


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_host_that_is_killed_leaves_nothing_behind(stocked, home, tmp_path):
    """The host dies while another process keeps the pipe open, so there is no end of input."""
    stocked({"kin": "family"})
    fifo = tmp_path / "in"
    os.mkfifo(fifo)
    out = tmp_path / "out"
    out.touch()
    script = (
        "import subprocess, sys, time\n"
        "inp, out = open(sys.argv[1], 'rb', buffering=0), open(sys.argv[2], 'wb')\n"
        "subprocess.Popen(sys.argv[3:], stdin=inp, stdout=out)\n"
        "time.sleep(600)\n"
    )
    env = {**os.environ, "TOOLCRIB_HOME": str(home)}
    host = subprocess.Popen(
        [sys.executable, "-c", script, str(fifo), str(out), *gateway_command()], env=env
    )
    try:
        with fifo.open("wb", buffering=0) as pipe:
            pipe.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
            pipe.write(
                b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"call_tool",'
                b'"arguments":{"name":"kin/echo","arguments":{"text":"x"}}}}\n'
            )
            deadline = time.monotonic() + 20
            while b'"id":2' not in out.read_bytes() and time.monotonic() < deadline:
                time.sleep(0.05)
            tree = psutil.Process(host.pid).children(recursive=True)
            assert len(tree) >= 4
            host.kill()
            host.wait()
            assert_gone(tree, time.monotonic())
    finally:
        host.kill()
        host.wait()


def test_wrong_options_are_refused_with_the_usage(home):
    for wrong in (["--what"], ["--profile"], ["--", "cmd"]):
        done = subprocess.run(gateway_command(*wrong), capture_output=True, timeout=20)
        assert done.returncode == 1 and b"usage: toolcrib-gateway" in done.stderr


def test_many_calls_at_once_are_all_answered(stocked, gateway):
    stocked({"probe": "ok"})
    host: RawHost = gateway()
    host.initialize()
    asked = {
        host.ask(
            "tools/call",
            {
                "name": "call_tool",
                "arguments": {"name": "probe/echo", "arguments": {"text": str(n)}},
            },
        ): str(n)
        for n in range(200)
    }
    assert {text(host.wait(i)["result"]) for i in asked} == set(asked.values())
