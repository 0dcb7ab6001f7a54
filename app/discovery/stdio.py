"""Reading a server that is started as a child process."""

from collections.abc import Mapping
from dataclasses import replace

import anyio
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from app.discovery.attempt import Attempt
from app.discovery.conversation import converse, error_text
from app.discovery.lines import Tail
from app.discovery.pipe import Pipe, open_pipe
from app.discovery.reading import Reading, ReadingError
from app.discovery.wire import Wire, answer_server, ignore_notice
from app.errors import ToolcribError
from app.hosts.launch import STDIO, LaunchSpec
from store.records import COULD_NOT_START


async def attempt(
    launch: LaunchSpec, attempt: Attempt, environ: Mapping[str, str], era: str
) -> Reading:
    """Start the server, read it in this era, and end its whole tree."""
    tail = Tail()
    try:
        async with open_pipe(
            launch,
            limits=attempt.limits,
            environ=environ,
            tail=tail,
            hurry=lambda: attempt.cancelled,
        ) as pipe:
            attempt.progress = pipe.progress
            attempt.reading = await _talk(pipe, attempt, era)
            if attempt.reading.read:  # stopping the server may take seconds
                attempt.on_reading(attempt.reading)
    except ToolcribError as error:
        return Reading(COULD_NOT_START, error.title)
    finally:
        if attempt.reading is not None:
            attempt.reading = replace(attempt.reading, stderr=tail.text())
    return attempt.reading


async def _talk(pipe: Pipe, attempt: Attempt, era: str) -> Reading:
    dispatcher: JSONRPCDispatcher = JSONRPCDispatcher(pipe.read, pipe.write)
    wire = Wire(dispatcher, era, closed=lambda: pipe.ended)
    attempt.waiting_for = lambda: wire.asked
    async with anyio.create_task_group() as tasks:
        await tasks.start(dispatcher.run, answer_server, ignore_notice)
        reading = await _read(wire, pipe, attempt)
        tasks.cancel_scope.cancel()
    return reading


async def _read(wire: Wire, pipe: Pipe, attempt: Attempt) -> Reading:
    try:
        reading = await converse(
            wire, limits=attempt.limits, list_changes=lambda: pipe.list_changes
        )
    except ReadingError as error:
        return Reading(error.status, error.problem)
    except MCPError as error:
        if not pipe.ended:
            return Reading(COULD_NOT_START, f"It refused {wire.asked}: {error_text(error)}")
        problem = pipe.fault or await _last_words(pipe)
        attempt.silent_death = not wire.greeted and not pipe.fault and not pipe.tail.last_line()
        return Reading(COULD_NOT_START, problem)
    notes = reading.taken_with["notes"]
    if pipe.junk_lines:
        notes = [*notes, f"It printed {pipe.junk_lines:,} lines on stdout that are no messages."]
    taken_with = {**reading.taken_with, "notes": notes, "transport": STDIO}
    return replace(reading, taken_with=taken_with)


async def _last_words(pipe: Pipe) -> str:
    """How a server ended that hung up: its exit code and its last line on stderr."""
    code = await pipe.exit_code()
    await pipe.errors_read()
    if code is None:
        how = "It closed its output"
    elif code < 0:
        how = f"It was ended by signal {-code}"
    else:
        how = f"It exited with code {code}"
    line = pipe.tail.last_line()[:300]
    return f"{how}: {line}" if line else f"{how} without a word."
