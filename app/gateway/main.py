"""toolcrib-gateway: what a host starts instead of its servers.

toolcrib-gateway --profile NAME [--server NAME] [-- COMMAND ARGS...]
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType

from app.gateway.broken import Broken
from app.gateway.catalog import Shelf, UnavailableError
from app.gateway.front import Front, Links
from app.gateway.host import Host
from app.gateway.journal import Journal
from app.gateway.loop import Loop
from app.home import DATABASE, home_folder
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from app.paths import Paths

USAGE = "usage: toolcrib-gateway --profile NAME [--server NAME] [-- COMMAND ARGS...]\n"
_GRACE = 2.0  # seconds that a server has to exit after its stdin was closed
_TICK = 1.0
_SWITCH = 0.0005  # seconds; at Python's 0.005 a message waits that long for a busy thread


class Options:
    """The command line."""

    __slots__ = ("command", "profile", "server")

    def __init__(self, profile: str, server: str, command: Sequence[str]) -> None:
        self.profile = profile
        self.server = server
        self.command = tuple(command)


def parse(argv: Sequence[str]) -> Options:
    """The options; raises SystemExit with what is wrong."""
    words = list(argv)
    command: list[str] = []
    if "--" in words:
        cut = words.index("--")
        words, command = words[:cut], words[cut + 1 :]
    found = {"--profile": "default", "--server": ""}
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in found or (not equals and not words):
            raise SystemExit(USAGE)
        found[name] = value if equals else words.pop(0)
    if command and not found["--server"]:
        raise SystemExit(USAGE + "A command after -- needs --server NAME.\n")
    return Options(found["--profile"], found["--server"], command)


class Gateway:
    """Everything of one run: built here, given to the parts."""

    def __init__(self, options: Options, out: int) -> None:
        self._options = options
        self._host = Host(out)
        self._shelf = Shelf(os.path.join(home_folder(), DATABASE), options.profile)
        journal = Journal(
            self._open_store, profile=options.profile, session=_session_id(), keep=_events_kept
        )
        self._links = Links(self._host, self._shelf, journal)
        self._front: Front | None = None
        self._closing = threading.Lock()

    def _open_store(self):  # type: ignore[no-untyped-def]
        from store.connection import open_store

        return open_store(self._shelf.database)

    def front(self) -> Front:
        """The way of serving; tried anew as long as the store cannot be read."""
        if self._front is None or isinstance(self._front, Broken):
            try:
                self._shelf.open()
                self._front = self._make()
            except UnavailableError as error:
                self._front = Broken(self._links, self._options.server, str(error))
        return self._front

    def _make(self) -> Front:
        name = self._options.server
        if name:
            from app.gateway.launching import launcher
            from app.gateway.pruned import Pruned

            row = self._shelf.servers.get(name)
            if row is None and not self._options.command:
                raise UnavailableError(
                    f"Toolcrib's profile {self._options.profile} has no server called {name}."
                    " Export the host's file again."
                )
            return Pruned(self._links, name, launcher(row, self._options.command, _paths))
        from app.gateway.through import Through

        return Through(self._links, _paths)

    def run(self, read: Callable[[], bytes]) -> None:
        """Serve until the host closes its end."""
        Loop(self._links, self.front).run(iter(read, b""))

    def tick(self, told_to_end: Callable[[float], bool], parent: int) -> None:
        """Once a second: notice a host that is gone, servers that are, and changed ticks.

        Ends the process when the host is gone or a signal says so.
        """
        while True:
            if told_to_end(_TICK) or self._host.gone or parent_gone(parent):
                self.close()
                os._exit(0)
            if self._front is not None:
                self._front.tick()
                for upstream in self._front.upstreams():
                    upstream.check()

    def close(self) -> None:
        """End every server and write what the journal still holds; only once."""
        with self._closing:
            if self._front is not None:
                upstreams = self._front.upstreams()
                if upstreams:
                    from app.gateway.upstream import close_all

                    close_all(upstreams, _GRACE)
            self._links.journal.close()


def _paths() -> "Paths":
    from app.paths import Paths

    return Paths.default()


def _events_kept() -> int:
    from app.errors import ToolcribError
    from app.settings import Settings

    try:
        return max(1_000, Settings.load(_paths().settings_file).events_kept)
    except ToolcribError:  # which the window shows
        return Settings().events_kept


def _session_id() -> str:
    return os.urandom(6).hex()


def parent_gone(parent: int) -> bool:
    """Whether the process that started us has ended."""
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x00100000, False, parent)
        if not handle:
            return True
        gone = ctypes.windll.kernel32.WaitForSingleObject(handle, 0) == 0
        ctypes.windll.kernel32.CloseHandle(handle)
        return bool(gone)
    return os.getppid() != parent


def _signals() -> Callable[[float], bool]:
    """What waits that many seconds for a signal to end, and says whether there was one.

    Python runs handlers on the main thread, which may sit in a read with one still unrun (3.11
    forgets it when threads switch); the interpreter's C handler writes to the pipe at once.
    """
    names = [name for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    if sys.platform == "win32":  # pipes cannot be waited for there; signals interrupt the read
        for name in names:
            signal.signal(getattr(signal, name), _leave)
        return lambda seconds: threading.Event().wait(seconds)
    import select

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for name in names:
        signal.signal(getattr(signal, name), _noted)
    return lambda seconds: bool(select.select([reader], [], [], seconds)[0])


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The byte in the pipe does the rest."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the gateway on stdin and stdout; never returns before every server is gone."""
    options = parse(sys.argv[1:] if argv is None else argv)
    sys.setswitchinterval(_SWITCH)
    out = os.dup(1)
    os.dup2(2, 1)  # a stray print must not reach the host
    gateway = Gateway(options, out)
    threading.Thread(target=gateway.tick, args=(_signals(), os.getppid()), daemon=True).start()
    try:
        gateway.run(sys.stdin.buffer.readline)
    except SystemExit:
        pass
    finally:
        gateway.close()
        os._exit(0)  # readers may be blocked on pipes of processes that are gone


if __name__ == "__main__":
    main()
