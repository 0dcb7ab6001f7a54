"""Marks of the score strip, without Qt."""

from dataclasses import dataclass

IN, OUT, HELD, WANTED = "in", "out", "held", "expected"
_GOLDEN = 0.618034  # low-discrepancy steps keep neighbours apart


@dataclass(frozen=True, slots=True)
class Mark:
    """One tool on the strip."""

    tool_id: str
    score: float
    kind: str  # in | out | held | expected


def spread(position: int) -> float:
    """The height (0.12 to 0.72) of the mark at a position: fixed, so that marks never jump."""
    return 0.12 + 0.6 * ((position * _GOLDEN) % 1.0)
