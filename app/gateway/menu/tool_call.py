"""One call of a tool under way: its answer, and what may be noted while that is awaited."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from app.gateway.approvals import Approvals, Hold
from app.gateway.journal import Journal
from app.gateway.menu import results
from app.gateway.menu.loop_guard import guidance
from app.gateway.menu.session import Session
from app.gateway.outgoing import Outgoing
from app.gateway.route import Route, behind_of, problem_of
from app.mcp.requests import SIGN_IN
from app.mcp.session import Upstream
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from app.safety.flow import Flow

_AUTH_WORDS = ("401", "unauthorized", "not authenticated", "authentication", "invalid api key")


@dataclass(frozen=True, slots=True)
class CallContext:
    """Parts of the menu that a call uses."""

    journal: Journal
    results: results.Results
    load: Callable[[Session, str, int], None]  # a tool that was called without a search
    unload: Callable[[Session, str], None]  # a tool whose calls repeat
    before_call: Callable[[Upstream, Callable[[str], None]], None]  # LiveTools.before_call
    outgoing: Outgoing
    approvals: Approvals


class ToolCall(Route):
    """Nothing that can wait delays the server's start on it, or its answer."""

    __slots__ = (
        "_began",
        "_by_name",
        "_check",
        "_context",
        "_flow",
        "_guidance",
        "_hold",
        "_problem",
        "_row_id",
        "_session",
        "_size",
        "_tokens",
        "_tool_id",
    )

    def __init__(
        self,
        context: CallContext,
        session: Session,
        upstream: Upstream,
        message: Json,
        tool_id: str,
        *,
        row_id: int = 0,
        tokens: int = 0,
        check: Callable[[], Json | None] | None = None,
        flow: "Flow | None" = None,
        hold: Hold | None = None,
    ) -> None:
        """A tools/call as the server gets it.

        `row_id` is the row of a tool that is loaded by being called, 0 for others; `tokens` the
        budget of the result, 0 for none. `check` is asked once the server's present list is known
        and gives the result of a call that is refused; None where nothing is known of the tool.
        `flow` is what the call would carry out; `hold` keeps it until a person says yes.
        """
        super().__init__(upstream, b"", message)
        self._context = context
        self._session = session
        self._tool_id = tool_id
        self._row_id = row_id
        self._tokens = tokens
        self._guidance: str | None = None  # of a loop, once the call is noted
        self._by_name = False  # called without a search before it
        self._check = check
        self._flow = flow
        self._hold = hold
        self._began = time.perf_counter()
        self._size = 0
        self._problem = ""

    def prepare(self, send: Callable[[], None]) -> None:
        """Send the call when the server lists the tool as it was trusted, and may have the data."""
        if self._hold is not None:
            again = partial(self._decide, send, "")  # its text may change while it waits
            send = partial(self._hold, self, again)
        if self._flow is not None:
            send = partial(self._context.outgoing.settle, self._flow, self, send)
        if self._check is None:
            send()
        else:
            decide = self.guarded(lambda problem: self._decide(send, problem))
            self._context.before_call(self.upstream, decide)

    def _decide(self, send: Callable[[], None], problem: str) -> None:
        if problem:
            self.failed(problem)
            return
        result = self._check() if self._check is not None else None
        if result is None:
            send()
        else:
            self.refused(result)

    def note(self) -> str:
        """Remember the call, once, on the thread that comes first; what to say of a loop."""
        if self._guidance is not None:
            return self._guidance
        with self._session.lock:
            if self._guidance is None:
                repeats = self._note(time.monotonic())
                if repeats:
                    self._context.unload(self._session, self._tool_id)
                self._guidance = guidance(self._tool_id, repeats) if repeats else ""
            return self._guidance

    def _note(self, now: float) -> int:
        session, tool_id = self._session, self._tool_id
        repeats = session.guard.note(tool_id, self.message["params"]["arguments"], now)
        if tool_id in session.loaded:
            session.loaded.touch(tool_id, now)
        elif self._row_id and not repeats:  # a loop does not load its tool again
            self._by_name = True
            self._context.load(session, tool_id, self._row_id)
        return repeats

    def finish(self, line: bytes, answer: Json) -> Json | None:
        """The answer with what the gateway has to add; None when it has nothing."""
        if self.is_refused:
            return None
        self._size = len(line)
        self._problem = problem = problem_of(answer)
        self._session.note_call(self._tool_id, succeeded=not problem)
        if not problem:
            self._session.refused.discard(self.upstream.name)
        elif any(word in problem.lower() for word in _AUTH_WORDS):
            self._session.refused.add(self.upstream.name)
        result = answer.get("result")
        self._context.outgoing.note(self.upstream.name, result)
        loop_note = self.note()
        if not isinstance(result, dict):
            return None
        changed = self._cut(result)
        if loop_note:
            content = (changed or result).get("content")
            more = {"type": "text", "text": loop_note}
            content = [*(content if isinstance(content, list) else []), more]
            changed = {**(changed or result), "content": content}
        return {**answer, "result": changed} if changed is not None else None

    def _cut(self, result: Json) -> Json | None:
        """The result within its budget, None when it is; a short line has no long text."""
        fits = 0 < self._size <= self._tokens * results.CHARACTERS_A_TOKEN
        if fits or not self._tokens:
            return None
        return results.cut(result, self._tokens, self._context.results)

    def done(self) -> None:
        """The host has its answer."""
        if not self.is_refused:
            self._context.outgoing.read(self._size)

    def ending(self) -> None:
        """Note the call before the host, which may end this process, has its answer."""
        if self.is_refused:
            return  # noted as what it was
        detail = behind_of(self.message, self._problem)
        if self._by_name:
            detail["by_name"] = True
        self._context.journal.add(
            "call",
            tool=self._tool_id,
            tokens=self._size // results.CHARACTERS_A_TOKEN,
            ms=(time.perf_counter() - self._began) * 1000,
            problem=self._problem,
            **({"detail": detail} if detail else {}),
        )

    def unreached(self, reason: str) -> None:
        """The server could not be reached."""
        if reason.startswith(SIGN_IN):
            self._session.refused.add(self.upstream.name)
        self._context.journal.add("error", tool=self._tool_id, problem=reason)
