"""Calibration: which theta and delta serve labelled queries best, with how much certainty.

theta from .10 to .50 by .02 (arXiv 2604.21816, 5.2), delta likewise from 0; numpy is loaded by use.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.settings import RoutingSettings
from app.ranking.floor import calibrated_floor
from app.ranking.gates import THETA
from app.ranking.learning.cases import Case, Served, make_cases, nearest_iso, passes, serve
from app.ranking.router import Router
from store.records import LabelRecord

THETAS = tuple(round(0.10 + 0.02 * step, 2) for step in range(21))
DELTAS = tuple(round(0.02 * step, 2) for step in range(31))
LEAST = 20  # labelled queries; with fewer nothing is chosen
HELD_FROM = 30  # from here on a third is held out to judge what the others chose
RESAMPLES = 1000
BAND = (2.5, 97.5)  # per cent
_SEED = 7

TOO_FEW = "Too few labelled queries: {} of {}."


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
class Bands:
    """Confidence intervals of one point's means: 95 % by bootstrap."""

    recall: tuple[float, float]
    precision: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One setting at all its values, and the chosen one."""

    setting: str  # theta | delta
    points: tuple[Point, ...]
    best: Point
    band: tuple[float, float]  # of the best F1, 95 % by bootstrap
    reached: bool  # the recall that was asked for; True when none was
    held: Point | None  # the chosen value on queries that did not choose it
    bands: tuple[Bands, ...] = ()  # of the points


@dataclass(frozen=True, slots=True)
class Calibration:
    """Result of calibrating; sweeps are None where there were too few labels for the target."""

    queries: int
    unknown: int  # labelled queries whose tools are not in this catalogue
    floor: float
    theta: Sweep | None
    delta: Sweep | None
    note: str
    passed: Mapping[str, bool]  # by query, with the chosen values

    def settings(self, base: RoutingSettings) -> RoutingSettings:
        """The routing settings with what was found."""
        settings = replace(base, floor=self.floor)
        if self.theta and self.delta:
            settings = replace(settings, theta=self.theta.best.value, delta=self.delta.best.value)
        return settings


@dataclass(frozen=True, slots=True)
class Prepared:
    """Data of a router for calibrating: with it, other settings and targets cost little."""

    cases: tuple[Case, ...]
    unknown: int
    floor: float


def prepare(cases: Sequence[Case], unknown: int, chit_chat: Sequence[float]) -> Prepared:
    """Cases with the floor that follows from them and from the best cosines of chit-chat."""
    good = [max(case.isos, default=0.0) for case in cases if case.expected]
    return Prepared(tuple(cases), unknown, calibrated_floor(chit_chat, good))


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
    prepared = prepare(cases, unknown, [nearest_iso(router, query) for query in chit_chat])
    return choose(prepared, settings, target_recall=target_recall)


def choose(
    prepared: Prepared,
    settings: RoutingSettings,
    *,
    target_recall: float = 0.0,
    least: int = LEAST,
) -> Calibration:
    """Choose theta and delta by cases; with fewer than `least` nothing is chosen."""
    cases, floor = prepared.cases, prepared.floor
    used = replace(settings, floor=floor)
    note = TOO_FEW.format(len(cases), LEAST) if len(cases) < LEAST else ""
    theta = delta = None
    if len(cases) >= max(1, least):
        theta = sweep(cases, "theta", used, target_recall=target_recall)
        delta = sweep(cases, "delta", used, target_recall=target_recall)
        used = replace(used, theta=theta.best.value, delta=delta.best.value)
    passed = passes(cases, used)
    return Calibration(len(cases), prepared.unknown, floor, theta, delta, note, passed)


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
        _bands(rows),
    )


def split(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """The queries that choose and those held out; the same ones each time."""
    order = sorted(cases, key=lambda case: case.query)
    if len(order) < HELD_FROM:
        return order, []
    random.Random(_SEED).shuffle(order)
    third = len(order) // 3
    return order[third:], order[:third]


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % band of a mean, by resampling; the same each time."""
    return bootstraps([values])[0] if values else (0.0, 0.0)


def bootstraps(rows: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """The bands of several rows over the same queries, each with the same resamples."""
    import numpy as np

    values = np.array(rows)
    picked = np.random.default_rng(_SEED).integers(values.shape[1], size=(RESAMPLES, len(rows[0])))
    # a resample is a count of each query, so that a matrix product gives all means
    counts = np.stack([np.bincount(row, minlength=len(rows[0])) for row in picked])
    means = counts @ values.T / len(rows[0])
    low, high = np.percentile(means, BAND, axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _bands(rows: Sequence[Sequence[Served]]) -> tuple[Bands, ...]:
    recall = bootstraps([[one.recall for one in row] for row in rows])
    precision = bootstraps([[one.precision for one in row] for row in rows])
    return tuple(Bands(*pair) for pair in zip(recall, precision, strict=True))


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
