"""A call of a server's tool under way: checked, asked about where needed, sent, noted."""

import time
from collections.abc import Callable
from functools import partial

from app.catalog.behind import name_behind
from app.gateway.host_request import CHARACTERS_A_TOKEN, HostRequest
from app.gateway.journal import ROOM, Journal
from app.gateway.live_tools import LiveTools
from app.gateway.outgoing import Outgoing
from app.mcp.protocol import params_of
from app.mcp.session import Upstream
from store.typed import TYPE_CHECKING, Json, Protocol

if TYPE_CHECKING:
    from app.gateway.approvals import Hold


class Conversation(Protocol):
    """Progress of a conversation, as far as a call adds to it."""

    def note_call(self, tool_id: str, *, succeeded: bool) -> None:
        """Note a call that was answered."""


class CallContext:
    """Parts of the gateway that every call uses."""

    __slots__ = ("hold", "journal", "live", "may_ask", "outgoing")

    def __init__(
        self,
        journal: Journal,
        outgoing: Outgoing,
        live: LiveTools,
        hold: "Callable[[str, str, object, str], Hold | None]",
        may_ask: Callable[[str], bool],
    ) -> None:
        """`hold` and `may_ask` as of `Approvals`, which are loaded with the first that may wait."""
        self.journal = journal
        self.outgoing = outgoing
        self.live = live
        self.hold = hold
        self.may_ask = may_ask


class Call(HostRequest):
    """A tools/call; nothing that can wait delays its server's start, or its answer."""

    __slots__ = (
        "_arguments",
        "_began",
        "_check",
        "_context",
        "_conversation",
        "_flow",
        "_hold",
        "_name",
        "_unlisted",
        "problem",
        "size",
        "tool_id",
    )

    def __init__(
        self,
        context: CallContext,
        conversation: Conversation,
        upstream: Upstream,
        line: bytes,
        message: Json,
        *,
        text: str = "",
        held: str = "",
        check: Callable[[], Json | None] | None = None,
    ) -> None:
        """`line` and `message` are what the server gets.

        `text` is the tool's stored JSON, "" where none is: the list is read again that lacks it.
        `held` is the kind of reason for which it is kept from hosts, where a person may still say
        yes to the call. `check` is asked once the server's present list is known and gives the
        answer to a call that is refused; None sends any call.
        """
        super().__init__(upstream, line, message)
        params = params_of(message)
        self._name = name = params.get("name")
        self._arguments = arguments = params.get("arguments")
        self.tool_id = f"{upstream.name}/{name}"
        self.size = 0  # bytes of the answer's line
        self.problem = ""
        self._context = context
        self._conversation = conversation
        self._check = check
        self._unlisted = name if not text and isinstance(name, str) else None
        self._flow = context.outgoing.look(upstream.name, text, name, arguments)
        self._hold = context.hold(self.tool_id, text, arguments, held)
        self._began = time.perf_counter()

    def prepare(self, send: Callable[[], None]) -> None:
        """Send the call when the server lists the tool as it was trusted, and may have the data."""
        if self._hold is not None:  # the tool's text may change while the call waits
            send = partial(self._hold, self, partial(self._send_checked, send))
        if self._flow is not None:
            send = partial(self._context.outgoing.settle, self._flow, self, send)
        self._send_checked(send)

    def _send_checked(self, send: Callable[[], None]) -> None:
        if self._check is None:
            send()
        else:
            decide = self.guarded(partial(self._decide, send))
            self._context.live.before_call(self.upstream, decide, name=self._unlisted)

    def _decide(self, send: Callable[[], None], problem: str) -> None:
        if problem:
            self.failed(problem)
            return
        refusal = self._check() if self._check is not None else None
        if refusal is None:
            send()
        else:
            self.refuse(refusal)

    def finish(self, line: bytes, answer: Json) -> Json | None:
        """Note what came; the answer with what the gateway has to add, None when nothing."""
        if self.is_refused:
            return None
        self.size = len(line)
        self.problem = problem_of(answer)
        self._conversation.note_call(self.tool_id, succeeded=not self.problem)
        self._context.outgoing.note(self.upstream.name, answer.get("result"))
        return self.amended(answer)

    def ending(self) -> None:
        """Note the call before the host, which may end this process, has its answer."""
        if self.is_refused:
            return  # noted as what it was
        self._context.journal.add(
            "call",
            tool=self.tool_id,
            tokens=self.size // CHARACTERS_A_TOKEN,
            ms=(time.perf_counter() - self._began) * 1000,
            problem=self.problem,
            detail=self.detail(),
        )

    def done(self) -> None:
        """The host has its answer."""
        if not self.is_refused:
            self._context.outgoing.read(self.size)

    def unreached(self, reason: str) -> None:
        """The server could not be reached."""
        self._context.journal.add("error", tool=self.tool_id, problem=reason)

    # ---- what the menu adds

    def amended(self, answer: Json) -> Json | None:  # noqa: ARG002
        """Another answer to give; None leaves the server's as it came."""
        return None

    def detail(self) -> Json:
        """Journal fields beside the usual ones: the tool behind that was called, by its name."""
        if self.problem or not (hidden := name_behind(self._name, self._arguments)):
            return {}
        return {"behind": hidden}


def problem_of(answer: Json) -> str:
    """Problem in an answer to tools/call, its beginning, "" when there is none."""
    error = answer.get("error")
    if isinstance(error, dict):
        return str(error.get("message", "error"))[:ROOM]
    result = answer.get("result")
    if isinstance(result, dict) and result.get("isError"):
        return first_text(result.get("content"))[:ROOM] or "error"
    return ""


def first_text(content: object) -> str:
    """The first text of a result's content."""
    for item in content if isinstance(content, list) else ():
        if isinstance(item, dict) and isinstance(item.get("text"), str):
            return str(item["text"])
    return ""
