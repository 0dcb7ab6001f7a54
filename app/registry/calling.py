"""Tools called by hand, through the client that reads servers and serves hosts."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.scrubber import Scrubber
from app.hosts.interpolation import expand
from app.hosts.launch import STDIO, inherited_secrets
from app.indexing.reading import MODERN, Limits
from app.mcp.connection import Connection, NoAnswerError, greet
from app.mcp.limits import HungError, StoppedError, Watch
from app.mcp.traced import TracedChannel, TracedMessage
from app.registry.conversation import answer, envelope, hello
from app.registry.probe import channel_of, fail_pending
from app.registry.register import RegisterResult, Target, targets
from app.secrets.secret_store import SecretStore
from app.signin.auth import StoredAuth
from store.servers import all_servers
from store.typed import Json

_LONGEST_CALL = 3600.0  # seconds, whatever the server does
_GRACE = 2.0  # seconds that a server has to exit
_REFUSAL = "A call by hand cannot answer this."


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of one call; holds no secret value of the server."""

    result: Json  # {} where there is none
    problem: str  # why there is none, "" else
    seconds: float  # from the question to the answer
    start_seconds: float  # that starting the server took before, 0 where it ran
    messages: tuple[TracedMessage, ...]
    printed: str  # the last of the server's stderr

    @property
    def failed(self) -> bool:
        """True if there is no result, or one that is marked as an error."""
        return bool(self.problem) or self.result.get("isError") is True


class CallSession:
    """One server for calls by hand: started at the first one, kept until `close`."""

    def __init__(
        self, ctx: AppContext, server_id: int, registered: RegisterResult | None = None
    ) -> None:
        """`registered`: hosts' files just read, for values that only they have."""
        self._ctx = ctx
        self._registered = registered
        self._server_id = server_id
        self._connection: Connection | None = None
        self._trace: TracedChannel | None = None
        self._scrubber = Scrubber()
        self._given_up = False  # its caller has left before the answer: it cannot be used again
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def call(
        self,
        tool: str,
        arguments: Json,
        *,
        secrets: Iterable[str] = (),
        cancelled: Callable[[], bool] = lambda: False,
    ) -> CallResult:
        """Call a tool; `secrets` are values among the arguments that are shown nowhere.

        Blocks until there is an answer. Raises ToolcribError where the server may not be started.
        """
        with self._lock:
            self._scrubber.add(secrets)
            return self._call(tool, arguments, lambda: cancelled() or self._closed.is_set())

    def list_tools(self, *, cancelled: Callable[[], bool] = lambda: False) -> tuple[Json, ...]:
        """The tools that the server lists now; () where it does not answer."""
        with self._lock:
            limits = Limits.of(self._ctx.settings)
            watch = Watch(
                limits.quiet_seconds,
                limits.total_seconds,
                cancelled=lambda: cancelled() or self._closed.is_set(),
            )
            entries: list[Json] = []
            try:
                connection = self._connected(watch)
                params: Json = {}
                while len(entries) < limits.tools:
                    page = connection.call("tools/list", params, watch, quiet=limits.quiet_seconds)
                    entries += [one for one in page.get("tools") or () if isinstance(one, dict)]
                    cursor = page.get("nextCursor")
                    if not isinstance(cursor, str) or params == {"cursor": cursor}:
                        break
                    params = {"cursor": cursor}
            except (StoppedError, HungError, NoAnswerError):
                self._end()
            return tuple(self._scrubber.json({"tools": entries})["tools"])

    def close(self) -> None:
        """End the server with all that it started; a call under way ends first, at once."""
        self._closed.set()
        with self._lock:
            self._end()

    def _call(self, tool: str, arguments: Json, cancelled: Callable[[], bool]) -> CallResult:
        limits = Limits.of(self._ctx.settings)
        start = before = time.monotonic()
        problem, result, self._given_up = "", {}, False
        watch = Watch(limits.quiet_seconds, limits.total_seconds, cancelled=cancelled)
        try:
            connection = self._connected(watch)
            start = time.monotonic()
            watch = Watch(_LONGEST_CALL, _LONGEST_CALL, cancelled=cancelled)
            params: Json = {"name": tool, "arguments": arguments}
            result = connection.call("tools/call", params, watch, quiet=_LONGEST_CALL)
        except StoppedError:
            problem, self._given_up = "You stopped it; the server was ended.", True
        except HungError as error:
            problem = f"Waited {error.seconds:g} s for it {watch.waiting_for}; it was ended."
            self._given_up = True
        except NoAnswerError as error:
            problem = str(error)
        ended = time.monotonic()
        if not self._running or self._given_up:
            self._end()
        return self._hand_call(result, problem, ended - start, start - before)

    def _hand_call(self, result: Json, problem: str, seconds: float, starting: float) -> CallResult:
        hidden, trace = self._scrubber, self._trace
        messages = trace.take() if trace is not None else ()
        return CallResult(
            hidden.json(result),
            hidden.text(problem),
            seconds,
            starting if starting > 0.001 else 0.0,
            tuple(replace(one, text=hidden.text(one.text)) for one in messages),
            hidden.text(trace.printed()) if trace is not None else "",
        )

    @property
    def _running(self) -> bool:
        """True if the connection can take another call: every earlier one was answered."""
        connection = self._connection
        return (
            connection is not None
            and not connection.gone
            and not connection.channel.ended()
            and connection.worked
        )

    def _connected(self, watch: Watch) -> Connection:
        if self._connection is not None and self._running:
            return self._connection
        self._end()
        target, transport = self._target()
        open_one = partial(self._open, target, transport)
        try:
            self._connection = greet(open_one, watch, hello, modern=target.era == MODERN)
        except (ToolcribError, NoAnswerError, HungError, StoppedError):
            self._end()
            raise
        return self._connection

    def _open(self, target: Target, transport: str) -> Connection:
        self._end()
        launch = expand(target.placed(Path.home()), os.environ, Path.home())
        self._scrubber.add((*launch.secret_values(), *inherited_secrets(os.environ)))
        auth = None
        if launch.transport != STDIO:
            auth = StoredAuth(SecretStore.open(self._ctx.paths), target.name, launch.url)
            self._scrubber.watch(auth.values)
        limits = Limits.of(self._ctx.settings)
        channel = channel_of(launch, os.environ, limits, auth=auth, transport=transport)
        self._trace = TracedChannel(channel)
        self._connection = Connection(
            self._trace,
            on_request=partial(answer, why=_REFUSAL),
            on_end=fail_pending,
            envelope=envelope,
        )
        self._connection.name = target.name
        self._connection.open()
        return self._connection

    def _target(self) -> tuple[Target, str]:
        """The server's launch, and its transport if that was seen; raises ToolcribError."""
        number = self._server_id
        with self._ctx.store() as db:
            record = next((one for one in all_servers(db) if one.id == number), None)
            target = next(
                (t for t in targets(self._ctx, db, self._registered) if t.server_id == number), None
            )
        if record is not None and record.disabled:
            hint = "Enable it in the Catalog, then call."
            raise ToolcribError(f"{record.name} is disabled in Toolcrib.", hint)
        if record is None or target is None:
            raise ToolcribError("The server is gone.", "Read the servers again.")
        if not record.trusted:
            raise ToolcribError(f"{record.name} is not trusted yet.", "Trust it first.")
        return target, str(record.taken_with.get("transport", ""))

    def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.channel.close(_GRACE, self._closed.is_set)
