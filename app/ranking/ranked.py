"""A routing decision as data: every tool with its score, its parts and its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.ranking.gates import Cut, Verdict

# names of a score's parts, as the window shows them
WORDS = "Words"
MEANING = "Meaning"
PAST_USE = "Past use"
REQUESTS = "Requests"
SERVER = "Server"
ORDER = "Order of steps"
QUESTION = "Question"


@dataclass(frozen=True, slots=True)
class Request:
    """Request for tools; `server` and `tool` are an agent's structured request (MCP-Zero, 3.1)."""

    query: str
    server: str = ""
    tool: str = ""


@dataclass(slots=True)  # not frozen: a step of the threshold makes 10,000, at half the cost
class RankedTool:
    """One tool in a ranking; `parts` sum to `score`. Never changed."""

    id: int  # row id in the store
    tool_id: str  # server/tool
    server: str
    name: str
    rank: int  # from 1, by score
    score: float  # fused, 0 to 1, relative to this query
    iso: float | None  # cosine of query and summary, None without an encoder
    keyword: float  # bm25, 0 when no word matches
    parts: tuple[tuple[str, float], ...]
    matched: tuple[str, ...]  # words of the query that its text holds; none in a limited search
    tokens: int  # of its host text
    step: int  # of the query's steps, the one it serves best; -1: none
    verdict: Verdict

    @property
    def gate(self) -> str:
        """The first gate that fails, "" when it is in."""
        return self.verdict.gate

    @property
    def shown(self) -> bool:
        """True if it is in: the model would get it."""
        return not self.verdict.gate


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query's answer, best tool first."""

    query: str
    tools: tuple[RankedTool, ...]
    tokens: int  # of the tools that are in
    note: str  # a sentence about the whole answer, "" when there is nothing to say
    cut: Cut  # the score gate that the tools met
    words_only: bool  # no encoder, or no embeddings: only words were compared
    nearest: RankedTool | None  # the best tool whatever the gates say, None without tools
    # The cosine below which nothing fits this query: of the settings, or of the scan for it.
    floor: float = 0.0
    # True if the best cosine reaches the floor, in whatever language. A search may answer without
    # it (only English is refused); what speaks unasked, as a hook does, keeps silent.
    likely: bool = False
    steps: tuple[str, ...] = ()  # of a request with several, in its own words
    labelled: frozenset[int] = frozenset()  # tools that labels expect for this very query
    # a tool that would be before all that are on, were it (or its server) not switched off
    best_off: RankedTool | None = None

    # the tools that are in, best first; the window asks several times a frame of a drag
    shown: tuple[RankedTool, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        inside = tuple(tool for tool in self.tools if not tool.verdict.gate)
        object.__setattr__(self, "shown", inside)


def first_of_steps(tools: Sequence[RankedTool]) -> dict[int, RankedTool]:
    """The best tool of each step that any of these tools serves, in the request's order.

    Nothing where they serve fewer than two: then one list says as much. Each tool is where the
    merged list put it best; the best of each step ranked for itself found fewer.
    """
    first: dict[int, RankedTool] = {}
    for tool in tools:
        if tool.step >= 0:
            first.setdefault(tool.step, tool)
    return dict(sorted(first.items())) if len(first) > 1 else {}
