"""A gateway that is a process of its own: one host on stdin and stdout, ended with it."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence

from app.gateway.environment import GatewayEnvironment
from app.gateway.gateway import Gateway
from app.gateway.options import parse
from app.gateway.serving.host import Host
from app.mcp.session import CONFIGURED
from app.system.ending import end_waiter
from app.system.native import native
from app.system.threads import start_thread
from store.typed import Json

_TICK = 1.0
_SWITCH = 0.0005  # seconds; at Python's 0.005 a message waits that long for a busy thread


class _Resumed(Host):
    """A host that has the first answers already: a backend gave them before it ended."""

    def __init__(self, descriptor: int, answered: int) -> None:
        super().__init__(descriptor)
        self._muted = answered

    def respond(self, host_id: object, answer: Json, line: bytes = b"") -> None:
        """Answer, unless the host was answered before."""
        if self._muted > 0:
            self._muted -= 1
            self.forget(host_id)
        else:
            super().respond(host_id, answer, line)


def serve_alone(
    argv: Sequence[str],
    lines: Iterator[bytes],
    *,
    answered: int = 0,
    movable: Callable[[Callable[[], bool], Callable[[], None]], None] | None = None,
) -> None:
    """Serve until the lines end; never returns before every server is gone, then ends the process.

    `answered` of the first lines are repeated for a host that has their answers already.
    `movable` learns when the process may become another program, and what to call before.
    """
    sys.setswitchinterval(_SWITCH)
    out = os.dup(1)
    os.dup2(2, 1)  # a stray print must not reach the host
    host = _Resumed(out, answered) if answered else Host(out)
    gateway = Gateway(parse(argv), host, GatewayEnvironment())
    if movable is not None:

        def leave() -> None:
            gateway.journal.close()
            os.dup2(out, 1)

        movable(lambda: all(u.state == CONFIGURED for u in gateway.upstreams()), leave)
    stop_requested = end_waiter()
    watch = (gateway, host, stop_requested, os.getppid())
    start_thread(_watch, *watch)
    try:
        gateway.run(lines)
    except SystemExit:
        pass
    finally:
        gateway.close()
        os._exit(0)  # readers may be blocked on pipes of processes that are gone


def _watch(
    gateway: Gateway, host: Host, stop_requested: Callable[[float], bool], parent: int
) -> None:
    """Once a second: end the process when the host is gone or a signal says so."""
    while True:
        if stop_requested(_TICK) or host.gone or native.parent_gone(parent):
            gateway.close()
            os._exit(0)
        gateway.tick()
