"""Calibration runs, stored so that a later one can be compared: fixed, regressed, still failing."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import apsw

from app.core.settings import RoutingSettings
from app.ranking.learning import learn
from app.ranking.learning.calibrate import Calibration
from store import queries
from store.connection import transaction
from store.records import RunRecord
from store.typed import Json, JsonMapping


@dataclass(frozen=True, slots=True)
class Comparison:
    """Changes of each labelled query's result between two runs."""

    same_catalogue: bool
    fixed: tuple[str, ...]
    regressed: tuple[str, ...]
    still_failing: tuple[str, ...]
    passed: tuple[str, ...]
    new: tuple[str, ...]  # not asked in the earlier run


def save_run(
    db: apsw.Connection,
    calibration: Calibration,
    settings: RoutingSettings,
    *,
    model: str,
    clock: Callable[[], float] = time.time,
    detail: JsonMapping | None = None,
) -> RunRecord:
    """Store a calibration with the settings it was judged by and a fingerprint of the catalogue."""
    result: Json = {
        "queries": calibration.queries,
        "unknown": calibration.unknown,
        "sweeps": [asdict(s) for s in (calibration.theta, calibration.delta) if s],
        "passed": dict(calibration.passed),
        **(detail or {}),
    }
    mark = learn.fingerprint(db, model)
    run = RunRecord(0, clock(), mark, asdict(settings), result)
    with transaction(db):
        id_ = queries.save_run(db, run)
    return RunRecord(id_, run.at, mark, run.settings, result)


def compare(earlier: RunRecord, later: RunRecord) -> Comparison:
    """The later run against the earlier one, query by query."""
    before, after = earlier.result.get("passed", {}), later.result.get("passed", {})
    kinds: dict[tuple[bool | None, bool], list[str]] = {}
    for query, passed in after.items():
        kinds.setdefault((before.get(query), passed), []).append(query)
    return Comparison(
        same_catalogue=earlier.fingerprint == later.fingerprint,
        fixed=tuple(kinds.get((False, True), ())),
        regressed=tuple(kinds.get((True, False), ())),
        still_failing=tuple(kinds.get((False, False), ())),
        passed=tuple(kinds.get((True, True), ())),
        new=tuple(kinds.get((None, True), [])) + tuple(kinds.get((None, False), [])),
    )
