"""Gates: on, trusted, precondition, score, top-k, budget; the first that fails is the reason.

A verdict is data. A new gate is a function here and a row in EARLY or LATE; words of its own
go into app.ranking.phrases.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.catalog import reasons
from app.catalog.availability import Conditions, Reason
from app.catalog.catalog import CatalogTool
from app.catalog.conditions import State
from app.core.settings import RoutingSettings

ON = "on"
TRUSTED = "trusted"
PRECONDITION = "precondition"
SCORE = "score"
TOP_K = "top-k"
BUDGET = "budget"

THETA = "theta"
PIN = "pinned"  # a remedy beside the names of settings and gates
# below it a tool has no score at all, and never passes a relative cut
LEAST_SCORE = 1e-6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool with its scores, before any gate."""

    row: CatalogTool
    score: float
    iso: float | None
    keyword: float
    parts: tuple[tuple[str, float], ...]
    step: int = -1  # of the query's steps, the one it serves best


@dataclass(frozen=True, slots=True)
class Remedy:
    """The smallest change that would let a tool in.

    `changes` are names of RoutingSettings (then `value` is the new value), gates that fail before
    the score counts, or PIN; several belong together.
    """

    changes: tuple[str, ...]
    value: float | int = 0


@dataclass(slots=True)  # not frozen: made as often as RankedTool
class Verdict:
    """Result of the gates for a tool: `gate` is the first that fails, "" if none. Never changed."""

    gate: str
    pinned: bool = False  # in without regard to score, top-k and budget
    have: float = 0.0  # the tool's figure at that gate: score, place, tokens used before it
    needed: float = 0.0  # what the gate asks for: least score, last place, budget
    reasons: tuple[Reason, ...] = ()  # why it is out before its score counts
    remedy: Remedy | None = None  # None when in


@dataclass(frozen=True, slots=True)
class Cut:
    """The score gate of one query: what a tool must reach."""

    setting: str  # theta | delta | floor: what would have to change
    needed: float
    top: float
    line: float = 0.0  # of a floor: the score that the relative cut would ask for without it

    @property
    def fits(self) -> bool:
        """True if the best tool reaches the floor; else only pinned ones are in."""
        return self.setting != "floor"

    def value(self, candidate: Candidate) -> float:
        """The figure of a tool that this gate compares."""
        return candidate.score if self.setting == "delta" else candidate.iso or 0.0

    def passes(self, candidate: Candidate) -> bool:
        """True if the tool reaches it; none passes a floor that the best did not reach."""
        return self.fits and self.value(candidate) >= self.needed


