"""Words as the local keyword index (FTS5, porter) cuts them, and tools' words for Postgres.

Postgres keeps them as a tsvector made here, not by its own parser, so that a query finds the same
tools in both. Each field has its own range of positions: at one position a tsvector keeps one word.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import apsw

from store.search import KeywordRow

_LABELS = ("A", "B", "C", "D", "D")  # of name, description, parameters, server, requests
_STARTS = (0, 1_024, 9_216, 12_288, 13_312)  # of their positions; the largest is 16,383
_ENDS = (*_STARTS[1:], 16_383)
_REPEATS = 48  # positions of one word in one field: a tsvector keeps 255 for all


class Tokens:
    """FTS5's tokenizer with the options of the local keyword index; for one thread at a time."""

    @cached_property
    def _cut(self) -> apsw.FTS5Tokenizer:
        db = apsw.Connection(":memory:")
        return db.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def of(self, text: str) -> list[str]:
        """The index's tokens of a text, in order and with repeats."""
        tokens: list[str] = []
        for group in self._cut(
            text.encode(),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_offsets=False,
            include_colocated=False,
        ):
            tokens.append(str(group))
        return tokens

    def literal(self, row: KeywordRow) -> tuple[str, int]:
        """A tool's row of the keyword index as a tsvector literal, and its number of tokens."""
        places: dict[str, list[str]] = {}
        length = 0
        for field, text in enumerate(row[1:]):
            repeats: Counter[str] = Counter()
            for at, token in enumerate(self.of(str(text)), _STARTS[field] + 1):
                length += 1
                repeats[token] += 1
                if repeats[token] <= _REPEATS and at < _ENDS[field]:
                    places.setdefault(token, []).append(f"{at}{_LABELS[field]}")
        return " ".join(f"{_quoted(t)}:{','.join(at)}" for t, at in places.items()), length


def frequencies(positions: Sequence[int]) -> list[int]:
    """Occurrences of a word by field: name, description, parameters, server, requests."""
    counts = [0] * len(_STARTS)
    for position in positions:
        counts[bisect_left(_STARTS, position) - 1] += 1
    return counts


def stems_of(literals: Iterable[str]) -> Counter[str]:
    """Each word of tsvector literals with the number of literals that hold it."""
    counts: Counter[str] = Counter()
    for literal in literals:
        counts.update(part.rsplit(":", 1)[0][1:-1].replace("''", "'") for part in literal.split())
    return counts


def _quoted(token: str) -> str:
    return "'" + token.replace("\\", "\\\\").replace("'", "''") + "'"
