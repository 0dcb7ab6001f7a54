"""A call that came through the menu: loads its tool, warns of loops, keeps to a budget."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.gateway.call import Call, CallContext
from app.gateway.menu import results
from app.gateway.menu.loop_guard import guidance
from app.gateway.menu.session import Session
from app.mcp.requests import SIGN_IN
from app.mcp.session import Upstream
from store.typed import Json, list_or_empty

_AUTH_WORDS = ("401", "unauthorized", "not authenticated", "authentication", "invalid api key")


@dataclass(frozen=True, slots=True)
class MenuEffects:
    """Parts of the menu that a call changes."""

    results: results.Results
    load: Callable[[Session, str, int], None]  # a tool that was called without a search
    unload: Callable[[Session, str], None]  # a tool whose calls repeat


class MenuCall(Call):
    """A call of call_tool, or of a tool that the menu lists, as its server gets it."""

    __slots__ = ("_by_name", "_effects", "_guidance", "_row_id", "_session", "_tokens")

    def __init__(
        self,
        context: CallContext,
        effects: MenuEffects,
        session: Session,
        upstream: Upstream,
        message: Json,
        *,
        row_id: int = 0,
        tokens: int = 0,
        text: str = "",
        held: str = "",
        check: Callable[[], Json | None] | None = None,
    ) -> None:
        """`row_id` is the row of a tool that is loaded by being called, 0 for others.

        `tokens` is the budget of the result, 0 for none; the rest is as for every call.
        """
        super().__init__(
            context, session, upstream, b"", message, text=text, held=held, check=check
        )
        self._effects = effects
        self._session = session
        self._row_id = row_id
        self._tokens = tokens
        self._guidance: str | None = None  # of a loop, once the call is noted
        self._by_name = False  # called without a search before it

    def note(self) -> str:
        """Remember the call, once, on the thread that comes first; what to say of a loop."""
        if self._guidance is not None:
            return self._guidance
        with self._session.lock:
            if self._guidance is None:
                repeats = self._note(time.monotonic())
                if repeats:
                    self._effects.unload(self._session, self.tool_id)
                self._guidance = guidance(self.tool_id, repeats) if repeats else ""
            return self._guidance

    def _note(self, now: float) -> int:
        session, tool_id = self._session, self.tool_id
        repeats = session.guard.note(tool_id, self.message["params"]["arguments"], now)
        if tool_id in session.loaded:
            session.loaded.touch(tool_id, now)
        elif self._row_id and not repeats:  # a loop does not load its tool again
            self._by_name = True
            self._effects.load(session, tool_id, self._row_id)
        return repeats

    def amended(self, answer: Json) -> Json | None:
        """The answer within its budget, and with a warning of a loop."""
        if self.problem and any(word in self.problem.lower() for word in _AUTH_WORDS):
            self._session.refused.add(self.upstream.name)
        elif not self.problem:
            self._session.refused.discard(self.upstream.name)
        loop_note = self.note()
        result = answer.get("result")
        if not isinstance(result, dict):
            return None
        changed = self._cut(result)
        if loop_note:
            content = (changed or result).get("content")
            more = {"type": "text", "text": loop_note}
            content = [*list_or_empty(content), more]
            changed = {**(changed or result), "content": content}
        return {**answer, "result": changed} if changed is not None else None

    def _cut(self, result: Json) -> Json | None:
        """The result within its budget, None when it is; a short line has no long text."""
        fits = 0 < self.size <= self._tokens * results.CHARACTERS_A_TOKEN
        if fits or not self._tokens:
            return None
        return results.cut(result, self._tokens, self._effects.results)

    def detail(self) -> Json:
        """Journal fields beside the usual ones; that the tool was called without a search."""
        detail = super().detail()
        if self._by_name:
            detail["by_name"] = True
        return detail

    def unreached(self, reason: str) -> None:
        """The server could not be reached."""
        if reason.startswith(SIGN_IN):
            self._session.refused.add(self.upstream.name)
        super().unreached(reason)
