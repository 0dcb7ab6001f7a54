"""Fusion: one score from meaning and words, with shares that follow the query's length."""

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from app.ranking.ranked import MEANING, ORDER, PAST_USE, QUESTION, REQUESTS, SERVER, WORDS

Scores = Mapping[int, float]  # by tool row id

# A cosine that says "nothing in common"; unrelated texts lie a little below 0. A constant, so that
# a score does not depend on which other tools were looked at.
NOTHING = -0.1
# The lessons of requests widen the gaps between tools. They count this much, so that as many lie
# within reach of the best as before.
GAPS = 0.75
_NEXT = 0.001  # score between the tools of two orders
_LEAST_ORDER = 0.8  # of the whole request's best cosine, for an order that counts
_ORDER_WORDS, _WHOLE = 0.4, 0.5  # shares of an order's words and of the whole request
LEAD = 0.12  # of tools that a label puts first
_ORDER = 0.01  # of the score that keeps them in order
_NO_ANSWER = 0.1  # of the score, by which tools that change something are below for a question
# In queries up to SHORT content words steps group the answer and count nothing.
SHORT = 8


@dataclass(frozen=True, slots=True)
class Lengths:
    """Shares by a query's length; compared on public sets, also leaving each out in turn.

    `least_words` is the least that ranks a product's name first on ten real servers.
    """

    least_words: float = 0.25  # words' weight beside a meaning of 1 for the shortest queries
    short: int = SHORT  # content words up to which steps count nothing
    long: int = 20  # and from which on they count most
    most_steps: float = 0.7  # share of the steps in a long query's meaning
    step_words: float = 0.75  # of which this much in its words


LONGQ = Lengths()


@dataclass(frozen=True, slots=True)
class Shares:
    """Share of each signal in the score; they sum to 1."""

    meaning: float
    words: float
    step_meaning: float
    step_words: float

    def siblings(self, weight: float) -> float:
        """Share that servers take of a score where they weigh so much for a whole query.

        Steps may lie on several servers, so that they count for the whole's share alone.
        """
        grown = weight * self.meaning / (self.meaning + self.step_meaning)
        return grown / (1 + grown)


@dataclass(frozen=True, slots=True)
class Signals:
    """Raw scores of one text by tool: cosines, and bm25 of the tools that match."""

    meaning: Scores
    words: Scores


@dataclass(frozen=True, slots=True)
class Extras:
    """Further scores of a query's tools, where there are any.

    `taught` is what tools gain over each other by the requests of them all, `past` by past use;
    `server` holds cosines of the whole query that replace its own after the named server was taken
    into account; `siblings` cosines with the tools of the same server beside it, which weigh
    `siblings_weight` for a whole query.
    """

    past: Scores
    server: Scores
    siblings: Scores = field(default_factory=dict)
    siblings_weight: float = 0.0
    taught: Scores = field(default_factory=dict)


NO_EXTRAS = Extras({}, {})


@dataclass(frozen=True, slots=True)
class Fused:
    """A tool's score, 0 to 1, the parts that sum to it, and the step that it serves best.

    The scores of tools outside the scale, which are off, go up to 2.
    """

    score: float
    parts: tuple[tuple[str, float], ...]
    step: int = -1  # from 0, in the query's order; -1: none, or the query has no steps


def shares(length: int, *, has_steps: bool, lengths: Lengths = LONGQ) -> Shares:
    """LONGQ: long queries lean on words and on their steps (`length` in content words)."""
    grown = min(1.0, max(0.0, (length - lengths.short) / (lengths.long - lengths.short)))
    steps = lengths.most_steps * grown if has_steps else 0.0
    weight = max(lengths.least_words, 0.4 + 1.2 * (math.log1p(length) / 4 - 0.6))
    whole = 1.0 + weight
    return Shares(
        meaning=(1 - steps) / whole,
        words=weight * (1 - lengths.step_words * steps) / whole,
        step_meaning=steps / whole,
        step_words=weight * lengths.step_words * steps / whole,
    )


