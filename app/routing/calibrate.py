"""Calibration: which theta and delta serve labelled queries best, with how much certainty.

theta from .10 to .50 by .02 (arXiv 2604.21816, 5.2), delta likewise from 0; numpy is loaded by use.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.routing.floor import calibrated_floor, nearest_iso
from app.routing.gates import THETA
from app.routing.router import Router
from app.settings import RoutingSettings
from store.records import LabelRecord

THETAS = tuple(round(0.10 + 0.02 * step, 2) for step in range(21))
DELTAS = tuple(round(0.02 * step, 2) for step in range(31))
LEAST = 20  # labelled queries; with fewer nothing is chosen
HELD_FROM = 30  # from here on a third is held out to judge what the others chose
RESAMPLES = 1000
BAND = (2.5, 97.5)  # per cent
_POOL = 100  # best tools of a query that are looked at
_SEED = 7

TOO_FEW = "Too few labelled queries: {} of {}."


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled query with its best tools: ids, fused scores and cosines, best score first."""

    query: str
    expected: frozenset[str]
    tools: tuple[str, ...]
    scores: tuple[float, ...]
    isos: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Served:
    """What one query gets at one setting; shares from 0 to 1."""

    recall: float
    precision: float
    f1: float
    active: int

    @property
    def passed(self) -> bool:
        """Whether every expected tool is in, or nothing where nothing is expected."""
        return self.recall == 1.0


@dataclass(frozen=True, slots=True)
class Point:
    """Means over queries at one value of a setting."""

    value: float
    f1: float
    recall: float
    precision: float
    active: float  # tools
    empty: float  # share of queries that get no tool


@dataclass(frozen=True, slots=True)
class Sweep:
    """One setting at all its values, and the chosen one."""

    setting: str  # theta | delta
    points: tuple[Point, ...]
    best: Point
    band: tuple[float, float]  # of the best F1, 95 % by bootstrap
    reached: bool  # the recall that was asked for; True when none was
    held: Point | None  # the chosen value on queries that did not choose it


@dataclass(frozen=True, slots=True)
class Calibration:
    """What calibrating found; sweeps are None with too few labelled queries."""

    queries: int
    unknown: int  # labelled queries whose tools are not in this catalogue
    floor: float
    theta: Sweep | None
    delta: Sweep | None
    note: str
    passed: Mapping[str, bool]  # by query, with the chosen values

    def settings(self, base: RoutingSettings) -> RoutingSettings:
        """The routing settings with what was found."""
        found = replace(base, floor=self.floor)
        if self.theta and self.delta:
            found = replace(found, theta=self.theta.best.value, delta=self.delta.best.value)
        return found


def calibrate(
    router: Router,
    labels: Sequence[LabelRecord],
    *,
    settings: RoutingSettings,
    chit_chat: Sequence[str] = (),
    target_recall: float = 0.0,
) -> Calibration:
    """Choose theta, delta and floor for the router's catalogue.

    What was learned from past use is left out of the scores: the labels may have taught it, and
    would flatter themselves.
    """
    cases, unknown = make_cases(router, labels)
    good = [max(case.isos, default=0.0) for case in cases if case.expected]
    floor = calibrated_floor([nearest_iso(router, query) for query in chit_chat], good)
    used = replace(settings, floor=floor)
    if len(cases) < LEAST:
        note = TOO_FEW.format(len(cases), LEAST)
        return Calibration(len(cases), unknown, floor, None, None, note, passes(cases, used))
    theta = sweep(cases, "theta", used, target_recall=target_recall)
    delta = sweep(cases, "delta", used, target_recall=target_recall)
    used = replace(used, theta=theta.best.value, delta=delta.best.value)
    return Calibration(len(cases), unknown, floor, theta, delta, "", passes(cases, used))


def make_cases(router: Router, labels: Sequence[LabelRecord]) -> tuple[list[Case], int]:
    """Labelled queries with their candidates, and how many name no tool of this catalogue."""
    known = set(router.tool_ids.values())
    wanted: dict[str, set[str]] = {}
    for label in labels:
        wanted.setdefault(label.query.strip(), set()).update(label.expected)
    cases, unknown = [], 0
    for query, expected in wanted.items():
        there = expected & known
        if not query or (expected and not there):
            unknown += 1
            continue
        found = router.score(query, limit=_POOL, learned=False).candidates
        cases.append(
            Case(
                query,
                frozenset(there),
                tuple(c.row.tool.tool_id for c in found),
                tuple(c.score for c in found),
                tuple(c.iso or 0.0 for c in found),
            )
        )
    return cases, unknown


def sweep(
    cases: Sequence[Case], setting: str, settings: RoutingSettings, *, target_recall: float = 0.0
) -> Sweep:
    """Every value of a setting, and the best by F1, or the leanest that reaches a recall."""
    chosen_by, held = split(cases)
    if setting == THETA:
        tried = [replace(settings, cut=THETA, theta=value) for value in THETAS]
    else:
        tried = [replace(settings, cut="relative", delta=value) for value in DELTAS]
    rows = [[serve(case, one) for case in chosen_by] for one in tried]
    points = [
        _mean(one.theta if setting == THETA else one.delta, row)
        for one, row in zip(tried, rows, strict=True)
    ]
    enough = [p for p in points if p.recall >= target_recall]
    if not target_recall:
        best = max(points, key=lambda p: (p.f1, p.recall))
    elif enough:
        best = min(enough, key=lambda p: (p.active, -p.f1))
    else:
        best = max(points, key=lambda p: (p.recall, p.f1))
    place = points.index(best)
    judged = [serve(case, tried[place]) for case in held]
    return Sweep(
        setting,
        tuple(points),
        best,
        bootstrap([one.f1 for one in rows[place]]),
        bool(enough),
        _mean(best.value, judged) if judged else None,
    )


def split(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """The queries that choose and those held out; the same ones each time."""
    order = sorted(cases, key=lambda case: case.query)
    if len(order) < HELD_FROM:
        return order, []
    random.Random(_SEED).shuffle(order)
    third = len(order) // 3
    return order[third:], order[:third]


def serve(case: Case, settings: RoutingSettings) -> Served:
    """What a query gets: the score gate and top-k, as app.routing.gates judges them."""
    active = _active(case, settings)
    hits = len(case.expected.intersection(active))
    if not case.expected:
        right = float(not active)
        return Served(right, right, right, len(active))
    recall = hits / len(case.expected)
    precision = hits / len(active) if active else 0.0
    both = recall + precision
    return Served(recall, precision, 2 * recall * precision / both if both else 0.0, len(active))


def _active(case: Case, settings: RoutingSettings) -> tuple[str, ...]:
    if max(case.isos, default=0.0) < settings.floor:
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


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % band of a mean, by resampling; the same each time."""
    import numpy as np

    if not values:
        return 0.0, 0.0
    drawn = np.random.default_rng(_SEED).choice(np.array(values), (RESAMPLES, len(values)))
    low, high = np.percentile(drawn.mean(axis=1), BAND)
    return float(low), float(high)


def _mean(value: float, rows: Sequence[Served]) -> Point:
    count = len(rows)
    return Point(
        value,
        f1=sum(one.f1 for one in rows) / count,
        recall=sum(one.recall for one in rows) / count,
        precision=sum(one.precision for one in rows) / count,
        active=sum(one.active for one in rows) / count,
        empty=sum(not one.active for one in rows) / count,
    )
