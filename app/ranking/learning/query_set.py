"""The stored query set: labels, what activity adds to them, runs, and what was learned."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import apsw

from app.core.changes import Changes
from app.ranking.learning import learn
from app.ranking.learning.cases import Outcome
from app.ranking.learning.learn import LearnedModel, LearnReport
from app.ranking.learning.stored import BLOB
from app.ranking.router import Router
from store import events, queries
from store.connection import transaction
from store.records import LabelRecord, RunRecord
from store.typed import JsonMapping

_EVENTS = 100_000  # newest journal entries looked at for a search and the tool then called


@dataclass(frozen=True, slots=True)
class StoredQuerySet:
    """Data of the query set in the store."""

    labels: tuple[LabelRecord, ...]  # the oldest first
    runs: tuple[RunRecord, ...]  # newest first
    seen: tuple[LabelRecord, ...]  # searches and the tools then called, of activity
    learned: str  # a digest of what was learned, "" when nothing was
    lesson: LearnedModel | None  # from how many queries, and whether tools changed since


def held(db: apsw.Connection) -> StoredQuerySet:
    """Everything at once."""
    learned = digest(queries.blob(db, BLOB))
    labels, runs = tuple(queries.labels(db)), tuple(queries.runs(db))
    return StoredQuerySet(labels, runs, seen(db), learned, learn.lesson(db))


def seen(db: apsw.Connection) -> tuple[LabelRecord, ...]:
    """Labels that follow from activity: a search and the tool called next in its session."""
    return learn.labels_from_activity(events.recent(db, _EVENTS))


def taught_by(db: apsw.Connection) -> list[LabelRecord]:
    """Training data: the labels, and activity."""
    return [*queries.labels(db), *seen(db)]


def change_labels(
    db: apsw.Connection, *, removed: Sequence[LabelRecord], added: Sequence[LabelRecord]
) -> Changes:
    """Forget some labelled queries and remember others, both or neither."""
    with transaction(db):
        queries.drop_labels(db, removed)
        queries.save_labels(db, added)
    return Changes(labels=True)


def learn_from_all(
    db: apsw.Connection, router: Router, *, clock: Callable[[], float]
) -> LearnReport:
    """Learn from the labels and from activity."""
    return learn.train(db, router, taught_by(db), clock=clock)


def blob(db: apsw.Connection) -> tuple[str, bytes] | None:
    """The learned model as stored, so that forgetting it can be undone."""
    return queries.blob(db, BLOB)


def digest(blob: tuple[str, bytes] | None) -> str:
    """Digest that identifies a learned model, "" for none."""
    return hashlib.sha256(blob[1]).hexdigest() if blob else ""


def put_back(db: apsw.Connection, blob: tuple[str, bytes] | None, *, at: float) -> Changes:
    """Store what was learned again, or with None forget it; the labels stay."""
    if blob is None:
        learn.reset(db)
    else:
        with transaction(db):
            queries.save_blob(db, BLOB, fingerprint=blob[0], data=blob[1], at=at)
    return Changes(labels=True)


def summed_up(outcomes: Sequence[Outcome]) -> JsonMapping:
    """A run's figures, and what each query got, for comparing runs.

    `recall` and `mrr` (of the first expected tool) are means over queries that expect a tool.
    """
    answerable = [one for one in outcomes if one.hits or one.missing]
    return {
        "means": {
            "recall": _mean([len(one.hits) / len(one.hits + one.missing) for one in answerable]),
            "mrr": _mean([1 / one.ranks[0] if one.ranks else 0.0 for one in answerable]),
            "tools": _mean([float(len(one.active)) for one in outcomes]),
            "tokens": _mean([float(one.tokens) for one in outcomes]),
        },
        "got": {
            one.query: {"in": list(one.active), "missing": list(one.missing)} for one in outcomes
        },
    }


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
