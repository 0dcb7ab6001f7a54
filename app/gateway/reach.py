"""toolcrib-gateway reach TRANSPORT URL -- COMMAND ARGS: a package that answers at a URL of its own.

It starts the command, waits until it listens on this machine's own address, and passes messages
between its own pipes and that URL. The command ends with it.
"""

import os
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.market.guards import own_url_problem
from app.system.processes import Tree, prepare, running, start, stop
from app.system.threads import start_thread
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO

USAGE = "usage: toolcrib-gateway reach http|sse URL -- COMMAND ARGS...\n"
_STARTS = 120.0  # seconds until it listens; it may be downloaded first
_POLL = 0.1
_GRACE = 2.0  # seconds that the command has to end


def run(words: "Sequence[str]") -> None:
    """Serve one session on stdin and stdout; raises SystemExit with a sentence where it cannot."""
    if len(words) < 4 or words[0] not in ("http", "sse") or words[2] != "--":
        raise SystemExit(USAGE)
    transport, url, command = words[0], words[1], words[3:]
    try:
        if problem := own_url_problem(url):
            raise ToolcribError(problem, "It is not started.")
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 0
        if _answers(host, port):
            raise ToolcribError(f"Port {port} is used by another program.", "End that one first.")
        # an address that many servers read, so that none listens to the whole network
        environ = {"HOST": "127.0.0.1", "FASTMCP_HOST": "127.0.0.1", **os.environ}
        process, tree = start(prepare(command[0], list(command[1:]), environ=environ))
        printed = [start_thread(_print, pipe) for pipe in (process.stdout, process.stderr)]
        try:
            if process.stdin is not None:
                process.stdin.close()
            _wait(tree, host, port)
            _pass_on(LaunchSpec(transport, url=url))
        finally:
            stop([tree], grace=0.0, term=_GRACE)
            for thread in printed:
                thread.join(_GRACE)
    except ToolcribError as error:
        raise SystemExit(error.text) from error


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), 1.0):
            return True
    except OSError:
        return False


def _wait(tree: Tree, host: str, port: int) -> None:
    """Wait until the command itself listens, and to this machine alone."""
    until = time.monotonic() + _STARTS
    rest = threading.Event()
    while not _answers(host, port):
        if tree.poll() is not None and not running(tree):
            raise ToolcribError("It exited before it listened.")
        if time.monotonic() > until:
            raise ToolcribError(f"It did not listen on port {port} within {_STARTS:g} s.")
        rest.wait(_POLL)
    addresses = _listening(tree, port)
    if not addresses:
        raise ToolcribError(f"Another program answers at port {port}.", "It was ended.")
    if any(not one.startswith(("127.", "::1", "::ffff:127.")) for one in addresses):
        raise ToolcribError(
            "It listens to the whole network, not to this machine alone.", "It was ended."
        )


def _listening(tree: Tree, port: int) -> set[str]:
    """Addresses at which processes of the command listen on a port."""
    import psutil

    addresses = set()
    for pid in running(tree):
        try:
            sockets = psutil.Process(pid).net_connections(kind="tcp")
        except psutil.Error:
            continue
        open_ = [one.laddr for one in sockets if one.status == psutil.CONN_LISTEN]
        addresses |= {one.ip for one in open_ if one and one.port == port}
    return addresses


def _pass_on(launch: LaunchSpec) -> None:
    """Pass lines both ways until either side ends."""
    import httpx2

    from app.mcp.http import RemoteChannel

    out, over = sys.stdout.buffer, threading.Event()

    def on_line(line: bytes) -> bool:
        out.write(line.rstrip(b"\n") + b"\n")
        out.flush()
        return True

    channel = RemoteChannel(
        launch, (), launch.transport, auth=None, transport_of=httpx2.AsyncHTTPTransport
    )
    channel.open(on_line, lambda _reason: over.set())
    start_thread(_read_host, channel.send, over)
    over.wait()
    channel.close(_GRACE)


def _read_host(send: "Callable[[bytes], None]", over: threading.Event) -> None:
    for line in _lines():
        send(line)
    over.set()


def _lines() -> "Iterator[bytes]":
    for line in sys.stdin.buffer:
        if not line.isspace():
            yield line.rstrip(b"\r\n")


def _print(pipe: "IO[bytes] | None") -> None:
    """Show on stderr what the command prints: its pipes carry no message."""
    if pipe is not None:
        with pipe:
            for line in pipe:
                sys.stderr.buffer.write(line)
                sys.stderr.flush()
