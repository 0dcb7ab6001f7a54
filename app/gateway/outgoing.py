"""Data in calls, compared with the results of the host's servers before they are sent."""

import json
import threading
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial

from app.gateway.host_request import HostRequest
from app.gateway.journal import Journal
from app.gateway.profile_view import ProfileView
from app.mcp.protocol import text_result
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from app.safety.flow import DataFlow, Flow

WARN, ASK, REFUSE = "warn", "ask", "refuse"  # settings: gateway.secrets_out, gateway.passages_out
_MOST_TOOLS = 5_000  # whose ways out are remembered
_SMALL = 1 << 14  # bytes of a result that may wait to be read
_AT_ONCE = 8  # results on the pile, at which they are read
# asks the host's user whether a call may go on and passes on the form's action (accept, decline,
# cancel, "" for an error); False where the host cannot be asked
Ask = Callable[[HostRequest, str, Callable[[str], None]], bool]
ACCEPT, DECLINE = "accept", "decline"


class ResultHistory:
    """Secrets and passages of the results that one host got; usable from any thread.

    A result is only put on a pile before the host has it. It is read right after, small ones
    several at once, which takes half of the time; the next call that could carry any of it out
    reads what is left.
    """

    __slots__ = ("__weakref__", "_flow", "_lock", "_new")

    def __init__(self) -> None:
        self._new: deque[tuple[str, Json]] = deque()
        self._lock = threading.Lock()
        self._flow: DataFlow | None = None

    def note(self, server: str, result: Json) -> None:
        """A result is on its way to the host."""
        self._new.append((server, result))

    def read(self, size: int = 0) -> None:
        """Read what was put on the pile, unless it is little; `size` of the last one's line."""
        waits = 0 < size <= _SMALL and len(self._new) < _AT_ONCE
        if self._new and not waits:
            with self._lock:
                self._read()

    def carried(self, server: str, name: str, arguments: object) -> "Flow | None":
        """Flow of earlier results into a call of a tool that can send; None for nothing."""
        with self._lock:
            return self._read().carried(server, name, arguments)

    def _read(self) -> "DataFlow":
        if self._flow is None:
            from app.safety.flow import DataFlow

            self._flow = DataFlow()
        while self._new:
            self._flow.note_result(*self._new.popleft())
        return self._flow


@lru_cache(maxsize=_MOST_TOOLS)
def _can_send(raw: str) -> bool:
    """True if the tool of this text can carry data out."""
    from app.safety.flow import can_send

    return can_send(json.loads(raw))


class Outgoing:
    """Notes, asks about or refuses calls that carry data out, as the profile says."""

    def __init__(
        self, seen: ResultHistory, view: ProfileView, journal: Journal, question: Ask
    ) -> None:
        self._seen = seen
        self._view = view
        self._journal = journal
        self._question = question

    def note(self, server: str, result: object) -> None:
        """A result of a server is on its way to the host."""
        if isinstance(result, dict):
            self._seen.note(server, result)

    def read(self, size: int) -> None:
        """Read the results that the host has by now; `size` of the last one's line, 0 unknown."""
        self._seen.read(size)

    def look(self, server: str, raw: str, name: object, arguments: object) -> "Flow | None":
        """Flow in a call; `raw` is the tool's stored text, "" when it was not read."""
        if not arguments or not _can_send(raw or json.dumps({"name": name})):
            return None
        return self._seen.carried(server, str(name), arguments)

    def settle(self, flow: "Flow", call: HostRequest, send: Callable[[], None]) -> None:
        """Send the call, refuse it, or do what the user answers; each is noted in the journal.

        A host that cannot ask its user refuses where the profile wants that he is asked.
        """
        setting = f"{flow.kind}s_out"
        choice = self._view.setting(setting, WARN)
        if choice not in (ASK, REFUSE):
            self._note(flow, "sent")
            send()
        elif choice == ASK:
            answered = call.guarded(partial(self._answered, flow, call, send))
            if not self._question(call, f"{flow.sentence} May it be sent?", answered):
                why = "Your profile wants you asked first, which this host cannot do."
                self._refuse(flow, call, why)
        else:
            self._refuse(flow, call, f"The profile refuses it (gateway.{setting}).")

    def _answered(
        self, flow: "Flow", call: HostRequest, send: Callable[[], None], action: str
    ) -> None:
        if action == ACCEPT:
            self._note(flow, "sent, the user agreed")
            send()
        else:
            self._refuse(flow, call, "The user did not agree.")

    def _refuse(self, flow: "Flow", call: HostRequest, why: str) -> None:
        self._note(flow, "refused")
        hint = "Leave it out, and tell the user which text asked for it."
        text = f"{flow.tool} was not called. {flow.sentence} {why} {hint}"
        call.refused(text_result(text, is_error=True))

    def _note(self, flow: "Flow", decision: str) -> None:
        detail = {"kind": flow.kind, "from": flow.source, "decision": decision}
        problem = f"{flow.sentence} It was {decision}."
        self._journal.add("data_out", tool=flow.tool, problem=problem, detail=detail)
