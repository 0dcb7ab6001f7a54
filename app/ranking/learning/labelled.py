"""Labelled queries that are asked again: their tools come first, from the very next query on.

Only a query with the same content words (without their endings) is the same: a looser rule costs
the tools that were never logged. What like queries say is learned (app.ranking.learning.learn).
"""

from collections.abc import Mapping

import apsw

from app.ranking.keyword import stem
from app.ranking.text import content_words
from store import queries


class LabelledQueries:
    """The labels of a store as they are at each question."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._state = ""
        self._tools: Mapping[frozenset[str], frozenset[str]] = {}

    def tools(self, query: str) -> frozenset[str]:
        """The `server/tool` that labels expect for this query, none where it has no label."""
        state = queries.labels_state(self._db)
        if state != self._state:
            self._state, self._tools = state, self._read()
        return self._tools.get(key_of(query), frozenset()) if self._tools else frozenset()

    def _read(self) -> Mapping[frozenset[str], frozenset[str]]:
        expected: dict[frozenset[str], frozenset[str]] = {}
        for label in queries.labels(self._db):
            key = key_of(label.query)
            if key and label.expected:
                expected[key] = expected.get(key, frozenset()).union(label.expected)
        return expected


def key_of(query: str) -> frozenset[str]:
    """Key by which a labelled query is known again: its content words without their endings."""
    return frozenset(stem(word) for word in content_words(query))
