"""A started server's three pipes: lines in and out, and the last it printed on stderr."""

import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import IO

from app.mcp.limits import JUNK_BYTES, JUNK_LINES, Bounds
from app.system.processes import PreparedCommand, Tree, cpu_seconds, running, start, stop
from app.system.threads import start_thread

_TAIL = 16_384  # characters of stderr; twice as much is kept, for secrets at its beginning
_TAIL_LINES = 40
_LONGEST_LINE = 300  # characters of what is quoted in a sentence
_BYTE_SECONDS = 1e-4  # of CPU that count as a sign of life, for each byte of output
_EXIT_SECONDS = 0.5
_IDLE_SECONDS = 0.5  # a server that rests this long after its stdin was closed will not exit
_TERM_SECONDS = 2.0
_DISCARDED = 262_144  # bytes at once
# below an error Node prints frames, the error's fields and its own version; npm where its log is
_BELOW = re.compile(
    r"(?:Node\.js v\d|at |[\[\]{}(),;^ ]+$|Require stack:|- /|node:internal/"
    r"|(?:code|errno|syscall|path|requireStack|url): "
    r"|npm (?:notice|warn)|npm (?:ERR!|error)\s*(?:A complete log|$|/)"
    r"|(?i:usage)\b|(?i:try|run|see) .{0,80}(?:--help|-h\b)|[^\w\s]{3}|(?i:error) [^\w\s]{3}"
    r"|(?:Emitted 'error' event|Traceback \(|During handling|The above exception))"
)
_ERROR = re.compile(
    r"^[\w.$]*(?:Error|Exception)\b|(?i:\b(?:error|fatal|panic|exception)\b[\]\[\w() ]{0,20}:)"
)
_FRAME = " \t|+*#=-" + "".join(map(chr, range(0x2500, 0x2580)))  # what boxes are drawn with
_BORDER = re.compile(r"\s*(?:[\u250c\u256d\u2554\u2514\u2570\u255a]|\+[-=])")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class StdioChannel:
    """A child process that speaks one JSON message a line."""

    def __init__(
        self,
        prepared: PreparedCommand,
        secrets: Iterable[str] = (),
        *,
        bounds: Bounds | None = None,
    ) -> None:
        self.fault = False
        self.junk_lines = 0
        self._junk = b""  # the last of them
        self._prepared = prepared
        self._secrets = tuple(secrets)
        self._bounds = bounds or Bounds()
        self._process: subprocess.Popen[bytes] | None = None
        self._tree: Tree | None = None
        self._stderr = b""
        self._received = 0  # bytes on both pipes
        self._backlog: deque[bytes] = deque()
        self._lock = threading.RLock()  # taken at each message: a condition's own way costs more
        self._writing = threading.Condition(self._lock)
        self._pump: threading.Thread | None = None
        self._stdin: IO[bytes] | None = None
        self._at_once = False  # whether a full pipe says so instead of waiting
        self._error_reader: threading.Thread | None = None
        self._closing = False

    def open(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        """Start the process and its readers; raises ToolcribError when it cannot be started."""
        self._process, self._tree = start(self._prepared)
        if self._process.stdin is not None:
            self._stdin = self._process.stdin
            self._at_once = _without_waiting(self._stdin)
        self._error_reader = start_thread(self._read_errors)
        start_thread(self._read, on_line, on_end)

    def send(self, line: bytes) -> None:
        """Write at once where that cannot block, else leave it to a thread of this server."""
        data = line + b"\n"
        with self._lock:
            left = data if self._backlog else self._write_now(data)
            if left:
                self._backlog.append(left)
                if self._pump is None:
                    self._pump = start_thread(self._write_backlog, self._stdin)
                self._writing.notify()

    def _write_now(self, data: bytes) -> bytes:
        """Write without waiting and return the bytes that the pipe did not take."""
        if self._stdin is None or self._closing:
            return b""  # the pipe is closed
        if not self._at_once:
            return data
        try:
            return data[os.write(self._stdin.fileno(), data) :]
        except BlockingIOError:
            return data
        except (OSError, ValueError):
            return b""  # the reader notices that the process is gone

    def _write_backlog(self, stdin: IO[bytes]) -> None:
        while True:
            with self._writing:
                while not self._backlog:
                    if self._closing:
                        return
                    self._writing.wait()
                data = self._backlog[0]
            try:
                view = memoryview(data)
                while view:
                    view = view[_write_some(stdin, view) :]
            except (OSError, ValueError):
                return
            with self._writing:
                self._backlog.popleft()

    def _read(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        reason = ""
        try:
            reason = self._read_lines(process.stdout, on_line)
        finally:  # whatever happens, those who wait learn that reading has ended
            self.fault = bool(reason)
            on_end(reason or self._end_reason())
            start_thread(self.close, 0.0)  # its children may still run
            with suppress(OSError, ValueError):
                while os.read(process.stdout.fileno(), _DISCARDED):
                    pass  # a server that blocks on a full pipe cannot exit
            process.stdout.close()

    def _read_lines(self, stdout: IO[bytes], on_line: Callable[[bytes], bool]) -> str:
        """Hand lines on until the end; why it is the end, "" when the server says no more."""
        bounds, received = self._bounds, 0
        junk_lines = junk_bytes = 0
        while line := stdout.readline(bounds.message):
            size = len(line)
            received += size
            self._received += size
            if size >= bounds.message:
                return f"sent a line of over {bounds.message:,} bytes"
            if received > bounds.total:
                return f"sent over {bounds.total:,} bytes"
            if line.isspace():
                continue
            if on_line(line):
                junk_lines = junk_bytes = 0
                continue
            self.junk_lines += 1
            self._junk = line[: 2 * _LONGEST_LINE]  # is cut when its secrets are hidden
            junk_lines, junk_bytes = junk_lines + 1, junk_bytes + size
            if junk_lines > JUNK_LINES or junk_bytes > JUNK_BYTES:
                return "flooded its output with lines that are no messages"
        return ""

    def _end_reason(self) -> str:
        process = self._process
        code: int | None = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(_EXIT_SECONDS)
        if self._error_reader is not None:
            self._error_reader.join(_EXIT_SECONDS)
        if code is None:
            return "closed its output"
        return f"exited with code {code}" if code >= 0 else f"was ended by signal {-code}"

    def _read_errors(self) -> None:
        process = self._process
        if process is None or process.stderr is None:
            return
        while True:
            try:
                chunk = os.read(process.stderr.fileno(), 65536)
            except OSError:
                chunk = b""
            if not chunk:
                process.stderr.close()
                return
            self._received += len(chunk)
            self._stderr = (self._stderr + chunk)[-2 * _TAIL :]

    def progress(self) -> float:
        """CPU seconds of the tree, and what was read."""
        cpu = cpu_seconds(self._tree) if self._tree else 0.0
        return cpu + self._received * _BYTE_SECONDS

    def ended(self) -> bool:
        """True if the first process has exited, even if a child keeps its pipes open."""
        return self._process is not None and self._process.poll() is not None

    def last_line(self) -> str:
        """The line that says why, redacted: of stderr (see `cause`), else of stdout."""
        printed = self.printed() or self.redacted(self._junk.decode("utf-8", "replace"))
        return cause(printed)[:_LONGEST_LINE]

    def last_sentence(self) -> str:
        """The last line as a sentence."""
        line = self.last_line()
        return f"It last printed: {line}" if line else ""

    def printed(self) -> str:
        """The last 40 lines of stderr, at most 16 kB, without colours, redacted."""
        text = _ANSI.sub("", self._stderr.decode("utf-8", "replace")).replace("\r", "")
        lines = [line.rstrip() for line in self.redacted(text)[-_TAIL:].split("\n")]
        return "\n".join([line for line in lines if line][-_TAIL_LINES:])

    def redacted(self, text: str) -> str:
        """A text of the server without secrets."""
        from app.core.logs import redact  # logging is not needed while all goes well

        return redact(text, self._secrets)

    def pids(self) -> tuple[int, ...]:
        """The server's process and everything it started."""
        return running(self._tree) if self._tree is not None else ()

    def close(self, grace: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """Close stdin, wait `grace` s, then end the whole tree; safe to call twice."""
        with self._writing:
            self._closing = True
            self._writing.notify_all()
        if self._tree is not None:
            stop([self._tree], grace=grace, term=_TERM_SECONDS, idle=_IDLE_SECONDS, hurry=hurry)


def cause(printed: str) -> str:
    """The line of a log that says what went wrong: the last that calls itself an error.

    Else the last one that is not what runtimes, help texts and frames print below it.
    """
    lines = [
        line.strip(_FRAME) for line in reversed(printed.splitlines()) if not _BORDER.match(line)
    ]
    lines = [line for line in lines if line]
    useful = [line for line in lines if not _BELOW.match(line)]
    errors = (line for line in useful if _ERROR.search(line))
    return next(errors, "") or next(iter([*useful, *lines]), "")


def _without_waiting(stdin: IO[bytes]) -> bool:
    """Let writes to the pipe fail where they would wait; False where pipes cannot (Windows)."""
    if sys.platform != "win32":
        os.set_blocking(stdin.fileno(), False)
    return sys.platform != "win32"


def _write_some(stdin: IO[bytes], view: memoryview) -> int:
    """Write to the pipe and return the number of bytes taken; waits while it is full."""
    try:
        return os.write(stdin.fileno(), view)
    except BlockingIOError:
        _wait_for_room(stdin)
        return 0


def _wait_for_room(stdin: IO[bytes]) -> None:
    """Wait until the pipe takes more, or has no reader."""
    if sys.platform != "win32":
        import select

        poller = select.poll()
        poller.register(stdin.fileno(), select.POLLOUT)
        poller.poll()
