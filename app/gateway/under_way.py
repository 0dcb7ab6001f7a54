"""One call of a tool under way: its answer, and what may be noted while that is awaited."""

import time
from typing import TYPE_CHECKING

from app.gateway import results
from app.gateway.exchange import SIGN_IN
from app.gateway.forward import Route
from app.gateway.guard import guidance
from app.gateway.protocol import Json
from app.gateway.pruned import problem_of
from app.gateway.session import Session
from app.gateway.upstream import Upstream

if TYPE_CHECKING:
    from app.gateway.calls import Caller

_AUTH_WORDS = ("401", "unauthorized", "not authenticated", "authentication", "invalid api key")


class Call(Route):
    """Nothing that can wait delays the server's start on it, or its answer."""

    __slots__ = (
        "_began",
        "_caller",
        "_problem",
        "_row_id",
        "_said",
        "_session",
        "_size",
        "_tokens",
        "_tool_id",
    )

    def __init__(
        self,
        caller: "Caller",
        session: Session,
        upstream: Upstream,
        message: Json,
        tool_id: str,
        *,
        row_id: int = 0,
        tokens: int = 0,
    ) -> None:
        """A tools/call as the server gets it.

        `row_id` is the row of a tool that is loaded by being called, 0 for others; `tokens` the
        budget of the result, 0 for none.
        """
        super().__init__(upstream, b"", message)
        self._caller = caller
        self._session = session
        self._tool_id = tool_id
        self._row_id = row_id
        self._tokens = tokens
        self._said: str | None = None  # of a loop, once the call is noted
        self._began = time.perf_counter()
        self._size = 0
        self._problem = ""

    def note(self) -> str:
        """Remember the call, once, on the thread that comes first; what to say of a loop."""
        if self._said is not None:
            return self._said
        with self._session.lock:
            if self._said is None:
                repeats = self._note(time.monotonic())
                if repeats:
                    self._caller.unload(self._session, self._tool_id)
                self._said = guidance(self._tool_id, repeats) if repeats else ""
            return self._said

    def _note(self, now: float) -> int:
        session, tool_id = self._session, self._tool_id
        repeats = session.guard.note(tool_id, self.message["params"]["arguments"], now)
        if tool_id in session.loaded:
            session.loaded.touch(tool_id, now)
        elif self._row_id and not repeats:  # a loop does not load its tool again
            self._caller.load_unasked(session, tool_id, self._row_id)
        return repeats

    def finish(self, line: bytes, answer: Json) -> Json | None:
        """The answer with what the gateway has to add; None when it has nothing."""
        self._size = len(line)
        self._problem = problem = problem_of(answer)
        self._session.note_call(self._tool_id, succeeded=not problem)
        if not problem:
            self._session.refused.discard(self.upstream.name)
        elif any(word in problem.lower() for word in _AUTH_WORDS):
            self._session.refused.add(self.upstream.name)
        result = answer.get("result")
        said = self.note()
        if not isinstance(result, dict):
            return None
        changed = self._cut(result)
        if said:
            content = (changed or result).get("content")
            more = {"type": "text", "text": said}
            content = [*(content if isinstance(content, list) else []), more]
            changed = {**(changed or result), "content": content}
        return {**answer, "result": changed} if changed is not None else None

    def _cut(self, result: Json) -> Json | None:
        """The result within its budget, None when it is; a short line has no long text."""
        fits = 0 < self._size <= self._tokens * results.CHARACTERS_A_TOKEN
        if fits or not self._tokens:
            return None
        return results.cut(result, self._tokens, self._caller.results)

    def done(self) -> None:
        """The host has its answer."""
        self._caller.journal.add(
            "call",
            tool=self._tool_id,
            tokens=self._size // results.CHARACTERS_A_TOKEN,
            ms=(time.perf_counter() - self._began) * 1000,
            problem=self._problem,
        )

    def unreached(self, reason: str) -> None:
        """The server could not be reached."""
        if reason.startswith(SIGN_IN):
            self._session.refused.add(self.upstream.name)
        self._caller.journal.add("error", tool=self._tool_id, problem=reason)
