"""The pipes of a started server: a server that is busy holds nobody up, and loses nothing."""

import os
import signal
import sys
import threading

import pytest

from app.mcp.stdio import StdioChannel
from app.system.processes import prepare

ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n"
LAST = b"[5000]"


@pytest.fixture
def echo():
    """A channel to a program that repeats every line, what it said, and when that was all."""
    channel = StdioChannel(prepare(sys.executable, ["-S", "-E", "-u", "-c", ECHO]))
    said, done = [], threading.Event()

    def on_line(line):
        said.append(line.rstrip())
        if said[-1] == LAST:
            done.set()
        return True

    channel.open(on_line, lambda _reason: done.set())
    yield channel, said, done
    channel.close(1.0)


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be halted there")
def test_lines_for_a_server_that_does_not_read_wait_in_order(echo):
    channel, said, done = echo
    os.kill(channel._process.pid, signal.SIGSTOP)
    lines = [b"[%d]" % n if n % 3 else b"[%d, %b]" % (n, b"1," * 3000 + b"1") for n in range(300)]
    for line in lines:
        channel.send(line)  # 600 kB; a pipe holds 64
    assert said == []
    os.kill(channel._process.pid, signal.SIGCONT)
    channel.send(LAST)
    assert done.wait(20)
    assert said == [*lines, LAST]


def test_a_server_that_is_gone_is_no_error_for_who_sends(echo):
    channel, _said, done = echo
    channel._process.kill()
    assert done.wait(10)
    for size in (10, 100_000):
        channel.send(b"x" * size)
    assert channel.ended()
