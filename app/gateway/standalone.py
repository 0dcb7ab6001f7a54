"""A gateway that is a process of its own: one host on stdin and stdout, ended with it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from app.gateway.gateway import Gateway
from app.gateway.options import parse
from app.gateway.outside import Outside
from app.gateway.serving.host import Host
from app.mcp.session import CONFIGURED
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
    gateway = Gateway(parse(argv), host, Outside())
    if movable is not None:

        def leave() -> None:
            gateway.journal.close()
            os.dup2(out, 1)

        movable(lambda: all(u.state == CONFIGURED for u in gateway.upstreams()), leave)
    stop_requested = _signals()
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
        if stop_requested(_TICK) or host.gone or parent_gone(parent):
            gateway.close()
            os._exit(0)
        gateway.tick()


def parent_gone(parent: int) -> bool:
    """True if the process that started us has ended."""
    if sys.platform == "win32":
        from app.system.windows import has_ended

        gone = has_ended(parent)
    else:
        gone = os.getppid() != parent
    return gone


def _signals() -> Callable[[float], bool]:
    """Return a function that waits that many seconds for a signal to end; True if one came.

    Python runs handlers on the main thread, which may sit in a read with one still unrun (3.11
    forgets it when threads switch); the interpreter's C handler writes to the pipe at once.
    """
    names = [name for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    if sys.platform == "win32":  # pipes cannot be waited for there; signals interrupt the read
        for name in names:
            signal.signal(getattr(signal, name), _leave)

        def wait(seconds: float) -> bool:
            return threading.Event().wait(seconds)

    else:
        import select

        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for name in names:
            signal.signal(getattr(signal, name), _noted)

        def wait(seconds: float) -> bool:
            return bool(select.select([reader], [], [], seconds)[0])

    return wait


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The byte in the pipe does the rest."""
