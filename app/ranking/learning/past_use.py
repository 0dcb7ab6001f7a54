"""Past use: changes of a query's scores, learned from the catalogue's own labelled queries (numpy).

A kernel softmax regression on top of the fused score. Each logged query counts by its similarity
to the present one. It gives a direction in which the right tools lie, for every tool, and a gain
for each tool of the log. Half of the similarity is of the encoder's vectors, half of its layer
before the last, which keeps more of the words.
"""

import io
import math
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.ranking.learning.stored import FORMAT

Matrix = NDArray[np.float32]

EVERY, OWN = 2.3, 1.0  # weights of the map that all tools share, and of single tools of the log
DECAY = 0.045  # weight decay
STEPS = 120  # stops early: more would learn single queries by heart
UNLIKE = 0.09  # cosine up to which a logged query says nothing of single tools
SPREAD = 1.0  # added to the tools' covariance, as a share of its mean eigenvalue
HARDEST = 40  # wrong tools per query that training looks at,
MOST_ROWS = 1000  # and about this many tools in all: the cost of a step grows with them
# The softmax's: a score gap of one temperature makes a tool e times as likely. It is fitted to the
# log: the better the fused score ranks alone, the lower the temperature, the smaller the changes.
TEMPERATURES = (0.03, 0.035, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12)
_USUAL, _SURE = 0.08, 3.0  # temperature expected of any catalogue, and the weight of that
# At 100 labels changes are this much larger than the most likely temperature allows; the more
# labels, the more they are trusted (with this power of their number).
BOLDER, _TRUST = 1.28, 0.15
# Tools never logged are only ever wrong in training. In return they get this share of the gain of
# the log's most favoured tool, and this many temperatures. With each doubling of the log it is more
# likely that a tool is missing because it is not used: the share falls. More queries count against
# it, too: in training it starts this many temperatures lower, so that less is learned against the
# words that it shares with others.
GUARD, GUARD_FALL, LEAST_SHARE, LEAST_GUARD = 0.75, 0.06, 0.55, 0.125
HANDICAP, MOST_HANDICAP = 0.5, 2.0
_FEW = 50  # labels up to which the share is GUARD and there is no handicap


class UnreadableError(ValueError):
    """Stored bytes of another format, or damaged ones."""


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled query as training sees it."""

    vector: Matrix
    inner: Matrix
    gold: tuple[int, ...]  # rows of the tool matrix
    scores: Matrix  # fused score of every tool without anything learned


@dataclass(frozen=True, slots=True)
class Recalled:
    """Result of the log for one query."""

    direction: bytes  # unit vector, float32
    strength: float  # score per cosine with it
    tools: Mapping[int, float]  # score of each tool in the log
    share: float  # of the most favoured one's that every other tool gets,
    guard: float  # and what it gets beside that

    def changes(self, cosines: Mapping[int, float], offered: Collection[int]) -> dict[int, float]:
        """Gains of tools over each other, from their cosines with the direction.

        `offered` are the tools of the log that can be had: no other is the most favoured one.
        """
        gains, strength = self.tools, self.strength
        guard = self.share * max([0.0, *(gains[tool] for tool in offered)]) + self.guard
        return {tool: strength * c + gains.get(tool, guard) for tool, c in cosines.items()}

    def best(self, count: int, offered: Collection[int]) -> list[int]:
        """Those of the tools in `offered` that gain most."""
        return sorted(offered, key=lambda tool: -self.tools[tool])[:count]


@dataclass(frozen=True, slots=True)
class LoggedQueries:
    """The log, as other queries are compared with it."""

    meanings: (
        Matrix  # vectors over the tools' covariance: what all tools have in common says little
    )
    wordings: Matrix  # inner vectors less their middle, of unit length
    middle: Matrix

    @classmethod
    def of(cls, vectors: Matrix, inner: Matrix, tools: Matrix) -> "LoggedQueries":
        """A log of these vectors; a vector's product with what is kept of it is 1 in the mean."""
        spread = np.cov(tools.T).astype(np.float32)
        spread += SPREAD * np.float32(np.trace(spread) / len(spread) + 1e-9) * np.eye(len(spread))
        meanings = np.linalg.solve(spread, vectors.T).T
        meanings /= np.mean(np.sum(meanings * vectors, axis=1))
        middle = inner.mean(axis=0)
        return cls(meanings.astype(np.float32), _unit(inner - middle), middle)

    def likeness(self, vectors: Matrix, inner: Matrix) -> Matrix:
        """Likeness of queries (or one) with the logged ones, 0 (unlike) to about 1 (the same)."""
        meaning = np.clip(vectors @ self.meanings.T, 0.0, None)
        wording = np.clip(_unit(inner - self.middle) @ self.wordings.T, 0.0, None)
        both: Matrix = (meaning + wording) / np.float32(2)
        return both