def scaled_cosines(cosines: Scores, scale: Set[int] | None) -> dict[int, float]:
    """Cosines from 0 (nothing in common) to 1 (the nearest tool of the scale)."""
    reach = _best(cosines, scale, NOTHING) - NOTHING
    if reach <= 0:
        return {}
    return {tool: _bounded(max(0.0, (c - NOTHING) / reach)) for tool, c in cosines.items()}


def scaled_words(scores: Scores, scale: Set[int] | None) -> dict[int, float]:
    """bm25 from 0 to 1 (the best match of the scale)."""
    top = _best(scores, scale, 0.0)
    return {tool: _bounded(score / top) for tool, score in scores.items()} if top > 0 else {}


def _best(scores: Scores, scale: Set[int] | None, least: float) -> float:
    """The best score of the tools that make the scale; of all where none of them has one."""
    inside = (
        scores.values()
        if scale is None
        else [score for tool, score in scores.items() if tool in scale]
    )
    best = max(inside, default=least)
    return best if best > least else max(scores.values(), default=least)


def _bounded(value: float) -> float:
    """A value that keeps its order beyond 1 and stays under 2."""
    return value if value <= 1 else 2 - 1 / value


def fuse(
    tools: Iterable[int],
    whole: Signals,
    steps: Iterable[Signals],
    *,
    weights: Shares,
    extras: Extras = NO_EXTRAS,
    scale: Set[int] | None = None,
) -> dict[int, Fused]:
    """Every tool's score with its parts; a tool counts with the one step it serves best.

    `scale` are the tools that are on, None for all: the best of them is the measure, so that a
    score does not depend on whether tools that are off were looked at.
    """
    meaning, words = scaled_cosines(whole.meaning, scale), scaled_words(whole.words, scale)
    clauses = [(scaled_cosines(s.meaning, scale), scaled_words(s.words, scale)) for s in steps]
    server_change = _change(meaning, extras.server, scale)
    siblings = scaled_cosines(extras.siblings, scale)
    share = weights.siblings(extras.siblings_weight) if siblings else 0.0
    fused = {}
    for tool in tools:
        step = -1
        word_score = weights.words * words.get(tool, 0.0)
        meaning_score = weights.meaning * meaning.get(tool, 0.0)
        if clauses:
            step, step_word_score, step_meaning_score = _best_step(tool, clauses, weights)
            word_score, meaning_score = (
                word_score + step_word_score,
                meaning_score + step_meaning_score,
            )
        word_score, meaning_score = (1 - share) * word_score, (1 - share) * meaning_score
        parts: tuple[tuple[str, float], ...] = ((WORDS, word_score), (MEANING, meaning_score))
        score = word_score + meaning_score
        if siblings:
            beside = share * siblings.get(tool, 0.0)
            score, parts = score + beside, (*parts, (SERVER, beside))
        if server_change:
            moved = weights.meaning * server_change.get(tool, 0.0)
            score, parts = score + moved, (*parts, (SERVER, moved))
        fused[tool] = Fused(score, parts, step)
    if extras.taught:
        fused = _with_gains(fused, extras.taught, REQUESTS, scale=scale, gaps=GAPS)
    return _with_gains(fused, extras.past, PAST_USE, scale=scale) if extras.past else fused


def put_first(
    fused: Mapping[int, Fused], chosen: Set[int], scale: Set[int] | None
) -> dict[int, Fused]:
    """Scores with some tools clearly before all others that are on, in their own order."""
    best = _best({tool: one.score for tool, one in fused.items()}, scale, 0.0)
    past = {
        tool: best + LEAD + _ORDER * fused[tool].score - fused[tool].score
        for tool in chosen
        if tool in fused
    }
    return _with_gains(fused, past, PAST_USE, scale=scale) if past else dict(fused)


