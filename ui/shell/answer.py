"""A query's answer under given settings, and what dragging the threshold makes of it."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from app.core.settings import RoutingSettings
from app.ranking import phrases
from app.ranking.gates import TRUSTED, Cut
from app.ranking.ranked import PAST_USE, Ranked, RankedTool
from app.ranking.router import Router, Scored
from ui.shell.gate_lines import Line
from ui.shell.strip_marks import HELD, IN, OUT, WANTED, Mark


@dataclass(frozen=True, slots=True)
class Answer:
    """Scores that are there, judged; asking with other settings scores nothing again."""

    router: Router
    scored: Scored
    settings: RoutingSettings
    ranked: Ranked
    moves: Mapping[str, int]  # places that past use moves a tool up, by tool id; 0 left out
    engine: str = ""  # the host's search that ranked, "" for Toolcrib's own

    @property
    def cut(self) -> Cut:
        """The score gate that the tools met."""
        return self.ranked.cut

    @property
    def line(self) -> Line:
        """The score gate's limit."""
        by_meaning = self.cut.setting != "delta"
        return Line(self.cut.needed, by_meaning=by_meaning, drawn=not self.engine)

    def judged(self, settings: RoutingSettings) -> "Answer":
        """The same scores under other settings, which a host's search knows nothing of."""
        if self.engine:
            return replace(self, settings=settings)
        return judge(self.router, self.scored, settings, moves=self.moves)

    def moved_to(self, value: float) -> RoutingSettings:
        """The settings that put the line at this value."""
        if self.cut.setting == "delta":
            return replace(self.settings, delta=round(max(0.0, self.cut.top - value), 3))
        if self.cut.setting == "floor":
            return replace(self.settings, floor=round(value, 3))
        return replace(self.settings, theta=round(value, 3))

    def marks(self, expected: Set[str] = frozenset()) -> tuple[Mark, ...]:
        """One mark a tool for the score strip; `expected` are tool ids of labels."""
        line = self.line
        return tuple(
            Mark(t.tool_id, line.of(t), WANTED if t.tool_id in expected else state_of(t))
            for t in self.ranked.tools
        )

    def why(self, tool: RankedTool) -> str:
        """Reason that a tool is in or out, as a sentence without its full stop."""
        return phrases.found_by(tool) if self.engine else phrases.why_beside(tool.verdict)

    def find(self, tool_id: str) -> RankedTool | None:
        """One tool of the ranking."""
        return next((tool for tool in self.ranked.tools if tool.tool_id == tool_id), None)


def judge(
    router: Router,
    scored: Scored,
    settings: RoutingSettings,
    *,
    moves: Mapping[str, int] | None = None,
) -> Answer:
    """Scores judged under these settings; touches no database."""
    ranked = router.judge(scored, settings=settings)
    return Answer(router, scored, settings, ranked, moves or {})


def scored_by(settings: RoutingSettings) -> tuple[object, ...]:
    """The settings that scores depend on; all others only judge them."""
    return settings.learned, settings.word_weights


def rank_query(router: Router, query: str, settings: RoutingSettings) -> Answer:
    """A query's answer, with what past use moves in it."""
    scored = router.score(query, learned=settings.learned)
    if not any(name == PAST_USE for c in scored.candidates[:1] for name, _ in c.parts):
        return judge(router, scored, settings)
    plain = router.score(query, learned=False).candidates
    before = {c.row.tool.tool_id: rank for rank, c in enumerate(plain, 1)}
    after = {c.row.tool.tool_id: rank for rank, c in enumerate(scored.candidates, 1)}
    moves = {tool: before[tool] - rank for tool, rank in after.items() if before[tool] != rank}
    return judge(router, scored, settings, moves=moves)


def state_of(tool: RankedTool) -> str:
    """IN, OUT or HELD."""
    if tool.shown:
        return IN
    return HELD if tool.gate == TRUSTED else OUT
