"""A projection of query vectors, learned from one catalogue's own labelled queries (numpy)."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.routing.fuse import NOTHING

Matrix = NDArray[np.float32]

RANK = 64
STEPS = 60
RATE = 0.001
DECAY = 0.1  # pull towards the closed-form start
RIDGE = 1.0
START = 0.5  # share of the closed-form solution to start from
HARDEST = 40  # wrong tools per query that training looks at,
MOST_ROWS = 1000  # and about this many tools in all: the cost of a step grows with them
# Likeness (cosine) to the nearest logged query: up to FAR nothing is moved, from NEAR on all of it.
# This is what guards tools that were never logged: queries for them are seldom like a logged one.
FAR, NEAR = 0.3, 0.6


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled query as training sees it."""

    vector: Matrix
    gold: tuple[int, ...]  # rows of the tool matrix
    scores: Matrix  # fused score of every tool without anything learned
    share: float  # of the whole query's meaning in that score


@dataclass(frozen=True, slots=True)
class Likeness:
    """How like a query is to the log, 0 to 1, and the tools that like queries led to."""

    share: float
    tools: frozenset[int]


@dataclass(frozen=True, slots=True)
class Projection:
    """q' = q + g (q down) up; g grows with the likeness to any logged query."""

    down: Matrix  # dims x RANK
    up: Matrix  # RANK x dims
    logged: Matrix  # vectors of the logged queries
    owners: tuple[tuple[int, ...], ...]  # keys of the tools each of them led to

    def likeness(self, query: bytes) -> Likeness:
        """How much of the projection a query gets."""
        found = self.logged @ np.frombuffer(query, dtype="<f4")
        grown = np.clip((found - FAR) / (NEAR - FAR), 0.0, 1.0).tolist()
        like = [keys for keys, share in zip(self.owners, grown, strict=True) if share > 0]
        return Likeness(max(grown, default=0.0), frozenset(key for keys in like for key in keys))

    def move(self, text: bytes, likeness: Likeness) -> tuple[bytes, float]:
        """The moved vector of a query or of one of its steps at unit length, and its length."""
        vector = np.frombuffer(text, dtype="<f4")
        moved = vector + np.float32(likeness.share) * ((vector @ self.down) @ self.up)
        length = float(np.linalg.norm(moved))
        return (moved / length).astype("<f4").tobytes(), length

    def to_bytes(self) -> bytes:
        """The form that the store keeps."""
        file = io.BytesIO()
        flat = [(line, key) for line, keys in enumerate(self.owners) for key in keys]
        np.savez(
            file,
            down=self.down,
            up=self.up,
            logged=self.logged.astype(np.float16),
            owners=np.array(flat, dtype=np.int64).reshape(len(flat), 2),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Projection":
        """Read what to_bytes() wrote; nothing in it is executed."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            logged = found["logged"].astype(np.float32)
            owners: list[list[int]] = [[] for _ in range(len(logged))]
            for line, key in found["owners"].tolist():
                owners[line].append(key)
            return cls(found["down"], found["up"], logged, tuple(map(tuple, owners)))


def fit(
    examples: Sequence[Example], tools: Matrix, *, keys: Sequence[int], rank: int = RANK
) -> Projection:
    """Train on the fused score, so that only its mistakes are learned (below 1 s at 200 queries).

    Starts from ridge regression of tool minus query on the query, then descends the softmax loss
    over gold tools and the hardest wrong ones (Adam); the more queries, the closer the fit.
    `keys` names the rows of `tools`.
    """
    asked = np.stack([e.vector for e in examples])
    down, up = _start(examples, asked, tools, rank)
    rows = _rows(examples)
    shown, goal = tools[rows], _goal(examples, rows)
    fixed = np.stack([e.scores[rows] for e in examples])
    reach = np.array([float((tools @ e.vector).max()) - NOTHING for e in examples])
    share = np.array([e.share for e in examples])
    scale = (share / np.maximum(reach, 1e-3)).astype(np.float32)[:, None]
    warmth = np.float32(0.05 * np.clip(np.sqrt(len(examples) / 50), 1.0, 2.0))
    first = (down.copy(), up.copy())
    adam = _Adam([down, up])
    for _ in range(STEPS):
        inner, outer = asked @ down, shown @ up.T
        logits = (fixed + scale * (inner @ outer.T)) / warmth
        wrong = (_softmax(logits) - goal) * (scale / (warmth * len(examples)))
        slope_up = inner.T @ (wrong @ shown) + DECAY * (up - first[1])
        slope_down = asked.T @ (wrong @ outer) + DECAY * (down - first[0])
        adam.step([down, up], [slope_down, slope_up])
    owners = tuple(tuple(keys[row] for row in example.gold) for example in examples)
    return Projection(down, up, asked, owners)


def _start(
    examples: Sequence[Example], asked: Matrix, tools: Matrix, rank: int
) -> tuple[Matrix, Matrix]:
    """Rank-limited factors of the ridge solution."""
    wanted = np.stack([tools[list(e.gold)].mean(axis=0) for e in examples]) - asked
    kernel = asked @ asked.T + RIDGE * np.eye(len(examples), dtype=np.float32)
    # the solution's row space is that of the queries: factor it there, not in dims x dims
    basis, weights = np.linalg.qr(asked.T)
    inner = weights @ np.linalg.solve(kernel, wanted)
    left, sizes, right = np.linalg.svd(inner, full_matrices=False)
    root = np.sqrt(START * sizes[:rank])
    down = ((basis @ left[:, :rank]) * root).astype(np.float32)
    up = (root[:, None] * right[:rank]).astype(np.float32)
    return down, up


def _rows(examples: Sequence[Example]) -> NDArray[np.int64]:
    """Tools that training looks at: every gold tool and each query's best wrong ones."""
    chosen: set[int] = set()
    hardest = max(5, min(HARDEST, MOST_ROWS // len(examples)))
    for example in examples:
        most = min(hardest, len(example.scores))
        chosen.update(np.argpartition(-example.scores, most - 1)[:most].tolist())
        chosen.update(example.gold)
    return np.array(sorted(chosen), dtype=np.int64)


def _goal(examples: Sequence[Example], rows: NDArray[np.int64]) -> Matrix:
    """Each query's gold tools, equally likely."""
    place = {int(row): column for column, row in enumerate(rows)}
    goal = np.zeros((len(examples), len(rows)), dtype=np.float32)
    for line, example in zip(goal, examples, strict=True):
        line[[place[row] for row in example.gold]] = 1.0 / len(example.gold)
    return goal


def _softmax(logits: Matrix) -> Matrix:
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Matrix = grown / grown.sum(axis=1, keepdims=True)
    return shares


class _Adam:
    """Adam with the usual constants (.9, .99), changing arrays in place."""

    def __init__(self, values: Sequence[Matrix]) -> None:
        self._mean = [np.zeros_like(v) for v in values]
        self._square = [np.zeros_like(v) for v in values]
        self._count = 0

    def step(self, values: Sequence[Matrix], slopes: Sequence[Any]) -> None:
        """One step down the slopes."""
        self._count += 1
        for value, slope, mean, square in zip(
            values, slopes, self._mean, self._square, strict=True
        ):
            mean += 0.1 * (slope - mean)
            square += 0.01 * (slope * slope - square)
            size = np.sqrt(square / (1 - 0.99**self._count)) + 1e-8
            value -= RATE * (mean / (1 - 0.9**self._count)) / size


def base_scores(candidates: Mapping[int, float], cosines: Matrix, share: float) -> Matrix:
    """A query's fused scores of all tools: those known, and for the rest their meaning alone."""
    reach = max(float(cosines.max()) - NOTHING, 1e-3)
    scores: Matrix = np.float32(share) * np.clip((cosines - NOTHING) / reach, 0, None)
    for row, score in candidates.items():
        scores[row] = score
    return scores


def rescored(projection: Projection, example: Example, tools: Matrix) -> Matrix:
    """An example's scores of all tools with the projection (its steps are left as they are)."""
    query = example.vector.astype("<f4").tobytes()
    likeness = projection.likeness(query)
    moved, length = projection.move(query, likeness)
    before = tools @ example.vector
    after = (tools @ np.frombuffer(moved, dtype="<f4")) * np.float32(length)
    old, new = (np.clip((c - NOTHING) / (c.max() - NOTHING), 0, None) for c in (before, after))
    scores: Matrix = example.scores + np.float32(example.share) * (new - old)
    return scores
