"""What a ranking is worth against labelled tools: Hit@1, R@5, R@10, nDCG@10, MRR, in per cent."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

FIELDS = ("hit1", "r5", "r10", "ndcg10", "mrr", "recall", "active", "empty", "cpu_ms")


@dataclass(frozen=True, slots=True)
class Gold:
    """The tools a query should find.

    A tool of `same` counts as the gold tool it stands for; a second hit of one group is ignored.
    """

    tools: tuple[str, ...]
    same: Mapping[str, str] = field(default_factory=dict)  # equivalent tool -> gold tool
    grades: Mapping[str, float] = field(default_factory=dict)  # gold tool -> relevance, else 1


@dataclass(frozen=True, slots=True)
class Judged:
    """One query's figures: shares from 0 to 1, `active` in tools, `cpu_ms` in milliseconds."""

    hit1: float
    r5: float
    r10: float
    ndcg10: float
    mrr: float
    recall: float  # of the gold tools, among those that are active
    active: float
    empty: float
    cpu_ms: float


def judge(ranking: Sequence[str], active: Sequence[str], gold: Gold, cpu_ms: float = 0.0) -> Judged:
    """The figures of one query; `active` are the tools that the cut let in."""
    gains = _gains(ranking, gold)
    hits = [gain > 0 for gain in gains]
    first = next((place for place, hit in enumerate(hits, 1) if hit), 0)
    whole = len(gold.tools)
    return Judged(
        hit1=float(first == 1),
        r5=sum(hits[:5]) / whole,
        r10=sum(hits[:10]) / whole,
        ndcg10=_dcg(gains[:10]) / _dcg(_ideal(gold)),
        mrr=1 / first if first else 0.0,
        recall=sum(gain > 0 for gain in _gains(active, gold)) / whole,
        active=float(len(active)),
        empty=float(not active),
        cpu_ms=cpu_ms,
    )


def mean(rows: Sequence[Judged]) -> dict[str, float]:
    """The mean of many queries, shares in per cent."""
    return average([_plain(row) for row in rows])


def average(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The unweighted mean of several tables of figures (a macro mean over sets)."""
    tables = list(rows)
    return {name: sum(t[name] for t in tables) / len(tables) for name in FIELDS} if tables else {}


def _plain(row: Judged) -> dict[str, float]:
    unit = {"active": 1.0, "cpu_ms": 1.0}
    return {name: getattr(row, name) * unit.get(name, 100.0) for name in FIELDS}


def _gains(ranking: Sequence[str], gold: Gold) -> list[float]:
    known = {tool: tool for tool in gold.tools} | dict(gold.same)
    seen: set[str] = set()
    gains = []
    for tool in ranking:
        group = known.get(tool)
        if group is None:
            gains.append(0.0)
        elif group not in seen:
            seen.add(group)
            gains.append(float(gold.grades.get(group, 1.0)))
    return gains


def _ideal(gold: Gold) -> list[float]:
    return sorted((float(gold.grades.get(t, 1.0)) for t in gold.tools), reverse=True)[:10]


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))
