"""A backend that writes to the host: killed at any time, no line is lost, doubled or half."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
import raw_host

from app.gateway.backend import direct
from app.gateway.backend.adapter import LOST, Adapter
from app.gateway.backend.direct import DirectWay
from app.gateway.backend.handover import LONGEST, SLOTS, Handover

LINE = b'{"jsonrpc":"2.0","id":7,"result":{}}\n'
posix_only = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the adapter passes all")
pytestmark = posix_only


def ends(kind: str) -> tuple[int, int]:
    """(what the host reads, what is written to)."""
    if kind == "pipe":
        return os.pipe()
    one, two = socket.socketpair()
    return one.detach(), two.detach()


@pytest.fixture(params=["pipe", "socket"])
def host(request):
    read, write = ends(request.param)
    yield read, write
    for descriptor in (read, write):
        os.close(descriptor)


def at_hand(descriptor: int) -> bytes:
    """What can be read without waiting."""
    data = b""
    while select.select([descriptor], [], [], 0)[0] and (chunk := os.read(descriptor, 1 << 16)):
        data += chunk
    return data


def way(handover: Handover) -> DirectWay:
    """The backend's end, over descriptors of its own as they come through a socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        handover.give(ours)
        _, descriptors, _, _ = socket.recv_fds(theirs, 16, 8)
    return DirectWay(descriptors)


