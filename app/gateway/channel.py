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

from app.processes import Prepared, Tree, cpu_seconds, start, stop

MAX_LINE = 128 * 1024 * 1024  # bytes; a longer line ends the server
MAX_JUNK_LINES = 20_000  # in a row that are no messages
MAX_JUNK_BYTES = 64 * 1024 * 1024
_TAIL_BYTES = 4096
_EXIT_SECONDS = 0.5
_IDLE_SECONDS = 0.5  # a server that rests this long after its stdin was closed will not exit
_LONGEST_SAID = 300  # characters
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # colours


class StdioChannel:
    """A child process that speaks one JSON message a line."""

    def __init__(self, prepared: Prepared, secrets: Iterable[str] = ()) -> None:
        self._prepared = prepared
        self._secrets = tuple(secrets)
        self._process: subprocess.Popen[bytes] | None = None
        self._tree: Tree | None = None
        self._stderr: deque[bytes] = deque()
        self._stderr_size = 0
        self._seen = 0  # bytes read on both pipes
        self._backlog: deque[bytes] = deque()
        self._writing = threading.Condition()
        self._pump: threading.Thread | None = None
        self._stdin: IO[bytes] | None = None
        self._at_once = False  # whether a full pipe says so instead of waiting
        self._error_reader: threading.Thread | None = None
        self._closing = False
        self._reason = ""

    def open(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        """Start the process and its readers; raises ToolcribError when it cannot be started."""
        self._process, self._tree = start(self._prepared)
        if self._process.stdin is not None:
            self._stdin = self._process.stdin
            self._at_once = _without_waiting(self._stdin)
        self._error_reader = _thread(self._read_errors)
        _thread(self._read, on_line, on_end)

    def send(self, line: bytes) -> None:
        """Write at once where that cannot block, else leave it to a thread of this server."""
        data = line + b"\n"
        with self._writing:
            left = data if self._backlog else self._write_now(data)
            if left:
                self._backlog.append(left)
                if self._pump is None:
                    self._pump = _thread(self._write_backlog, self._stdin)
                self._writing.notify()

    def _write_now(self, data: bytes) -> bytes:
        """What the pipe does not take at once."""
        if self._stdin is None or self._closing:
            return b""  # nobody reads any more
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
        junk_lines = junk_bytes = 0
        while True:
            line = process.stdout.readline(MAX_LINE)
            if not line:
                break
            self._seen += len(line)
            if len(line) >= MAX_LINE:
                self._reason = f"sent a line of more than {MAX_LINE // 1024 // 1024} MB"
                break
            if line.isspace():
                continue
            if on_line(line):
                junk_lines = junk_bytes = 0
                continue
            junk_lines, junk_bytes = junk_lines + 1, junk_bytes + len(line)
            if junk_lines > MAX_JUNK_LINES or junk_bytes > MAX_JUNK_BYTES:
                self._reason = "flooded its output with lines that are no messages"
                break
        process.stdout.close()
        on_end(self._end_reason())

    def _end_reason(self) -> str:
        if self._reason:
            self._kill_later()
            return self._reason
        process = self._process
        code: int | None = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(_EXIT_SECONDS)
        if self._error_reader is not None:
            self._error_reader.join(_EXIT_SECONDS)
        self._kill_later()  # its children may still run
        if code is None:
            return "closed its output"
        return f"exited with code {code}" if code >= 0 else f"was ended by signal {-code}"

    def _kill_later(self) -> None:
        _thread(self.close, 0.0)

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
            self._seen += len(chunk)
            self._stderr.append(chunk[-_TAIL_BYTES:])
            self._stderr_size += len(self._stderr[-1])
            while self._stderr_size - len(self._stderr[0]) >= _TAIL_BYTES:
                self._stderr_size -= len(self._stderr.popleft())

    def progress(self) -> float:
        """CPU seconds of the tree, and bytes read."""
        return self._seen + (cpu_seconds(self._tree) if self._tree else 0.0)

    def ended(self) -> bool:
        """Whether the first process has exited, even if a child keeps its pipes open."""
        return self._process is not None and self._process.poll() is not None

    def said(self) -> str:
        """The last line of stderr that says something, as a sentence, redacted."""
        lines = [line.strip() for line in self.printed().splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return f"It last printed: {last[:_LONGEST_SAID]}" if last else ""

    def printed(self) -> str:
        """The last 4 kB of stderr, redacted."""
        from app.logs import redact  # logging is not needed while all goes well

        text = b"".join(self._stderr)[-_TAIL_BYTES:].decode("utf-8", "replace")
        return _ESCAPES.sub("", redact(text, self._secrets))

    def close(self, grace: float) -> None:
        """Close stdin, wait `grace` s, then end the whole tree; safe to call twice."""
        with self._writing:
            self._closing = True
            self._writing.notify_all()
        if self._tree is not None:
            stop([self._tree], grace=grace, term=1.0, idle=_IDLE_SECONDS)


def _thread(target: Callable[..., object], *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def _without_waiting(stdin: IO[bytes]) -> bool:
    """Let writes to the pipe fail where they would wait; False where pipes cannot (Windows)."""
    if sys.platform == "win32":
        return False
    os.set_blocking(stdin.fileno(), False)
    return True


def _write_some(stdin: IO[bytes], view: memoryview) -> int:
    """How much the pipe took; waits while it is full."""
    try:
        return os.write(stdin.fileno(), view)
    except BlockingIOError:
        _wait_for_room(stdin)
        return 0


def _wait_for_room(stdin: IO[bytes]) -> None:
    """Until the pipe takes more, or nobody reads it."""
    if sys.platform != "win32":
        import select

        poller = select.poll()
        poller.register(stdin.fileno(), select.POLLOUT)
        poller.poll()