@dataclass(frozen=True, slots=True)
class PastUse:
    """Logged queries and what they say."""

    log: LoggedQueries
    pulls: Matrix  # a direction for each
    scores: Matrix  # a score for each and for each tool of the log
    keys: tuple[int, ...]  # tools of the log
    guard: float

    def recall(self, query: bytes, inner: bytes) -> Recalled | None:
        """Result of the log for a query; None when no logged query is clearly like it."""
        like = self.log.likeness(np.frombuffer(query, "<f4"), np.frombuffer(inner, "<f4"))
        clear = _clear(like)
        if not clear.any():
            return None
        pull = like @ self.pulls
        strength = float(np.linalg.norm(pull))
        direction = (pull / max(strength, 1e-9)).astype("<f4").tobytes()
        gains = dict(zip(self.keys, (clear @ self.scores).tolist(), strict=True))
        return Recalled(direction, strength, gains, guard_share(len(self.pulls)), self.guard)

    def to_bytes(self) -> bytes:
        """The form that the store keeps."""
        file = io.BytesIO()
        np.savez(
            file,
            format=np.int64(FORMAT),
            keys=np.array(self.keys, dtype=np.int64),
            guard=np.float64(self.guard),
            meanings=self.log.meanings.astype(np.float16),
            wordings=self.log.wordings.astype(np.float16),
            middle=self.log.middle,
            pulls=self.pulls.astype(np.float16),
            scores=self.scores.astype(np.float16),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "PastUse":
        """Read what to_bytes() wrote; nothing in it is executed. Raises UnreadableError."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                if int(archive["format"]) != FORMAT:
                    raise UnreadableError("another format")
                meanings, wordings, middle, pulls, scores = (
                    archive[name].astype(np.float32)
                    for name in ("meanings", "wordings", "middle", "pulls", "scores")
                )
                log = LoggedQueries(meanings, wordings, middle)
                return cls(
                    log, pulls, scores, tuple(archive["keys"].tolist()), float(archive["guard"])
                )
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise UnreadableError(str(error)) from error


def guard_share(labels: int) -> float:
    """Share of a log's highest gain that tools never logged get."""
    return max(LEAST_SHARE, GUARD - GUARD_FALL * _doublings(labels))


def handicap(labels: int) -> float:
    """Temperatures that tools never logged start training with less."""
    return min(MOST_HANDICAP, HANDICAP * _doublings(labels))


def trust(labels: int) -> float:
    """Factor by which changes are larger than those of 100 labels."""
    return float((labels / 100) ** _TRUST)


def _doublings(labels: int) -> float:
    return math.log2(max(labels, _FEW) / _FEW)


def fit(examples: Sequence[Example], tools: Matrix, *, keys: Sequence[int]) -> PastUse:
    """Train on the fused score, so that only its mistakes are learned; convex, always the same.

    `keys` names the rows of `tools`.
    """
    rows = _rows(examples)
    goal = _goal(examples, rows)
    fixed = np.stack([e.scores[rows] for e in examples])
    shown = tools[rows] - tools.mean(axis=0)
    vectors = np.stack([e.vector for e in examples])
    inner = np.stack([e.inner for e in examples])
    log = LoggedQueries.of(vectors, inner, tools)
    temperature = np.float32(BOLDER * trust(len(examples)) * likely_temperature(fixed, goal))
    mine = goal.any(axis=0)
    start = fixed / temperature - np.float32(handicap(len(examples))) * ~mine
    influence = _taught(start, goal, log.likeness(vectors, inner), shown)
    owners = np.flatnonzero(mine)
    return PastUse(
        log,
        temperature * EVERY * (influence @ shown),
        temperature * OWN * influence[:, owners],
        tuple(keys[rows[column]] for column in owners),
        float(LEAST_GUARD * temperature),
    )


def _taught(start: Matrix, goal: Matrix, like: Matrix, shown: Matrix) -> Matrix:
    """Pull of each logged query on each tool: Nesterov's descent in the kernel's own space."""
    clear, mine = _clear(like), goal.any(axis=0)
    steepest = EVERY * _largest(like) * _largest(shown.T @ shown) + OWN * _largest(clear)
    pace = np.float32(1 / (0.5 * steepest + DECAY))
    influence: Matrix = np.zeros_like(start)
    ahead = influence
    for step in range(STEPS):
        everyone = ((like @ ahead) @ shown) @ shown.T
        logits = start + EVERY * everyone + OWN * ((clear @ ahead) * mine)
        slope: Matrix = softmax(logits) - goal + np.float32(DECAY) * ahead
        after = (ahead - pace * slope).astype(np.float32, copy=False)
        ahead = after + np.float32(step / (step + 3)) * (after - influence)
        influence = after
    return influence


def rescored(past: PastUse, example: Example, tools: Matrix) -> Matrix:
    """An example's scores of all tools with past use; its keys are rows of `tools`."""
    vectors = (row.astype("<f4").tobytes() for row in (example.vector, example.inner))
    recalled = past.recall(*vectors)
    if recalled is None:
        return example.scores
    cosines = (tools @ np.frombuffer(recalled.direction, "<f4")).tolist()
    changes = recalled.changes(dict(enumerate(cosines)), recalled.tools)
    scores: Matrix = example.scores + np.fromiter(changes.values(), dtype=np.float32)
    return scores


def _clear(like: Matrix) -> Matrix:
    """Likeness that is clear enough to speak of single tools."""
    clear: Matrix = np.clip((like - UNLIKE) / (1 - UNLIKE), 0.0, None)
    return clear


def _unit(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Matrix = rows / np.maximum(lengths, np.float32(1e-9))
    return scaled


def _largest(matrix: Matrix) -> float:
    """The largest eigenvalue of a symmetric matrix."""
    return float(np.linalg.eigvalsh(matrix)[-1])


def likely_temperature(fixed: Matrix, goal: Matrix) -> float:
    """The temperature under which the log is most likely, drawn towards the usual one."""

    def unlikely(temperature: float) -> float:
        missed = -float((goal * np.log(softmax(fixed / np.float32(temperature)) + 1e-30)).sum())
        return missed + _SURE * math.log(temperature / _USUAL) ** 2

    return min(TEMPERATURES, key=unlikely)


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


def softmax(logits: Matrix) -> Matrix:
    """The shares by scores, a row at a time."""
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Matrix = grown / grown.sum(axis=1, keepdims=True)
    return shares
