"""Learning from the user's own log: labelled queries of this catalogue become past use.

numpy is loaded when something is trained or read, never by importing this module.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import apsw

from app.ranking.dense import Encoding
from app.ranking.learning import teaching
from app.ranking.learning.base import BaseScores
from app.ranking.learning.stored import BLOB, FORMAT
from store import queries, requests, vectors
from store.connection import transaction
from store.records import EventRecord, LabelRecord

if TYPE_CHECKING:
    from app.ranking.learning.past_use import Example, Matrix, PastUse

LEAST = 20  # labelled queries; with fewer nothing is learned
PARTS = 4  # each is held back once, to decide whether what was learned is used
# With 50 labels the held-back figure is uncertain by 2 to 3 points, and it comes from fewer labels:
# only a loss of this many standard errors speaks against learning (on public sets, all that the
# figure alone would have turned down gained on other queries).
DOUBT = 2.0
_SEED = 1

TOO_FEW = "Too few labelled queries to learn from: {} of {}."
ONE_TOOL = "One tool needs no ranking."
HARM = "It ranks held-back queries worse, so it is not used."
GAIN = "It ranks held-back queries better, so it is used."
NO_HARM = "It does not rank held-back queries worse than chance could, so it is used."


class TrainedRouter(Protocol):
    """Interface of a router as training uses it (app.ranking.router.Router)."""

    @property
    def encoder(self) -> Encoding | None:
        """Encoder of texts to vectors."""
        ...

    @property
    def word_weights(self) -> Sequence[float]:
        """Weights of words by their place in a tool."""
        ...

    @property
    def tool_ids(self) -> Mapping[int, str]:
        """`server/tool` by row id."""
        ...

    @property
    def server_ids(self) -> Mapping[int, int]:
        """Each tool's server, both by row id."""
        ...


@dataclass(frozen=True, slots=True)
class LearnReport:
    """Result of training; nDCG@10 in per cent on held-back queries, without and with.

    Every label is held back once: a quarter at a time is judged by training on the others.
    """

    used: bool
    labels: int
    before: float
    after: float
    reason: str
    seconds: float  # CPU


@dataclass(frozen=True, slots=True)
class LearnedModel:
    """State of the learned model: number of queries, catalogue changed since, and in use.

    It is not used where another version of Toolcrib stored it in another way.
    """

    queries: int
    stale: bool
    used: bool = True


def train(
    db: apsw.Connection,
    router: TrainedRouter,
    labels: Sequence[LabelRecord],
    *,
    clock: Callable[[], float] = time.time,
) -> LearnReport:
    """Learn from labels and store the result if it earns its place; `router` has an encoder.

    Takes about a second for 200 queries over a few hundred tools; run it off the Qt thread.
    """
    started = time.process_time()
    encoder = router.encoder
    examples, keys, tools = _examples(db, router, labels)
    if encoder is None or len(examples) < LEAST or len(tools) < 2:
        few = TOO_FEW.format(len(examples), LEAST) if len(examples) < LEAST else ONE_TOOL
        return LearnReport(False, len(examples), 0.0, 0.0, few, 0.0)
    before, after, error = _compare(examples, tools)
    used = after > before - DOUBT * error
    with transaction(db):
        if used:
            from app.ranking.learning.past_use import fit

            data = fit(examples, tools, keys=keys).to_bytes()
            mark = f"{fingerprint(db, encoder.key)}:{len(examples)}.{FORMAT}"
            queries.save_blob(db, BLOB, fingerprint=mark, data=data, at=clock())
        else:
            queries.delete_blob(db, BLOB)
    spent = time.process_time() - started
    reason = (GAIN if after > before else NO_HARM) if used else HARM
    return LearnReport(used, len(examples), before, after, reason, spent)


def load(db: apsw.Connection, model: str) -> "PastUse | None":
    """The learned model, if learned with this encoder and stored by a version of this format."""
    blob = queries.blob(db, BLOB)
    if blob is None or not blob[0].startswith(f"{model}:"):
        return None
    from app.ranking.learning.past_use import PastUse, UnreadableError

    try:
        return PastUse.from_bytes(blob[1])
    except UnreadableError:
        return None


def lesson(db: apsw.Connection) -> LearnedModel | None:
    """Facts of the learned model, without reading it; None when there is none.

    After the catalogue changed it still holds: tools that are gone say nothing, and new ones count
    as never logged. Learning again is better.
    """
    blob = queries.blob(db, BLOB)
    if blob is None:
        return None
    learned_from, _, ending = blob[0].rpartition(":")
    count, _, format_ = ending.partition(".")
    model = learned_from.rpartition(":")[0]
    stale = learned_from != fingerprint(db, model)
    return LearnedModel(int(count), stale, used=format_ == str(FORMAT))