def die(*_args: object, **_options: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_after(step: str, backend: DirectWay, patch: pytest.MonkeyPatch) -> None:
    """Send a line in a process of its own that is killed at that step."""
    child = os.fork()
    if not child:
        real_write, real_splice = os.write, os.splice
        if step == "nothing":
            patch.setattr(direct.os, "write", die)
        elif step == "pipe":
            patch.setattr(direct.os, "write", lambda *a: (real_write(*a), die()))
        elif step == "noted":
            patch.setattr(direct.os, "splice", die)
        else:
            patch.setattr(direct.os, "splice", lambda *a, **k: (real_splice(*a, **k), die()))
        try:
            backend.send(LINE, 7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def read_and_die(backend: DirectWay, patch: pytest.MonkeyPatch, step: str) -> None:
    """Receive in a process of its own, which is killed once it has read, or has noted that too."""
    child = os.fork()
    if not child:
        real = os.readv
        if step == "read":
            patch.setattr(direct.os, "readv", lambda *a: (real(*a), die()))
        try:
            backend.receive()
        finally:
            die()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("step", ["read", "noted"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_whatever_a_killed_backend_had_read_of_the_host_is_there(step, kind, monkeypatch):
    read, write = ends(kind)
    handover = Handover((read, write))
    backend = way(handover)
    os.write(write, LINE)
    assert backend.receive() == LINE
    assert handover.requests() == LINE
    os.write(write, LINE + LINE[:9])
    read_and_die(backend, monkeypatch, step)
    os.write(write, LINE[9:])
    assert handover.last_requests() == LINE + LINE[:9]
    assert os.read(read, 4096) == LINE[9:], "what it never read waits for who comes next"
    handover.settle()
    backend.close()
    for descriptor in (read, write):
        os.close(descriptor)


def test_a_full_log_is_emptied_before_more_is_read():
    read, write = os.pipe()
    handover = Handover((read, write))
    backend = way(handover)
    taken: list[bytes] = []

    def keep_up() -> None:
        while handover.rung():
            taken.append(handover.requests())
            handover.empty()

    helper = threading.Thread(target=keep_up)
    helper.start()
    got = b""
    sent = b"".join(b"%06d\n" % number for number in range(100_000))
    feeder = threading.Thread(target=lambda: os.write(write, sent))
    feeder.start()
    while len(got) < len(sent):
        got += backend.receive() or b""
    feeder.join(20)
    backend.close()
    helper.join(20)
    assert not helper.is_alive() and len(taken) > 1
    assert got == sent and b"".join(taken) + handover.last_requests() == sent
    handover.settle()
    for descriptor in (read, write):
        os.close(descriptor)


@pytest.mark.parametrize("step", ["nothing", "pipe", "noted", "host"])
def test_whenever_it_is_killed_a_line_is_whole_and_noted_or_not_there_at_all(
    step, host, monkeypatch
):
    read, write = host
    handover = Handover((write, write))
    backend = way(handover)
    assert backend.send(LINE, 3)
    killed_after(step, backend, monkeypatch)
    left, numbers = handover.settle()
    received = at_hand(read) + left
    if step in ("nothing", "pipe"):
        assert (received, numbers) == (LINE, [3])
    else:
        assert (received, numbers) == (LINE * 2, [3, 7])
    backend.close()


def test_what_a_host_that_does_not_read_cannot_take_is_left_to_the_adapter(host):
    read, write = host
    handover = Handover((write, write))
    backend = way(handover)
    sent = 0
    while backend.send(LINE, sent + 1):
        sent += 1
    assert at_hand(read) == LINE * sent
    backend.skip()
    assert not backend.send(LINE, 9999), "it would overtake the line that the adapter has"
    handover.pass_on(1)
    assert backend.send(LINE, 0)
    assert at_hand(read) == LINE
    left, numbers = handover.settle()
    assert left == b"" and sorted(numbers) == list(range(1, sent + 1))
    backend.close()


def test_a_ring_that_nobody_looks_at_fills_and_goes_on_once_somebody_does(host):
    read, write = host
    handover = Handover((write, write))
    backend = way(handover)
    for number in range(1, len(SLOTS) + 1):
        assert backend.send(LINE, number)
        at_hand(read)
    assert not backend.send(LINE, 1000)
    assert handover.answered() == list(range(1, len(SLOTS) + 1))
    assert backend.send(LINE, 1001)
    assert handover.answered() == [1001]
    assert not backend.send(b"x" * (LONGEST + 1), 1002)
    handover.settle()
    backend.close()


def test_a_host_that_hung_up_is_noticed():
    read, write = os.pipe()
    handover = Handover((write, write))
    backend = way(handover)
    os.close(read)
    with pytest.raises(BrokenPipeError):
        backend.send(LINE, 1)
    backend.close()
    handover.settle()
    os.close(write)


def test_a_file_is_not_handed_over(tmp_path):
    with (tmp_path / "out").open("wb") as file, pytest.raises(OSError):
        Handover((file.fileno(), file.fileno()))


def test_half_an_answer_leaves_its_request_unanswered(place):
    ours, theirs = socket.socketpair()
    adapter = Adapter(place, [], ours)
    if adapter._handover is not None:  # not with the files that pytest captures into
        adapter._handover.settle()
        adapter._handover = None
    adapter._send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n')
    theirs.sendall(b'#1\n{"jsonrpc":"2.0","id":1,"resu')
    theirs.shutdown(socket.SHUT_WR)
    adapter._to_host(ours)
    assert list(adapter._unanswered) == [1]
    ours.close()
    theirs.close()


class TestWithRealProcesses:
    @pytest.fixture(autouse=True)
    def _stocked(self, encoderless, stocked):
        stocked({"probe": "ok"})

    def holds_host(self, backend, host: raw_host.RawHost) -> bool:
        """Whether the backend has the host's own pipe open."""
        pipe = f"pipe:[{os.fstat(host.process.stdout.fileno()).st_ino}]"
        links = Path(f"/proc/{backend.pid}/fd").iterdir()
        return any(str(link.readlink()) == pipe for link in links)

    def test_the_backend_lets_go_of_a_host_whose_adapter_is_killed(self, adapter, backends):
        host, other = adapter("--server", "probe"), adapter("--server", "probe")
        for one in (host, other):
            one.initialize()
        (backend,) = backends()
        assert self.holds_host(backend, host)
        host.process.kill()
        host.until(lambda: not host._reader.is_alive())  # it reads until the last end is closed
        assert other.call("echo", {"text": "b"})["content"][0]["text"] == "b"

    def test_long_and_short_answers_to_a_host_that_reads_late_keep_their_order(self, adapter, home):
        host = raw_host.RawHost(
            raw_host.gateway_command("--profile", "default", "--server", "probe"),
            {"TOOLCRIB_HOME": str(home), "TOOLCRIB_BACKEND_IDLE": "60"},
            reads=False,
        )
        try:
            hello = host.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
            long = [host.ask("tools/call", echo("x" * size)) for size in (5_000, 90_000) * 60]
            steps = [
                host.ask("tools/call", {"name": "progress", "_meta": {"progressToken": f"t{n}"}})
                for n in range(60)
            ]
            host.read()
            assert "result" in host.wait(hello)
            for number, size in zip(long, (5_000, 90_000) * 60, strict=True):
                assert host.wait(number)["result"]["content"][0]["text"] == "x" * size
            assert all("result" in host.wait(number) for number in steps)
            came = [json.loads(line) for line in host.lines]
            for n, number in enumerate(steps):
                assert [m for m in map(partial(step, f"t{n}", number), came) if m] == [
                    1,
                    2,
                    3,
                    "end",
                ]
            assert host.unsolicited == []
        finally:
            host.close()

    def test_calls_under_way_in_many_hosts_get_one_answer_each_when_it_is_killed(
        self, adapter, backends
    ):
        for _ in range(3):
            hosts = [adapter("--server", "probe") for _ in range(4)]
            for host in hosts:
                host.initialize()
                host.call("echo", {"text": "warm"})
            asked = [(h, h.ask("tools/call", echo(str(n)))) for n in range(50) for h in hosts]
            hosts[0].wait(asked[0][1])
            for backend in backends():
                backend.kill()
            for number, (host, request) in enumerate(asked[1:], 1):
                answer = host.wait(request)
                text = str(number // 4)
                assert LOST in str(answer) or answer["result"]["content"][0]["text"] == text
            for host in hosts:
                assert host.call("echo", {"text": "after"})["content"][0]["text"] == "after"
                assert host.unsolicited == []
                host.close()

    def test_a_host_that_wants_a_file_is_served(self, adapter, backends, home, tmp_path):
        adapter("--server", "probe").initialize()
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        with (tmp_path / "out").open("wb") as out:
            process = subprocess.Popen(
                raw_host.gateway_command("--profile", "default", "--server", "probe"),
                env={**os.environ, "TOOLCRIB_HOME": str(home)},
                stdin=subprocess.PIPE,
                stdout=out,
            )
            process.stdin.write(line("initialize", params))
            process.stdin.flush()
            raw_host.RawHost.until(None, lambda: (tmp_path / "out").read_bytes().endswith(b"\n"))
            process.stdin.close()
            assert process.wait(30) == 0
        assert b'"protocolVersion"' in (tmp_path / "out").read_bytes()


def echo(text: str) -> dict[str, object]:
    return {"name": "echo", "arguments": {"text": text}}


def step(token: str, number: int, message: dict[str, object]) -> object:
    """What a message is to that call: a step of its progress, its end, or None."""
    params = message.get("params", {})
    if params.get("progressToken") == token:
        return params["progress"]
    return "end" if message.get("id") == number else None


def line(method: str, params: dict[str, object]) -> bytes:
    return (
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
    )
