"""One call of a tool under way: its answer, and what may be noted while that is awaited."""

import threading
import time
from typing import TYPE_CHECKING

from app.gateway import results
from app.gateway.exchange import SIGN_IN
from app.gateway.guard import guidance
from app.gateway.protocol import Json
from app.gateway.pruned import problem_of
from app.gateway.session import Session

if TYPE_CHECKING:
    from app.gateway.calls import Caller

_AUTH_WORDS = ("401", "unauthorized", "not authenticated", "authentication", "invalid api key")


class Call:
    """Nothing that can wait delays the server's start on it, or its answer."""

    def __init__(
        self,
        caller: "Caller",
        session: Session,
        target: tuple[str, str],
        arguments: object,
        *,
        unasked: int = 0,
        tokens: int = 0,
    ) -> None:
        """A call of `target` (server, tool).

        `unasked` is the row of a tool that was called without a search; `tokens` the budget of
        the result, 0 for none.
        """
        self._caller = caller
        self._session = session
        self.server, self.tool = target
        self.tool_id = "/".join(target)
        self.arguments = arguments
        self._unasked = unasked
        self._tokens = tokens
        self._noting = threading.Lock()
        self._repeats: int | None = None
        self._began = time.perf_counter()
        self._size = 0
        self._problem = ""

    def note(self) -> int:
        """Remember the call, once, on the thread that comes first; how often it was repeated."""
        with self._noting:
            if self._repeats is None:
                now = time.monotonic()
                self._repeats = self._session.guard.note(self.tool_id, self.arguments, now)
                if self._unasked and not self._repeats:  # a loop does not load its tool again
                    self._caller.load_unasked(self._session, self.tool_id, self._unasked)
                self._session.loaded.touch(self.tool_id, now)
            return self._repeats

    def finish(self, line: bytes, answer: Json) -> Json | None:
        """The answer with what the gateway has to add; None when it has nothing."""
        self._size = len(line)
        self._problem = problem = problem_of(answer)
        self._session.note_call(self.tool_id, succeeded=not problem)
        if not problem:
            self._session.refused.discard(self.server)
        elif any(word in problem.lower() for word in _AUTH_WORDS):
            self._session.refused.add(self.server)
        result = answer.get("result")
        repeats = self.note()
        if not isinstance(result, dict):
            return None
        changed = self._cut(result)
        if repeats:
            self._caller.unload(self._session, self.tool_id)
            content = (changed or result).get("content")
            said = {"type": "text", "text": guidance(self.tool_id, repeats)}
            content = [*(content if isinstance(content, list) else []), said]
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
            tool=self.tool_id,
            tokens=self._size // results.CHARACTERS_A_TOKEN,
            ms=(time.perf_counter() - self._began) * 1000,
            problem=self._problem,
        )

    def failed(self, reason: str) -> None:
        """The server could not be reached."""
        if reason.startswith(SIGN_IN):
            self._session.refused.add(self.server)
        self._caller.journal.add("error", tool=self.tool_id, problem=reason)
