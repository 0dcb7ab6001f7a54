"""The six gates of one tool as lines: passed, failed or not asked, each with its value."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.routing.gates import PINNED_IN, short
from app.routing.ranked import (
    BUDGET,
    GATES,
    ON,
    PRECONDITION,
    SCORE,
    TOP_K,
    TRUSTED,
    Ranked,
    RankedTool,
)
from app.settings import RoutingSettings

PASSED, FAILED, NOT_ASKED = "passed", "failed", "not asked"
TITLES = {
    ON: "Turned on",
    TRUSTED: "Trusted",
    PRECONDITION: "Precondition",
    SCORE: "Score",
    TOP_K: "Top-k",
    BUDGET: "Token budget",
}
_EARLY = {ON: "in this profile", TRUSTED: "text as trusted", PRECONDITION: "none, or met"}


@dataclass(frozen=True, slots=True)
class Line:
    """Where the score gate stands for a query: on the score, or on the meaning alone."""

    value: float
    by_meaning: bool

    def of(self, tool: RankedTool) -> float:
        """The figure of a tool that the gate compares."""
        return (tool.iso or 0.0) if self.by_meaning else tool.score


@dataclass(frozen=True, slots=True)
class GateLine:
    """One gate of the explain card."""

    gate: str
    title: str
    state: str  # passed | failed | not asked
    value: str


def gate_lines(
    tool: RankedTool, ranked: Ranked, *, line: Line, settings: RoutingSettings
) -> tuple[GateLine, ...]:
    """All six gates in their order; those after the one that fails were not asked."""
    failed = GATES.index(tool.gate) if tool.gate else len(GATES)
    values = dict(_values(tool, ranked, line, settings))
    return tuple(_line(gate, n, failed, values[gate]) for n, gate in enumerate(GATES))


def _line(gate: str, place: int, failed: int, value: str) -> GateLine:
    if place == failed:
        return GateLine(gate, TITLES[gate], FAILED, value)
    state = PASSED if place < failed else NOT_ASKED
    told = gate == SCORE or state == PASSED
    return GateLine(gate, TITLES[gate], state, value if told else "")


def _values(
    tool: RankedTool, ranked: Ranked, line: Line, settings: RoutingSettings
) -> Iterator[tuple[str, str]]:
    for gate, passed in _EARLY.items():
        yield gate, _lower(tool.why) if tool.gate == gate else passed
    pinned = tool.why == PINNED_IN
    value = line.of(tool)
    sign = "≥" if value >= line.value else "<"
    yield SCORE, "pinned" if pinned else f"{value:.2f} {sign} {line.value:.2f}"
    yield TOP_K, "pinned" if pinned else _place(tool, ranked, settings)
    yield BUDGET, _room(tool, ranked, settings)


def _place(tool: RankedTool, ranked: Ranked, settings: RoutingSettings) -> str:
    if tool.gate == TOP_K:
        return _lower(tool.why)
    queue = [t.tool_id for t in ranked.shown if t.why != PINNED_IN]
    place = queue.index(tool.tool_id) + 1 if tool.tool_id in queue else tool.rank
    return f"place {place} of {settings.k}" if settings.k else "no limit"


def _room(tool: RankedTool, ranked: Ranked, settings: RoutingSettings) -> str:
    if tool.gate == BUDGET:
        return _lower(tool.why)
    if not settings.token_budget:
        return "no limit"
    return f"{short(ranked.tokens)} of {short(settings.token_budget)}"


def _lower(sentence: str) -> str:
    text = sentence.partition(": ")[2] or sentence
    return text[:1].lower() + text[1:]