def in_order(
    fused: Mapping[int, Fused],
    whole: Signals,
    parts: Iterable[Signals],
    scale: Set[int] | None,
) -> dict[int, Fused]:
    """Scores with the best tool of each order first, in the order of the request.

    `parts` are the signals of the orders, which come one after another. None rises over the best.
    """
    leads: dict[int, int] = {}
    reach = _LEAST_ORDER * _best(whole.meaning, scale, 0.0)
    for step, signals in enumerate(parts):
        if signals.meaning and _best(signals.meaning, scale, 0.0) < reach:
            continue  # it says nothing that a tool is near to
        lead = _lead(fused, signals, leads, scale)
        if lead is not None:
            leads[lead] = step
    if not leads:
        return dict(fused)
    best = _best({tool: one.score for tool, one in fused.items()}, scale, 0.0)
    changes = {tool: best - _NEXT * place - fused[tool].score for place, tool in enumerate(leads)}
    below = best - _NEXT * len(leads)
    for tool, one in fused.items():
        if tool not in leads and one.score > below and (scale is None or tool in scale):
            changes[tool] = below - one.score - _NEXT * (best - one.score)
    changed = dict(fused)
    for tool, change in changes.items():
        one = fused[tool]
        parts_ = (*one.parts, (ORDER, change))
        changed[tool] = Fused(one.score + change, parts_, leads.get(tool, one.step))
    return changed


def put_lower(fused: Mapping[int, Fused], changing: Set[int]) -> dict[int, Fused]:
    """Scores for a question, with the tools that change something below their own."""
    lowered = dict(fused)
    for tool in changing & fused.keys():
        one = fused[tool]
        score = max(0.0, one.score - _NO_ANSWER)
        lowered[tool] = Fused(score, (*one.parts, (QUESTION, score - one.score)), one.step)
    return lowered


def _lead(
    fused: Mapping[int, Fused], signals: Signals, leads: Mapping[int, int], scale: Set[int] | None
) -> int | None:
    """The tool of one order: the best by its own words, where the whole request is near, too."""
    meaning, words = scaled_cosines(signals.meaning, scale), scaled_words(signals.words, scale)
    best, most = None, 0.0
    for tool, one in fused.items():
        if tool in leads or (scale is not None and tool not in scale):
            continue
        own = meaning.get(tool, 0.0) + _ORDER_WORDS * words.get(tool, 0.0)
        total = own + _WHOLE * one.score
        # among equals the first row, however the candidates were come by
        if own > 0 and (total > most or (best is not None and total == most and tool < best)):
            best, most = tool, total
    return best


def _with_gains(
    fused: Mapping[int, Fused],
    gains: Scores,
    part: str,
    *,
    scale: Set[int] | None,
    gaps: float = 1.0,
) -> dict[int, Fused]:
    """Scores after what tools gain over each other, with this much of the gaps that are then.

    The best stays as good as the best was, and none falls below 0.
    """
    gained = {tool: one.score + gains.get(tool, 0.0) for tool, one in fused.items()}
    best = _best({tool: one.score for tool, one in fused.items()}, scale, 0.0)
    most = _best(gained, scale, 0.0)
    changed = {}
    for tool, one in fused.items():
        score = max(0.0, best - gaps * (most - gained[tool]))
        parts = (*one.parts, (part, score - one.score))
        changed[tool] = Fused(score, parts, one.step)
    return changed


def _best_step(
    tool: int, clauses: Iterable[tuple[Scores, Scores]], weights: Shares
) -> tuple[int, float, float]:
    """The step with the greatest sum, its words and its meaning; these are 0 in short queries."""
    by_words, by_meaning = weights.step_words, weights.step_meaning
    if not by_meaning:
        by_words, by_meaning = weights.words, weights.meaning
    best, most = (-1, 0.0, 0.0), 0.0
    for step, (meaning, words) in enumerate(clauses):
        its_words, its_meaning = words.get(tool, 0.0), meaning.get(tool, 0.0)
        total = by_words * its_words + by_meaning * its_meaning
        if total > most:
            most = total
            best = (step, weights.step_words * its_words, weights.step_meaning * its_meaning)
    return best


def _change(before: Scores, cosines: Scores, scale: Set[int] | None) -> dict[int, float]:
    """Change of each tool's score by other cosines; empty without any."""
    after = scaled_cosines(cosines, scale)
    return {tool: value - before.get(tool, 0.0) for tool, value in after.items()}
