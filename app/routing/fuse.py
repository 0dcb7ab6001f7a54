"""Fusion: one score from meaning and words, with shares that follow the query's length."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.routing.ranked import MEANING, PAST_USE, SERVER, WORDS

Scores = Mapping[int, float]  # by tool row id


@dataclass(frozen=True, slots=True)
class Shares:
    """How much each signal counts; they sum to 1."""

    meaning: float
    clause_meaning: float
    words: float
    clause_words: float


@dataclass(frozen=True, slots=True)
class Signals:
    """Raw scores of one query by tool; empty where a signal is missing.

    `learned` and `server` are the cosines of the whole query after past use was learned, and
    after the named server was taken into account; each falls back to the one before.
    """

    meaning: Scores
    words: Scores
    clause_meaning: Scores
    clause_words: Scores
    learned: Scores
    server: Scores


@dataclass(frozen=True, slots=True)
class Fused:
    """A tool's score, 0 to 1, and the parts that sum to it."""

    score: float
    parts: tuple[tuple[str, float], ...]


def shares(length: int, *, has_clauses: bool) -> Shares:
    """LONGQ: long queries lean on words and on their steps (`length` in content words)."""
    steps = 0.7 * min(1.0, max(0.0, (length - 8) / 12)) if has_clauses else 0.0
    weight = max(0.05, 0.4 + 1.2 * (math.log1p(length) / 4 - 0.6))
    whole = 1.0 + weight
    return Shares(
        meaning=(1 - steps) / whole,
        clause_meaning=steps / whole,
        words=weight * (1 - 0.75 * steps) / whole,
        clause_words=weight * 0.75 * steps / whole,
    )


def scaled(scores: Scores) -> dict[int, float]:
    """Scores from 0 to 1: nothing found is 0, the best is 1; what is below 0 counts as 0."""
    top = max(scores.values(), default=0.0)
    if top <= 0:
        return {}
    return {tool: score / top for tool, score in scores.items() if score > 0}


def best_of(lists: Sequence[Scores]) -> dict[int, float]:
    """Each tool with its best score over several lists."""
    best: dict[int, float] = {}
    for scores in lists:
        for tool, score in scores.items():
            if score > best.get(tool, -1.0):
                best[tool] = score
    return best


def fuse(tools: Iterable[int], signals: Signals, weights: Shares) -> dict[int, Fused]:
    """Every tool's score with its parts."""
    meaning, steps = scaled(signals.meaning), scaled(signals.clause_meaning)
    words, step_words = scaled(signals.words), scaled(signals.clause_words)
    learned = scaled(signals.learned) if signals.learned else meaning
    server = scaled(signals.server) if signals.server else learned
    plain = learned is meaning and server is learned
    fused = {}
    for tool in tools:
        told = weights.words * words.get(tool, 0.0) + weights.clause_words * step_words.get(
            tool, 0.0
        )
        base = meaning.get(tool, 0.0)
        meant = weights.meaning * base + weights.clause_meaning * steps.get(tool, 0.0)
        if plain:
            fused[tool] = Fused(told + meant, ((WORDS, told), (MEANING, meant)))
            continue
        past = weights.meaning * (learned.get(tool, 0.0) - base)
        asked = weights.meaning * (server.get(tool, 0.0) - learned.get(tool, 0.0))
        parts = ((WORDS, told), (MEANING, meant), (PAST_USE, past), (SERVER, asked))
        fused[tool] = Fused(told + meant + past + asked, parts)
    return fused
