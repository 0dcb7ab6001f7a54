"""Gates: on, trusted, precondition, score, top-k, budget; the first that fails is the reason."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.catalog import CatalogTool
from app.routing.ranked import BUDGET, ON, PRECONDITION, SCORE, TOP_K, TRUSTED, Remedy
from app.routing.state import Precondition, State, unmet
from app.settings import RoutingSettings

THETA = "theta"
PINNED_IN = "Pinned: always in"
IN = "Above threshold"
PIN = Remedy("pinned", True, "It would be in if you pinned it")
_EARLY = (ON, TRUSTED, PRECONDITION)


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a tool is in; `gate` is "" when it is."""

    gate: str
    why: str
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The score gate of one query: what a tool must reach."""

    setting: str  # theta | delta | floor: what would have to change
    needed: float
    top: float
    line: float = 0.0  # of a floor: the score that the relative cut would ask for without it

    def value(self, candidate: Candidate) -> float:
        """The figure of a tool that this gate compares."""
        return candidate.score if self.setting == "delta" else candidate.iso or 0.0

    def passes(self, candidate: Candidate) -> bool:
        """Whether the tool reaches it; nobody passes a floor that the best did not reach."""
        return self.setting != "floor" and self.value(candidate) >= self.needed

    def why(self, candidate: Candidate) -> str:
        """The sentence for a tool that does not pass."""
        value = self.value(candidate)
        said, needed = f"{value:.2f}", f"{self.needed:.2f}"
        if said == needed:
            said, needed = f"{value:.4f}", f"{self.needed:.4f}"
        return f"Score {said} is under {needed}"


@dataclass(frozen=True, slots=True)
class Missing:
    """What keeps a tool out before its score counts."""

    gate: str
    why: str
    cure: str  # after "if"
    value: str | bool = True


@dataclass(frozen=True, slots=True)
class Queue:
    """How full the loaded set would be when a tool's turn comes, were everything before it in."""

    ahead: int
    tokens: int

    def has_room(self, settings: RoutingSettings, cost: int) -> bool:
        """Whether a tool would get in here for certain."""
        free = not settings.k or self.ahead < settings.k
        return free and _fits(settings, self.tokens, cost)


def _fits(settings: RoutingSettings, used: int, cost: int) -> bool:
    return not settings.token_budget or used + cost <= settings.token_budget


def judge(
    candidates: Sequence[Candidate],
    settings: RoutingSettings,
    *,
    preconditions: Sequence[Precondition] = (),
    state: State | None = None,
    order: Sequence[str] = _EARLY,
) -> list[Verdict]:
    """A verdict per candidate (given best first); `order` only decides which reason is named."""
    session = state or State()
    missing = [_missing(c.row, preconditions, session, order) for c in candidates]
    free = [c for c, lacks in zip(candidates, missing, strict=True) if not lacks]
    cut = find_cut(free, settings)
    used = sum(c.row.cost for c in free if c.row.pinned)
    ahead, behind = 0, used
    taken, verdicts = 0, []
    for candidate, lacks in zip(candidates, missing, strict=True):
        cost, queue = candidate.row.cost, Queue(ahead, behind)
        if lacks:
            verdicts.append(_kept_out(candidate, lacks, cut, queue=queue, settings=settings))
            continue
        if candidate.row.pinned:
            verdicts.append(Verdict("", PINNED_IN))
            continue
        ahead, behind = ahead + 1, behind + cost
        if not cut.passes(candidate):
            verdicts.append(_under(candidate, cut, queue, settings))
        elif settings.k and taken >= settings.k:
            taken += 1
            verdicts.append(_too_late(taken, queue, settings, cost))
        elif not _fits(settings, used, cost):
            taken += 1
            verdicts.append(_no_room(used, behind, settings))
        else:
            taken, used = taken + 1, used + cost
            verdicts.append(Verdict("", IN))
    return verdicts


