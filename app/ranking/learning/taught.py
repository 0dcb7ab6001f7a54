"""Training by a catalogue's requests, beside their own nearness (numpy).

A softmax regression as in past_use, with requests in the place of logged queries: each should rank
its tool first, and starts from the fused scores of a catalogue without that request. Its kernel is
linear, so that the result is one row a tool, whose product with a query is what the tool gains.
"""

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.ranking.learning.past_use import (
    BOLDER,
    DECAY,
    EVERY,
    OWN,
    SPREAD,
    STEPS,
    UnreadableError,
    likely_temperature,
    softmax,
    trust,
)

Matrix = NDArray[np.float32]
Indices = NDArray[np.int64]

# Tools without requests are taught nothing of their own. In return they get this share of what the
# query's most favoured tool gets.
GUARD = 0.3


@dataclass(frozen=True, slots=True)
class Taught:
    """A row for each tool that was there when it was taught."""

    keys: tuple[int, ...]
    rows: Matrix
    has_requests: NDArray[np.bool_]  # which tools have requests

    def gains(self, query: bytes) -> Mapping[int, float]:
        """Gains of each tool over the others for a query, its vector as float32 bytes."""
        gains = self.rows @ np.frombuffer(query, dtype="<f4")
        guard = GUARD * max(0.0, float(gains[self.has_requests].max(initial=0.0)))
        gains = gains + np.float32(guard) * ~self.has_requests
        return dict(zip(self.keys, gains.tolist(), strict=True))

    def to_bytes(self) -> bytes:
        """The form that the store keeps: 2 bytes a dimension and tool."""
        file = io.BytesIO()
        keys = np.array(self.keys, dtype=np.int64)
        np.savez(file, keys=keys, rows=self.rows.astype(np.float16), has_requests=self.has_requests)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Taught":
        """Read what to_bytes() wrote; nothing in it is executed. Raises UnreadableError."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                keys = tuple(archive["keys"].tolist())
                rows = archive["rows"].astype(np.float32)
                has_requests = archive["has_requests"].astype(bool)
                if rows.ndim != 2 or not len(keys) == len(rows) == len(has_requests):
                    raise UnreadableError("rows of other tools")
                return cls(keys, rows, has_requests)
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise UnreadableError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Lesson:
    """Requests as training sees them: n of them over T tools, of which some have requests."""

    requests: Matrix  # n unit vectors
    owners: Indices  # each one's row in `tools`
    scores: Matrix  # n x T, each without itself
    tools: Matrix  # T unit vectors


def teach(lesson: Lesson, keep_going: Callable[[], bool] = lambda: True) -> Matrix | None:
    """A row for each tool; None when it was stopped. Convex, always the same.

    120 steps of 8 n T d floating point operations: 1 s of CPU for 1,000 requests of 350 tools.
    """
    columns = np.unique(lesson.owners)
    gold = np.searchsorted(columns, lesson.owners)
    middle = lesson.tools[columns].mean(axis=0)
    shown = lesson.tools[columns] - middle
    lens = _lens(lesson.tools[columns], lesson.requests)
    seen = lesson.requests @ lens
    fixed = lesson.scores[:, columns]
    goal = np.zeros_like(fixed)
    goal[np.arange(len(gold)), gold] = 1.0
    count = len(lesson.requests)
    temperature = np.float32(BOLDER * trust(count) * likely_temperature(fixed, goal))
    learned = _learned(fixed / temperature, goal, seen, shown, keep_going)
    if learned is None:
        return None
    everyone, own = learned
    rows = (lesson.tools - middle) @ everyone.T
    rows[columns] += own
    taught: Matrix = temperature * (rows @ lens.T)
    return taught


def _lens(tools: Matrix, requests: Matrix) -> Matrix:
    """Map that weighs directions common to all tools little (past_use.LoggedQueries); a request's
    length is 1 in the mean through it.
    """
    spread = np.cov(tools.T).astype(np.float32)
    spread += SPREAD * np.float32(np.trace(spread) / len(spread) + 1e-9) * np.eye(len(spread))
    values, directions = np.linalg.eigh(spread)
    lens = (directions / np.sqrt(values)) @ directions.T
    lens /= np.sqrt(np.mean(np.sum((requests @ lens) ** 2, axis=1)))
    return np.asarray(lens, dtype=np.float32)


def _learned(
    start: Matrix, goal: Matrix, seen: Matrix, shown: Matrix, keep_going: Callable[[], bool]
) -> tuple[Matrix, Matrix] | None:
    """A map that holds for every tool, and a row for each: Nesterov's descent."""
    steepest = EVERY * _largest(seen) * _largest(shown) + OWN * _largest(seen)
    pace = np.float32(1 / (0.5 * steepest + DECAY))
    everyone: Matrix = np.zeros((seen.shape[1],) * 2, dtype=np.float32)
    own: Matrix = np.zeros_like(shown)
    everyone_ahead: Matrix = everyone
    own_ahead: Matrix = own
    for step in range(STEPS):
        if not keep_going():
            return None
        logits = start + seen @ (shown @ everyone_ahead.T + own_ahead).T
        slope = (softmax(logits) - goal).T @ seen
        common = np.float32(EVERY) * (slope.T @ shown) + np.float32(DECAY) * everyone_ahead
        single = np.float32(OWN) * slope + np.float32(DECAY) * own_ahead
        after: Matrix = (everyone_ahead - pace * common).astype(np.float32, copy=False)
        own_after: Matrix = (own_ahead - pace * single).astype(np.float32, copy=False)
        momentum = np.float32(step / (step + 3))
        everyone_ahead = after + momentum * (after - everyone)
        own_ahead = own_after + momentum * (own_after - own)
        everyone, own = after, own_after
    return everyone, own


def _largest(rows: Matrix) -> float:
    """The largest eigenvalue of the rows' products."""
    return float(np.linalg.eigvalsh(rows.T @ rows)[-1])
