"""The gates of one tool as lines: passed, failed or not asked, each with its value."""

from dataclasses import dataclass

from app.core.settings import RoutingSettings
from app.ranking import phrases
from app.ranking.gates import BUDGET, GATES, SCORE, TOP_K
from app.ranking.phrases import short
from app.ranking.ranked import Ranked, RankedTool

PASSED, FAILED, NOT_ASKED = "passed", "failed", "not asked"


@dataclass(frozen=True, slots=True)
class Line:
    """The score gate's limit for a query: on the score, or on the meaning alone."""

    value: float
    by_meaning: bool
    drawn: bool = True  # False for a host's own search, which has no such gate

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
    """All gates in their order; those after the one that fails were not asked."""
    failed = GATES.index(tool.gate) if tool.gate else len(GATES)
    passed = {
        **phrases.PASSED,
        TOP_K: _place(tool, ranked, settings),
        BUDGET: _room(ranked, settings),
    }
    problem = phrases.value(tool.verdict) if tool.gate else ""
    lines = []
    for place, gate in enumerate(GATES):
        state = PASSED if place < failed else FAILED if place == failed else NOT_ASKED
        value = {PASSED: passed.get(gate, ""), FAILED: problem}.get(state, "")
        if gate == SCORE:  # known of every tool, whichever gate it fails
            value = _score(tool, line)
        lines.append(GateLine(gate, phrases.title(gate), state, value))
    return tuple(lines)


def _score(tool: RankedTool, line: Line) -> str:
    if tool.verdict.pinned:
        return "pinned"
    value = line.of(tool)
    if value < line.value:
        return phrases.below(value, line.value)
    return f"{value:.2f} ≥ {line.value:.2f}"


def _place(tool: RankedTool, ranked: Ranked, settings: RoutingSettings) -> str:
    if tool.verdict.pinned:
        return "pinned"
    queue = [t.tool_id for t in ranked.shown if not t.verdict.pinned]
    place = queue.index(tool.tool_id) + 1 if tool.tool_id in queue else tool.rank
    return f"place {place} of {settings.k}" if settings.k else "no limit"


def _room(ranked: Ranked, settings: RoutingSettings) -> str:
    if not settings.token_budget:
        return "no limit"
    return f"{short(ranked.tokens)} of {short(settings.token_budget)}"
