"""State of one conversation: its loaded tools, its calls, the conditions it reached."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from app.gateway.menu.loop_guard import LoopGuard

MOST_SESSIONS = 64
_MOST_CALLED = 500  # tool ids remembered for after(...)
_MOST_SEARCHES = 5  # recent ones that a new search is compared with
OVERLAP = 0.6  # share of tools two answers have in common to be called alike (Jaccard)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on loaded tools: their number, their tokens, and the time without use."""

    tools: int = 40
    tokens: int = 20_000
    idle_seconds: float = 1800.0


@dataclass(slots=True)
class Loaded:
    """A tool whose full schema the model has."""

    tool_id: str
    tokens: int
    used: float


class LoadedSet:
    """The tools in the model's hands: idle ones leave first, then the least recently used."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._tools: OrderedDict[str, Loaded] = OrderedDict()

    def __contains__(self, tool_id: str) -> bool:
        return tool_id in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def ids(self) -> tuple[str, ...]:
        """The loaded tools, least recently used first."""
        return tuple(self._tools)

    @property
    def tokens(self) -> int:
        """Tokens of all loaded schemas."""
        return sum(tool.tokens for tool in self._tools.values())

    def load(self, tool_id: str, tokens: int, now: float) -> list[str]:
        """Load or touch a tool; the ids of those that had to go."""
        gone = self.expire(now)
        self._tools[tool_id] = Loaded(tool_id, tokens, now)
        self._tools.move_to_end(tool_id)
        return gone + self._shrink(keep=tool_id)

    def touch(self, tool_id: str, now: float) -> None:
        """Note that a loaded tool was used."""
        tool = self._tools.get(tool_id)
        if tool is not None:
            tool.used = now
            self._tools.move_to_end(tool_id)

    def evict(self, tool_id: str) -> bool:
        """Take a tool away; whether it was there."""
        return self._tools.pop(tool_id, None) is not None

    def expire(self, now: float) -> list[str]:
        """Drop what was idle for too long."""
        old = [
            tool.tool_id
            for tool in self._tools.values()
            if now - tool.used > self._limits.idle_seconds
        ]
        for tool_id in old:
            del self._tools[tool_id]
        return old

    def _shrink(self, keep: str) -> list[str]:
        gone: list[str] = []
        for tool_id in list(self._tools):
            if len(self._tools) <= self._limits.tools and self.tokens <= self._limits.tokens:
                break
            if tool_id != keep:
                del self._tools[tool_id]
                gone.append(tool_id)
        return gone


@dataclass(slots=True)
class Session:
    """One conversation's state."""

    loaded: LoadedSet
    guard: LoopGuard
    lock: threading.RLock = field(default_factory=threading.RLock)  # calls end on any thread
    called: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_CALLED))
    milestones: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)  # servers that answered with an auth error
    searches: deque[tuple[str, frozenset[str]]] = field(
        default_factory=lambda: deque(maxlen=_MOST_SEARCHES)
    )
    turn: int = 0
    generation: int = 0  # of the catalogue that it was served from last
    used: float = 0.0

    def note_call(self, tool_id: str, *, succeeded: bool) -> None:
        """Remember a call that succeeded, for after(pattern)."""
        if succeeded and tool_id not in self.called:
            self.called.append(tool_id)

    def redundant(self, query: str, tools: Iterable[str]) -> str:
        """The recent query whose answer is much the same, "" when this one is news."""
        answer = frozenset(tools)
        match = ""
        for earlier, names in self.searches:
            if answer and len(answer & names) / len(answer | names) >= OVERLAP:
                match = earlier
        self.searches.append((query, answer))
        return match


class Sessions:
    """Conversations by key; bounded in number, the longest unused is forgotten first."""

    def __init__(
        self,
        make: Callable[[], Session],
        *,
        most: int = MOST_SESSIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._most = most
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, key: str) -> Session:
        """The conversation of that key, made when it is new."""
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = self._make()
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(key)
        session.used = self._clock()
        return session

    def expire(self, idle_seconds: float) -> None:
        """Forget conversations that were silent for too long."""
        now = self._clock()
        for key in [k for k, s in self._sessions.items() if now - s.used > idle_seconds]:
            del self._sessions[key]
