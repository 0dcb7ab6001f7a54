"""A tools/call of a server under its own name: checked, sent as it came, noted."""

import time
from collections import deque
from collections.abc import Callable
from functools import partial

from app.gateway.approvals import Hold
from app.gateway.route import Route, behind_of, problem_of
from app.gateway.serving.mode import GatewayContext
from app.mcp import jsonrpc
from app.mcp.protocol import INVALID_PARAMS, params_of
from app.mcp.session import Upstream
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from app.safety.flow import Flow


class ServerCall(Route):
    """A call of one of the server's tools, for the journal."""

    __slots__ = (
        "_began",
        "_called",
        "_check",
        "_context",
        "_flow",
        "_hold",
        "_problem",
        "_size",
        "_tool_id",
        "held_text",
    )

    def __init__(
        self,
        upstream: Upstream,
        line: bytes,
        message: Json,
        context: GatewayContext,
        check: "Callable[[ServerCall, Callable[[], None]], None] | None",
        flow: "Flow | None",
        called: "deque[str]",
        hold: Hold | None = None,
        held_text: str = "",
    ) -> None:
        """`check` sends the call or refuses it; None sends it as it is. `flow`: what it carries.

        `called` learns of a call that succeeds; `hold` keeps it until a person says yes.
        `held_text` is the text of a tool that is kept from hosts: the one that is asked about.
        """
        super().__init__(upstream, line, message)
        self._context = context
        self._check = check
        self._flow = flow
        self._hold = hold
        self.held_text = held_text
        self._called = called
        self._tool_id = f"{upstream.name}/{params_of(message).get('name')}"
        self._began = time.perf_counter()
        self._size = 0
        self._problem = ""

    def prepare(self, send: Callable[[], None]) -> None:
        """Have the call checked, where there is something to check it by."""
        if self._hold is not None:
            # its text may change while it waits
            again = send if self._check is None else partial(self._check, self, send)
            send = partial(self._hold, self, again)
        if self._flow is not None:
            send = partial(self._context.outgoing.settle, self._flow, self, send)
        if self._check is None:
            send()
        else:
            self._check(self, send)

    def refused_unknown(self) -> None:
        """Answer as most servers do for a name that they do not list."""
        self.is_refused = True
        problem = f"Unknown tool: {params_of(self.message).get('name')}"
        self._context.journal.add("miss", tool=self._tool_id, problem=problem)
        self.answered(b"", jsonrpc.error(self.host_id, INVALID_PARAMS, problem))

    def finish(self, line: bytes, answer: Json) -> None:
        """Note what went wrong; the answer is left as it came."""
        self._size = len(line)
        self._problem = problem_of(answer)
        if not self._problem and self._tool_id not in self._called:
            self._called.append(self._tool_id)
        self._context.outgoing.note(self.upstream.name, answer.get("result"))

    def done(self) -> None:
        """The host has its answer."""
        if not self.is_refused:
            self._context.outgoing.read(self._size)

    def ending(self) -> None:
        """Note the call before the host, which may end this process, has its answer."""
        if self.is_refused:
            return  # noted as what it was
        ms = (time.perf_counter() - self._began) * 1000
        self._context.journal.add(
            "call",
            tool=self._tool_id,
            ms=ms,
            problem=self._problem,
            **({"detail": behind} if (behind := behind_of(self.message, self._problem)) else {}),
        )

    def unreached(self, reason: str) -> None:
        """The server could not be reached."""
        self._context.journal.add("error", tool=self._tool_id, problem=reason)