def find_cut(free: Sequence[Candidate], settings: RoutingSettings) -> Cut:
    """What the score gate asks of the tools that nothing else keeps out."""
    top = max((c.score for c in free), default=0.0)
    isos = [c.iso for c in free if c.iso is not None]
    nearest = max(isos, default=None)
    line = max(top - settings.delta, LEAST_SCORE)
    if nearest is not None and nearest < settings.floor:
        return Cut("floor", settings.floor, nearest, line)
    if settings.cut == THETA and nearest is not None:
        return Cut("theta", settings.theta, nearest)
    return Cut("delta", line, top)


def _missing(
    row: CatalogTool, preconditions: Sequence[Precondition], state: State, order: Sequence[str]
) -> tuple[Missing, ...]:
    if row.shown and not preconditions:
        return ()
    found: dict[str, Missing] = {}
    if not row.on:
        found[ON] = Missing(ON, "You turned it off", "you turned it on")
    if row.held or row.tool.problem:
        reason = row.held or row.tool.problem
        found[TRUSTED] = Missing(TRUSTED, f"Held back: {reason}", "you trusted it")
    condition = unmet(row.tool.tool_id, preconditions, state)
    if condition:
        why = f"Precondition: {condition.problem}"
        found[PRECONDITION] = Missing(PRECONDITION, why, condition.cure, condition.text)
    return tuple(found[gate] for gate in order if gate in found)


def _kept_out(
    candidate: Candidate,
    missing: Sequence[Missing],
    cut: Cut,
    *,
    queue: Queue,
    settings: RoutingSettings,
) -> Verdict:
    names = [lack.gate for lack in missing]
    cures = [lack.cure for lack in missing]
    passes = cut.passes(candidate) and queue.has_room(settings, candidate.row.cost)
    if not (candidate.row.pinned or passes):
        names.append("pinned")
        cures.append("you pinned it")
    sentence = f"It would be in if {' and '.join(cures)}"
    first = missing[0]
    return Verdict(first.gate, first.why, Remedy(",".join(names), first.value, sentence))


def _under(candidate: Candidate, cut: Cut, queue: Queue, settings: RoutingSettings) -> Verdict:
    why = cut.why(candidate)
    least = LEAST_SCORE if cut.setting == "delta" else 0.0
    if not queue.has_room(settings, candidate.row.cost) or cut.value(candidate) <= least:
        return Verdict(SCORE, why, PIN)
    if cut.setting == "delta":
        wider = math.ceil((cut.top - candidate.score) * 100 + 1e-6) / 100
        sentence = f"It would be in if the cut were {wider:.2f} below the best"
        return Verdict(SCORE, why, Remedy("delta", wider, sentence))
    if cut.setting == "floor" and not _passes_without_floor(candidate, cut, settings):
        return Verdict(SCORE, why, PIN)
    reached = cut.top if cut.setting == "floor" else cut.value(candidate)
    lower = math.floor(reached * 100) / 100
    noun = "floor" if cut.setting == "floor" else "threshold"
    sentence = f"It would be in if the {noun} were {lower:.2f}"
    return Verdict(SCORE, why, Remedy(cut.setting, lower, sentence))


def _passes_without_floor(candidate: Candidate, cut: Cut, settings: RoutingSettings) -> bool:
    """Whether the best tool alone is held up by the floor (the others need more than that)."""
    if settings.cut == THETA:
        return (candidate.iso or 0.0) >= settings.theta
    return candidate.iso == cut.top and candidate.score >= cut.line


def _too_late(place: int, queue: Queue, settings: RoutingSettings, cost: int) -> Verdict:
    why = f"Rank {place}, top-k is {settings.k}"
    if not _fits(settings, queue.tokens, cost):
        return Verdict(TOP_K, why, PIN)
    return Verdict(TOP_K, why, Remedy("k", place, f"It would be in if top-k were {place}"))


def _no_room(used: int, needed: int, settings: RoutingSettings) -> Verdict:
    why = f"No room: {short(used)} of {short(settings.token_budget)} used"
    sentence = f"It would be in if the budget were {short(needed)} tokens"
    return Verdict(BUDGET, why, Remedy("token_budget", needed, sentence))


def short(tokens: int) -> str:
    """A token count as the window writes it: 950, 19.8k, 120k."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 100_000:
        return f"{tokens / 1000:.1f}".removesuffix(".0") + "k"
    return f"{round(tokens / 1000)}k"