def reset(db: apsw.Connection) -> None:
    """Forget what was learned; the labels stay."""
    with transaction(db):
        queries.delete_blob(db, BLOB)


def fingerprint(db: apsw.Connection, model: str) -> str:
    """The model and a digest of every embedded text."""
    import hashlib  # 3.5 MB of libcrypto that the gateway does not need before its encoder

    digest = hashlib.sha256()
    for tool_id, hash_ in sorted(vectors.hashes(db, model).items()):
        digest.update(f"{tool_id}:{hash_};".encode())
    return f"{model}:{digest.hexdigest()[:16]}"


def labels_from_activity(events: Sequence[EventRecord]) -> tuple[LabelRecord, ...]:
    """A search and the tool called next in the same session, oldest first, each pair once."""
    last_query: dict[str, str] = {}
    labels: dict[tuple[str, str], LabelRecord] = {}
    for event in sorted(events, key=lambda e: (e.at, e.id)):
        if event.kind == "search" and event.query.strip():
            last_query[event.session] = event.query
        elif event.kind == "call" and event.tool and not event.problem:
            query = last_query.pop(event.session, "")
            if query:
                pair = (query, event.tool)
                labels[pair] = LabelRecord(0, query, (event.tool,), "activity", event.at)
    return tuple(labels.values())


def _examples(
    db: apsw.Connection, router: TrainedRouter, labels: Sequence[LabelRecord]
) -> "tuple[list[Example], list[int], Matrix]":
    """Labels whose tools are known, with what the router says of them without learning."""
    import numpy as np

    from app.ranking.learning.past_use import Example

    encoder = router.encoder
    stored = vectors.load(db, encoder.key) if encoder else {}
    ids = router.tool_ids
    keys = [key for key in stored if key in ids]
    tools = np.frombuffer(b"".join(stored[key] for key in keys), dtype="<f4")
    matrix = tools.reshape(len(keys), -1 if keys else 0)
    row_of = {ids[key]: row for row, key in enumerate(keys)}
    examples: list[Example] = []
    if encoder is None or not keys:
        return examples, keys, matrix
    base = BaseScores(
        db,
        encoder,
        tools=matrix,
        keys=keys,
        servers=[router.server_ids[key] for key in keys],
        requests=requests.vectors(db, encoder.key),
        weights=router.word_weights,
        taught=teaching.load(db, encoder.key),
    )
    for query, expected in _by_query(labels).items():
        gold = tuple(sorted({row_of[tool] for tool in expected if tool in row_of}))
        if gold:
            signals = base.of(query)
            examples.append(Example(signals.vector, signals.inner, gold, signals.scores()))
    return examples, keys, matrix


def _by_query(labels: Sequence[LabelRecord]) -> Mapping[str, tuple[str, ...]]:
    """The tools of each query, whatever label they came from."""
    merged: dict[str, tuple[str, ...]] = {}
    for label in labels:
        query = label.query.strip()
        merged[query] = (*merged.get(query, ()), *label.expected)
    return {query: tools for query, tools in merged.items() if query and tools}


def _compare(examples: "Sequence[Example]", tools: "Matrix") -> tuple[float, float, float]:
    """nDCG@10 in per cent of held-back queries without and with what the others teach.

    The third figure is the standard error of their difference.
    """
    import random
    import statistics

    from app.ranking.learning.past_use import fit, rescored

    order = list(examples)
    random.Random(_SEED).shuffle(order)
    before, after = [], []
    for part in range(PARTS):
        rest = [e for i, e in enumerate(order) if i % PARTS != part]
        past = fit(rest, tools, keys=range(len(tools)))
        for held in order[part::PARTS]:
            before.append(100 * _ndcg(held.scores, held.gold))
            after.append(100 * _ndcg(rescored(past, held, tools), held.gold))
    changes = [new - old for old, new in zip(before, after, strict=True)]
    error = statistics.stdev(changes) / math.sqrt(len(changes))
    return statistics.fmean(before), statistics.fmean(after), error


def _ndcg(scores: "Matrix", gold: Sequence[int]) -> float:
    import numpy as np

    order = np.argsort(-scores, kind="stable")[:10].tolist()
    gained = sum(1 / np.log2(place + 2) for place, row in enumerate(order) if row in gold)
    best = sum(1 / np.log2(place + 2) for place in range(min(10, len(gold))))
    return float(gained / best)
