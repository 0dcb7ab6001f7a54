"""A stdio server as a pair of message streams: a marked process tree, limits, a stderr tail."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

import anyio
from anyio import from_thread, to_thread
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from app import processes
from app.discovery.lines import Lines, LineTooLongError, Tail, messages
from app.discovery.reading import Limits
from app.hosts.launch import LaunchSpec

_CHUNK = 262_144
_TERM_SECONDS = 2.0
_HURRY_SECONDS = 0.5  # the grace of a server that is stopped before it was read
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
_LIST_CHANGED = "notifications/tools/list_changed"


class Pipe:
    """A running server; `fault` says what ended the conversation when it was not its exit."""

    def __init__(self, process: Process, tree: processes.Tree, limits: Limits, tail: Tail) -> None:
        self.process = process
        self.tree = tree
        self.tail = tail
        self.fault = ""
        self.ended = False  # nothing more will be answered
        self.junk_lines = 0
        self.received = 0  # bytes on stdout
        self.list_changes = 0
        self._limits = limits
        self._in, self.read = _stream(100)
        self.write, self._out = _stream(0)
        self._closing = False
        self._errors_ended = anyio.Event()

    def progress(self) -> float:
        """A figure that grows while the server works: CPU seconds and megabytes."""
        return processes.cpu_seconds(self.tree) + self.received / 1e6

    async def exit_code(self, seconds: float = 2.0) -> int | None:
        """The exit code of a server that has closed its output, None when it still runs."""
        with anyio.move_on_after(seconds):
            while self.process.returncode is None:
                await anyio.sleep(0.01)
        return self.process.returncode

    async def errors_read(self, seconds: float = 0.5) -> None:
        """Wait for the end of stderr, which an escaped child may keep open."""
        with anyio.move_on_after(seconds):
            await self._errors_ended.wait()

    async def read_output(self) -> None:
        """Pass messages on until the output ends; after a fault or the end only drain it."""
        lines = Lines(self._limits.message_bytes)
        async with self._in:
            with suppress(*_GONE):
                while not self._closing and not self.fault:
                    await self._take(await self._receive(), lines)
            self.ended = True
        with suppress(*_GONE):
            while True:  # a server that blocks on a full pipe cannot exit
                await self._receive()

    async def read_errors(self) -> None:
        """Keep the last lines of stderr."""
        assert self.process.stderr is not None
        with suppress(*_GONE):
            while True:
                self.tail.feed(await self.process.stderr.receive(_CHUNK))
        self._errors_ended.set()

    async def write_input(self) -> None:
        """Send the session's messages."""
        assert self.process.stdin is not None
        async with self._out:
            with suppress(*_GONE):
                async for item in self._out:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self.process.stdin.send(text.encode("utf-8", "replace") + b"\n")

    async def stop(self, grace: float, hurry: Callable[[], bool]) -> None:
        """End the whole tree; its output is drained meanwhile."""
        self._closing = True
        self.read.close()
        end = partial(processes.stop, [self.tree], grace=grace, term=_TERM_SECONDS, hurry=hurry)
        await to_thread.run_sync(end)

    async def close(self) -> None:
        """Let go of the streams."""
        for stream in (self._in, self._out, self.read, self.write):
            stream.close()
        with suppress(*_GONE):
            await self.process.aclose()

    async def _receive(self) -> bytes:
        assert self.process.stdout is not None
        chunk = await self.process.stdout.receive(_CHUNK)
        self.received += len(chunk)
        return chunk

    async def _take(self, chunk: bytes, lines: Lines) -> None:
        try:
            for line in lines.feed(chunk):
                await self._pass_on(line)
        except LineTooLongError as error:
            self.fault = str(error)
        except RecursionError:
            self.fault = "It sent JSON that is nested too deeply."
        if self.received > self._limits.output_bytes:
            self.fault = f"It sent over {self._limits.output_bytes:,} bytes."

    async def _pass_on(self, line: bytes) -> None:
        if not line.strip():
            return
        found = messages(line)
        self.junk_lines += not found
        for message in found:
            if "id" not in message:  # notifications only tell that the list changed
                self.list_changes += message.get("method") == _LIST_CHANGED
                continue
            try:
                parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
            except ValidationError:
                self.junk_lines += 1
                continue
            await self._in.send(SessionMessage(parsed))


@asynccontextmanager
async def open_pipe(
    launch: LaunchSpec,
    *,
    limits: Limits,
    tail: Tail,
    environ: Mapping[str, str] = os.environ,
    hurry: Callable[[], bool] = lambda: False,
) -> AsyncIterator[Pipe]:
    """Start the server; its whole tree is gone when the context ends, however it ends.

    A server is given little time to end once `hurry` says that somebody waits for it.
    Raises ToolcribError when it cannot be started.
    """
    prepared = processes.prepare(
        launch.command, launch.args, env=launch.env, cwd=launch.cwd, environ=environ
    )
    processes.become_subreaper()
    try:
        process = await anyio.open_process(
            prepared.argv, env=prepared.env, cwd=prepared.cwd, **prepared.options
        )
    except (OSError, ValueError) as error:
        raise processes.start_error(prepared, error) from error
    pipe = Pipe(process, _tree(process, prepared.mark), limits, tail)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(pipe.close)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        for task in (pipe.read_output, pipe.read_errors, pipe.write_input):
            tasks.start_soon(task)
        grace = _HURRY_SECONDS
        try:
            yield pipe
            grace = limits.grace_seconds
        finally:
            with anyio.CancelScope(shield=True):
                await pipe.stop(grace, hurry)
            tasks.cancel_scope.cancel()


def _tree(process: Process, mark: str) -> processes.Tree:
    def close_stdin() -> None:
        assert process.stdin is not None
        with suppress(*_GONE):
            from_thread.run(process.stdin.aclose)

    return processes.Tree(process.pid, mark, lambda: process.returncode, close_stdin)


def _stream(
    size: float,
) -> tuple[MemoryObjectSendStream[SessionMessage], MemoryObjectReceiveStream[SessionMessage]]:
    return anyio.create_memory_object_stream[SessionMessage](size)