@dataclass(slots=True)
class Occupancy:
    """Places and tokens used before a tool's turn, and those used if all before it were in."""

    settings: RoutingSettings
    cut: Cut
    used: int  # tokens of what is in; pinned tools take theirs first
    taken: int = 0  # places given away or refused
    ahead: int = 0
    ahead_tokens: int = 0

    def has_room(self, cost: int) -> bool:
        """True if a tool would get in here for certain."""
        free = not self.settings.k or self.ahead < self.settings.k
        return free and self.fits(self.ahead_tokens, cost)

    def fits(self, used: int, cost: int) -> bool:
        """True if the token budget holds this much more."""
        return not self.settings.token_budget or used + cost <= self.settings.token_budget

    def add(self, verdict: Verdict, cost: int) -> None:
        """Count a tool that is not pinned and that nothing kept out early."""
        self.ahead, self.ahead_tokens = self.ahead + 1, self.ahead_tokens + cost
        if verdict.gate in ("", TOP_K, BUDGET):
            self.taken += 1
        if not verdict.gate:
            self.used += cost


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict per candidate, and the score gate that they met."""

    verdicts: tuple[Verdict, ...]
    cut: Cut


# ---- before the score counts

EarlyGate = Callable[[CatalogTool, Conditions, State], Reason | None]


def _off(row: CatalogTool, _conditions: Conditions, _state: State) -> Reason | None:
    return None if row.on else Reason(reasons.OFF)


def _withheld(row: CatalogTool, _conditions: Conditions, _state: State) -> Reason | None:
    for reason in row.reasons:
        if reason.kind != reasons.OFF:
            return reason
    return None


def _unmet(row: CatalogTool, conditions: Conditions, state: State) -> Reason | None:
    if not conditions.preconditions:
        return None
    reason = conditions.reason(row.tool.tool_id, state)
    return reason if reason and reason.kind == reasons.PRECONDITION else None


EARLY: Mapping[str, EarlyGate] = {ON: _off, TRUSTED: _withheld, PRECONDITION: _unmet}


# ---- by score and room

LateGate = Callable[[Candidate, Occupancy], Verdict | None]


def _score(candidate: Candidate, occupancy: Occupancy) -> Verdict | None:
    cut = occupancy.cut
    if cut.passes(candidate):
        return None
    remedy = _score_remedy(candidate, occupancy)
    return Verdict(SCORE, have=cut.value(candidate), needed=cut.needed, remedy=remedy)


def _score_remedy(candidate: Candidate, occupancy: Occupancy) -> Remedy:
    cut, settings = occupancy.cut, occupancy.settings
    least = LEAST_SCORE if cut.setting == "delta" else 0.0
    if not occupancy.has_room(candidate.row.cost) or cut.value(candidate) <= least:
        return _PIN
    if cut.setting == "delta":
        return Remedy(("delta",), math.ceil((cut.top - candidate.score) * 100 + 1e-6) / 100)
    if not cut.fits and not _passes_without_floor(candidate, cut, settings):
        return _PIN
    reached = cut.value(candidate) if cut.fits else cut.top
    return Remedy((cut.setting,), math.floor(reached * 100) / 100)


def _passes_without_floor(candidate: Candidate, cut: Cut, settings: RoutingSettings) -> bool:
    """True if the best tool is held up by the floor alone (the others need more than that)."""
    if settings.cut == THETA:
        return (candidate.iso or 0.0) >= settings.theta
    return candidate.iso == cut.top and candidate.score >= cut.line


def _top_k(candidate: Candidate, occupancy: Occupancy) -> Verdict | None:
    k, place = occupancy.settings.k, occupancy.taken + 1
    if not k or place <= k:
        return None
    free = occupancy.fits(occupancy.ahead_tokens, candidate.row.cost)
    return Verdict(TOP_K, have=place, needed=k, remedy=Remedy(("k",), place) if free else _PIN)


def _budget(candidate: Candidate, occupancy: Occupancy) -> Verdict | None:
    cost = candidate.row.cost
    if occupancy.fits(occupancy.used, cost):
        return None
    wider = Remedy(("token_budget",), occupancy.ahead_tokens + cost)
    return Verdict(
        BUDGET, have=occupancy.used, needed=occupancy.settings.token_budget, remedy=wider
    )


_IN = Verdict("")
_PIN = Remedy((PIN,))
LATE: Mapping[str, LateGate] = {SCORE: _score, TOP_K: _top_k, BUDGET: _budget}
GATES = (*EARLY, *LATE)


def judge(
    candidates: Sequence[Candidate],
    settings: RoutingSettings,
    *,
    conditions: Conditions | None = None,
    state: State | None = None,
    order: Sequence[str] = tuple(EARLY),
    best: float = 0.0,
) -> Judged:
    """A verdict per candidate (given best first); `order` only decides which reason is named.

    `best` is the score of a better tool that cannot be had: the relative cut counts from it.
    """
    conditions = conditions or Conditions()
    session = state or State()
    early = [_early(c.row, conditions, session, order) for c in candidates]
    free = [c for c, failed in zip(candidates, early, strict=True) if not failed]
    pinned = sum(c.row.cost for c in free if c.row.pinned)
    occupancy = Occupancy(settings, _cut(free, settings, best), pinned, ahead_tokens=pinned)
    verdicts = []
    for candidate, failed in zip(candidates, early, strict=True):
        if failed:
            verdicts.append(_kept_out(candidate, failed, occupancy))
        elif candidate.row.pinned:
            verdicts.append(Verdict("", pinned=True))
        else:
            verdict = _late(candidate, occupancy)
            occupancy.add(verdict, candidate.row.cost)
            verdicts.append(verdict)
    return Judged(tuple(verdicts), occupancy.cut)


def _cut(free: Sequence[Candidate], settings: RoutingSettings, best: float) -> Cut:
    """Limit of the score gate for the tools that no other gate keeps out."""
    top = max([best, *(c.score for c in free)])
    isos = [c.iso for c in free if c.iso is not None]
    nearest = max(isos, default=None)
    line = max(top - settings.delta, LEAST_SCORE)
    if nearest is not None and nearest < settings.floor:
        return Cut("floor", settings.floor, nearest, line)
    if settings.cut == THETA and nearest is not None:
        return Cut("theta", settings.theta, nearest)
    return Cut("delta", line, top)


def _early(
    row: CatalogTool, conditions: Conditions, state: State, order: Sequence[str]
) -> Mapping[str, Reason]:
    """The early gates that a tool fails, in that order, with the reasons."""
    failed = {}
    for gate in order:  # a loop: at 10,000 tools a step of the threshold judges each of them
        reason = EARLY[gate](row, conditions, state)
        if reason is not None:
            failed[gate] = reason
    return failed


def _kept_out(candidate: Candidate, failed: Mapping[str, Reason], occupancy: Occupancy) -> Verdict:
    row = candidate.row
    enough = row.pinned or (occupancy.cut.passes(candidate) and occupancy.has_room(row.cost))
    remedy = Remedy((*failed, *(() if enough else (PIN,))))
    return Verdict(next(iter(failed)), reasons=tuple(failed.values()), remedy=remedy)


def _late(candidate: Candidate, occupancy: Occupancy) -> Verdict:
    for gate in LATE.values():
        verdict = gate(candidate, occupancy)
        if verdict is not None:
            return verdict
    return _IN
