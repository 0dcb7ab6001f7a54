"""What a routing decision says: every tool with its score, its parts, its gate and a sentence."""

from dataclasses import dataclass

ON = "on"
TRUSTED = "trusted"
PRECONDITION = "precondition"
SCORE = "score"
TOP_K = "top-k"
BUDGET = "budget"
GATES = (ON, TRUSTED, PRECONDITION, SCORE, TOP_K, BUDGET)

# names of a score's parts, as the window shows them
WORDS = "Words"
MEANING = "Meaning"
PAST_USE = "Past use"
SERVER = "Server"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; `server` and `tool` are an agent's structured request (MCP-Zero, 3.1)."""

    query: str
    server: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Remedy:
    """The smallest change that would let a tool in.

    `setting` is a name of RoutingSettings, or a tool's tick: on, trusted, pinned, precondition;
    several joined by "," belong together.
    """

    setting: str
    value: float | int | str | bool
    sentence: str


@dataclass(frozen=True, slots=True)
class RankedTool:
    """One tool in a ranking; `parts` sum to `score`."""

    id: int  # row id in the store
    tool_id: str  # server/tool
    server: str
    name: str
    rank: int  # from 1, by score
    score: float  # fused, 0 to 1, relative to this query
    iso: float | None  # cosine of query and summary, None without an encoder
    keyword: float  # bm25, 0 when no word matches
    parts: tuple[tuple[str, float], ...]
    matched: tuple[str, ...]  # words of the query that the tool's text holds
    shown: bool  # in: the model would get it
    gate: str  # the first gate that fails, "" when in
    why: str
    remedy: Remedy | None  # None when in
    tokens: int  # of its host text


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query's answer, best tool first."""

    query: str
    tools: tuple[RankedTool, ...]
    tokens: int  # of the tools that are in
    note: str  # a sentence about the whole answer, "" when there is nothing to say
    words_only: bool  # no encoder, or no embeddings: only words were compared
    nearest: RankedTool | None  # the best tool whatever the gates say, None without tools

    @property
    def shown(self) -> tuple[RankedTool, ...]:
        """The tools that are in, best first."""
        return tuple(tool for tool in self.tools if tool.shown)
