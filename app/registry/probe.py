"""Reads one server: starts or reaches it, asks for all it offers, and leaves nothing behind."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import anyio
from anyio import from_thread, to_thread

from app.core.errors import ToolcribError
from app.hosts.interpolation import expand
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec, inherited_secrets
from app.indexing.reading import LEGACY, MODERN, Limits, Reading, ReadingError
from app.indexing.scrub import scrub
from app.mcp.connection import Connection, NoAnswerError, greet
from app.mcp.limits import Bounds, HungError, StoppedError, Watch
from app.mcp.requests import Channel, PendingRequest
from app.mcp.stdio import StdioChannel
from app.mcp.traced import TracedChannel
from app.registry.conversation import answer, converse, envelope, hello
from app.system.processes import prepare
from store.records import COULD_NOT_START, NEEDS_SIGN_IN, STOPPED, TOOK_TOO_LONG

OnReading = Callable[[Reading], None]
if TYPE_CHECKING:
    from app.signin.auth import StoredAuth

AuthFor = Callable[[str], "StoredAuth"]
_HURRY_SECONDS = 0.5  # the grace of a server that is stopped before it was read
_SILENT = "Run its command in a terminal to see what it lacks."
_MORE_TIME = "or give servers more time in Settings."
_COMMAND_WAITS = f"Run its command in a terminal to see what it waits for, {_MORE_TIME}"
_URL_WAITS = f"Check that its URL answers, {_MORE_TIME}"


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """Options for reading servers."""

    limits: Limits = field(default_factory=Limits)
    environ: Mapping[str, str] | None = None  # None: our own
    scratch_home: bool = False


def probe(
    launch: LaunchSpec,
    *,
    options: ProbeOptions | None = None,
    cancel: Event | None = None,
    era: str = LEGACY,
) -> Reading:
    """Read one server in this thread; never raises for anything the server does."""
    return anyio.run(
        partial(read_server, launch, options=options or ProbeOptions(), cancel=cancel, era=era)
    )


async def read_server(
    launch: LaunchSpec,
    *,
    options: ProbeOptions,
    cancel: Event | None = None,
    era: str = LEGACY,
    on_reading: OnReading | None = None,
    auth_for: AuthFor | None = None,
) -> Reading:
    """Read one server on a helper thread; never raises for anything the server does.

    `era` is the revision that it spoke last time. `on_reading` is called as soon as the tools are
    known; stopping the server may take a while. `auth_for` gives the earlier sign-in to a URL,
    which is used and renewed but never made.
    """
    variables = os.environ if options.environ is None else options.environ
    launch = expand(launch, variables, Path.home())
    auth = auth_for(launch.url) if auth_for is not None and launch.transport != STDIO else None
    abandoned = Event()

    def cancelled() -> bool:
        return abandoned.is_set() or (cancel is not None and cancel.is_set())

    def tell(reading: Reading) -> None:
        if on_reading is not None:
            from_thread.run_sync(on_reading, reading)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_set_when_cancelled, abandoned)
        with _environment(options) as environ:
            attempt = _Attempt(launch, options.limits, environ, auth, cancelled)
            reading = await to_thread.run_sync(attempt.read, era == MODERN, tell)
        tasks.cancel_scope.cancel()
    home = "scratch" if options.scratch_home else "own"
    taken_with = {"home": home, **reading.taken_with} if reading.read else {}
    tokens = auth.values() if auth is not None else ()
    return scrub(replace(reading, taken_with=taken_with), launch, tokens)


async def _set_when_cancelled(abandoned: Event) -> None:
    """Set the event when cancelled: a cancellation does not end the thread that reads."""
    try:
        await anyio.sleep_forever()
    finally:
        abandoned.set()


class _Attempt:
    """One server being read, on a thread that may block."""

    def __init__(
        self,
        launch: LaunchSpec,
        limits: Limits,
        environ: Mapping[str, str],
        auth: "StoredAuth | None",
        cancelled: Callable[[], bool],
    ) -> None:
        self._launch = launch
        self._limits = limits
        self._environ = environ
        self._auth = auth
        self._cancelled = cancelled
        self._transport = launch.transport
        self._channel: Channel | None = None
        self._trace: TracedChannel | None = None
        self._connection: Connection | None = None

    def read(self, modern: bool, on_reading: OnReading) -> Reading:
        """The reading; a URL without a word on its transport may be either of the two."""
        first = self._read(modern, on_reading)
        refusal = getattr(self._channel, "refusal", 0)
        if first.read or not 400 <= refusal < 500 or refusal in (401, 403):
            return first
        self._transport = SSE if self._transport == HTTP else HTTP
        second = self._read(modern, on_reading)
        second = replace(second, messages=(*first.messages, *second.messages))
        problem = self._auth is not None and self._auth.problem
        return second if second.read or second.status == NEEDS_SIGN_IN or problem else first

    def _read(self, modern: bool, on_reading: OnReading) -> Reading:
        limits = self._limits
        watch = Watch(limits.quiet_seconds, limits.total_seconds, cancelled=self._cancelled)
        grace = _HURRY_SECONDS
        reading = Reading(STOPPED, "The reading was stopped.")
        try:
            reading = self._talk(watch, modern)
            on_reading(reading)  # stopping the server may take seconds
            grace = limits.grace_seconds
        except ToolcribError as error:
            reading = Reading(COULD_NOT_START, error.text)
        except StoppedError:
            reading = Reading(STOPPED, "You stopped the reading.")
        except HungError as error:
            problem = f"Waited {error.seconds:g} s for it {watch.waiting_for}."
            step = _COMMAND_WAITS if self._launch.transport == STDIO else _URL_WAITS
            reading = Reading(TOOK_TOO_LONG, f"{problem} {step}")
        except (NoAnswerError, ReadingError) as error:
            reading = self._failed(str(error))
        finally:
            if self._connection is not None:
                self._connection.channel.close(grace, self._cancelled)
                stderr = self._connection.channel.printed()
                lines = self._trace.take() if self._trace is not None else ()
                reading = replace(
                    reading,
                    stderr=stderr,
                    messages=tuple((one.at, one.sent, one.text) for one in lines),
                )
        return reading

    def _talk(self, watch: Watch, modern: bool) -> Reading:
        connection = greet(self._connect, watch, hello, modern=modern)
        reading = converse(connection, self._limits, watch)
        taken_with = {**reading.taken_with, "transport": self._transport}
        if self._auth is not None and self._auth.signed_in:
            taken_with["signed_in"] = True
        return replace(reading, taken_with=taken_with)

    def _connect(self) -> Connection:
        self._channel = channel_of(
            self._launch,
            self._environ,
            self._limits,
            auth=self._auth,
            transport=self._transport,
        )
        self._trace = TracedChannel(self._channel)
        self._connection = Connection(
            self._trace,
            on_request=answer,
            on_end=fail_pending,
            envelope=envelope,
        )
        self._connection.open()
        return self._connection

    def _failed(self, reason: str) -> Reading:
        """Reading of a server that failed: the reason that ended it, or else `reason`."""
        connection = self._connection
        if connection is None:
            return Reading(COULD_NOT_START, reason)
        if connection.channel.fault:
            return Reading(COULD_NOT_START, f"It {connection.gone}.")
        if self._transport != STDIO:
            return self._refused() or Reading(
                COULD_NOT_START, connection.channel.last_sentence() or reason
            )
        if connection.gone:
            line = connection.channel.last_line()
            last = f": {line}" if line else f" without a word. {_SILENT}"
            if line and connection.channel.junk_lines and not connection.channel.printed():
                last = f" and printed no MCP message: {line}"
            return Reading(COULD_NOT_START, f"It {connection.gone}{last}")
        return Reading(COULD_NOT_START, reason)

    def _refused(self) -> Reading | None:
        """Reading of a server that HTTP says wants a sign-in, None when it does not."""
        if getattr(self._channel, "refusal", 0) != 401:
            return None
        auth = self._auth
        if auth is not None and auth.signed_in:
            status = NEEDS_SIGN_IN if auth.needs_person else COULD_NOT_START
            return Reading(status, auth.problem.capitalize())
        sent = any(name.lower() == "authorization" for name in self._launch.headers)
        problem = "It does not accept the credentials given." if sent else "It asks for a sign-in."
        return Reading(NEEDS_SIGN_IN, problem)


def channel_of(
    launch: LaunchSpec,
    environ: Mapping[str, str],
    limits: Limits,
    *,
    auth: "StoredAuth | None",
    transport: str,
) -> Channel:
    """Channel of a server's lines; `transport` where it is known better than by the launch."""
    bounds = Bounds(limits.message_bytes, limits.output_bytes)
    if launch.transport == STDIO:
        prepared = prepare(
            launch.command, launch.args, env=launch.env, cwd=launch.cwd, environ=environ
        )
        secrets = (*launch.secret_values(), *inherited_secrets(environ))
        return StdioChannel(prepared, secrets, bounds=bounds)
    from app.mcp.http import RemoteChannel  # the SDK costs 1.2 s of CPU

    return RemoteChannel(launch, (), transport or launch.transport, auth=auth, bounds=bounds)


def fail_pending(connection: Connection, pending: list[PendingRequest]) -> None:
    """Fail what waited for a server that has gone."""
    for request in pending:
        request.failed(f"It {connection.gone}.")


@contextmanager
def _environment(options: ProbeOptions) -> Iterator[Mapping[str, str]]:
    """The environment of servers, with a throwaway home when that is wanted."""
    environ = os.environ if options.environ is None else options.environ
    if not options.scratch_home:
        yield environ
        return
    with tempfile.TemporaryDirectory(prefix="toolcrib-home-", ignore_cleanup_errors=True) as home:
        yield {**environ, "HOME": home, "USERPROFILE": home}
