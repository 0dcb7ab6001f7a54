"""Labelled queries as cases: the router's results for them, and the effect of settings on those."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.core.settings import RoutingSettings
from app.ranking.floor import floor_for
from app.ranking.gates import THETA
from app.ranking.router import Router
from store.records import LabelRecord

_POOL = 100  # best tools of a query that are looked at


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled query with its best tools: ids, fused scores and cosines, best score first."""

    query: str
    expected: frozenset[str]
    tools: tuple[str, ...]
    scores: tuple[float, ...]
    isos: tuple[float, ...]
    floor: float = 0.0  # that holds where the settings have none of their own


@dataclass(frozen=True, slots=True)
class Served:
    """Measures of one query at one setting; shares from 0 to 1."""

    recall: float
    precision: float
    f1: float
    active: int

    @property
    def passed(self) -> bool:
        """True if every expected tool is in, or nothing where nothing is expected."""
        return self.recall == 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one query at one setting, tool by tool."""

    query: str
    hits: tuple[str, ...]  # expected tools that are in
    missing: tuple[str, ...]  # expected tools that are not
    active: tuple[str, ...]  # tools that are in, best first
    ranks: tuple[int, ...]  # of the expected tools among those looked at, from 1, ascending
    tokens: int  # of the tools that are in
    passed: bool

    @property
    def worst(self) -> int | None:
        """The rank of the last expected tool, None when one is not among those looked at."""
        whole = len(self.ranks) == len(self.hits) + len(self.missing)
        return self.ranks[-1] if whole and self.ranks else None


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of making cases; `case` is None for a query that names no tool known here."""

    done: int
    total: int
    query: str
    case: "Case | None"


def make_cases(
    router: Router,
    labels: Sequence[LabelRecord],
    *,
    tell: Callable[[Progress], None] = lambda _progress: None,
) -> tuple[list[Case], int]:
    """Labelled queries with their candidates, and how many name no tool of this catalogue.

    `tell` is called after each query; what it raises ends the work.
    """
    known = set(router.tool_ids.values())
    wanted = expected_tools(labels)
    cases: list[Case] = []
    for done, (query, expected) in enumerate(wanted.items(), 1):
        there = expected & known
        case = None if expected and not there else make_case(router, query, there)
        if case is not None:
            cases.append(case)
        tell(Progress(done, len(wanted), query, case))
    return cases, len(wanted) - len(cases)


def expected_tools(labels: Sequence[LabelRecord]) -> dict[str, set[str]]:
    """The tools of each query, whatever label they came from; queries without text left out."""
    wanted: dict[str, set[str]] = {}
    for label in labels:
        if label.query.strip():
            wanted.setdefault(label.query.strip(), set()).update(label.expected)
    return wanted


def make_case(router: Router, query: str, expected: set[str]) -> Case:
    """One query with its candidates; what was learned is left out of the scores."""
    scored = router.score(query, limit=_POOL, learned=False)
    candidates = scored.candidates
    return Case(
        query,
        frozenset(expected),
        tuple(c.row.tool.tool_id for c in candidates),
        tuple(c.score for c in candidates),
        tuple(c.iso or 0.0 for c in candidates),
        floor_for("" if scored.reading.translated else query, router.floor_of(scored)),
    )


def nearest_iso(router: Router, query: str) -> float:
    """The best cosine of a query with any tool that a host may get; 0 without an encoder."""
    candidates = router.score(query, limit=_POOL, learned=False).candidates
    return max((c.iso for c in candidates if c.iso is not None), default=0.0)


def serve(case: Case, settings: RoutingSettings) -> Served:
    """Measure a query by the score gate and top-k, as app.ranking.gates judges them."""
    active = active_tools(case, settings)
    hits = len(case.expected.intersection(active))
    if not case.expected:
        right = float(not active)
        return Served(right, right, right, len(active))
    recall = hits / len(case.expected)
    precision = hits / len(active) if active else 0.0
    both = recall + precision
    return Served(recall, precision, 2 * recall * precision / both if both else 0.0, len(active))


def active_tools(case: Case, settings: RoutingSettings) -> tuple[str, ...]:
    """The tools that are in, best first."""
    if max(case.isos, default=0.0) < (settings.floor or case.floor):
        return ()
    if settings.cut == THETA:
        passing = [t for t, iso in zip(case.tools, case.isos, strict=True) if iso >= settings.theta]
    else:
        needed = max(max(case.scores, default=0.0) - settings.delta, 1e-6)
        passing = [t for t, score in zip(case.tools, case.scores, strict=True) if score >= needed]
    return tuple(passing[: settings.k] if settings.k else passing)


def passes(cases: Sequence[Case], settings: RoutingSettings) -> dict[str, bool]:
    """By query, whether it gets what its label expects."""
    return {case.query: serve(case, settings).passed for case in cases}


def outcome(case: Case, settings: RoutingSettings, costs: Mapping[str, int]) -> Outcome:
    """Result of a query, tool by tool; `costs` are tokens by tool id."""
    active = active_tools(case, settings)
    return Outcome(
        case.query,
        tuple(tool for tool in active if tool in case.expected),
        tuple(sorted(case.expected.difference(active))),
        active,
        tuple(rank for rank, tool in enumerate(case.tools, 1) if tool in case.expected),
        sum(costs.get(tool, 0) for tool in active),
        serve(case, settings).passed,
    )
