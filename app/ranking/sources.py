"""Sources of a ranking: words, meaning and labels of one catalogue, from the local store or from
another (app.team_server.ranking reads a team's). All that is computed of them is the router's."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol

import apsw

from app.catalog.catalog import Catalog
from app.ranking.dense import Encoding
from app.ranking.keyword import word_scores, word_weights
from app.ranking.learning.labelled import LabelledQueries
from app.ranking.meaning import DenseRetriever, DenseScores
from app.ranking.query.spelling import Speller
from app.ranking.text import split_name, words
from store import requests
from store.records import RequestRecord
from store.search import Scope, has_word


class Meaning(Protocol):
    """Interface of what compares texts with a catalogue's tools (app.ranking.meaning)."""

    def compare(
        self,
        texts: Sequence[str],
        *,
        server: str = "",
        scope: Scope | None = None,
        near: Set[int] | None = None,
        off: Scope | None = None,
        learned: bool = True,
    ) -> DenseScores:
        """Cosines of the whole request (first text) and its steps."""
        ...

    def floor(self, query: str, vector: bytes, *, translated: bool) -> float:
        """The floor of a query with this vector."""
        ...


class Sources(Protocol):
    """Interface of a catalogue's searches as the router asks them."""

    def word_scores(
        self, text: str, *, scope: Scope | None, weights: Sequence[float]
    ) -> dict[int, float]:
        """bm25 of the text's content words, by tool."""
        ...

    def has_word(self, word: str) -> bool:
        """True if any tool's keywords hold a form of the word."""
        ...

    def speller(self) -> Speller:
        """The catalogue's words."""
        ...

    def labelled(self, query: str) -> Set[str]:
        """The `server/tool` that labels expect for a query."""
        ...

    def requests(self, tool_id: int) -> Sequence[str]:
        """A tool's live requests."""
        ...

    def meaning(self, encoder: Encoding, *, learned: bool) -> Meaning:
        """Comparison by an encoder's vectors."""
        ...


class StoreSources:
    """The local store's."""

    def __init__(self, db: apsw.Connection, catalog: Catalog) -> None:
        self._db = db
        self._catalog = catalog
        self._labels = LabelledQueries(db)
        self._counts: tuple[int, int] | None = None  # of requests and tools, once needed

    def word_scores(
        self, text: str, *, scope: Scope | None, weights: Sequence[float]
    ) -> dict[int, float]:
        """bm25 by FTS5."""
        if self._counts is None:
            self._counts = requests.counts(self._db)
        discounted = word_weights(weights, *self._counts)
        return word_scores(self._db, text, scope=scope, weights=discounted)

    def has_word(self, word: str) -> bool:
        """True if any tool's keywords hold a form of the word."""
        return has_word(self._db, word)

    def speller(self) -> Speller:
        """The catalogue's words; read anew at each call."""
        live = requests.live(self._db)
        return Speller(
            text
            for row in self._catalog.tools
            if not row.tool.gone
            for text in texts_to_spell(
                row.tool.name,
                row.tool.server,
                row.summary,
                (request.text for request in live.get(row.tool.id, ())),
            )
        )

    def labelled(self, query: str) -> Set[str]:
        """The `server/tool` that labels expect for a query, as the labels are now."""
        return self._labels.tools(query)

    def requests(self, tool_id: int) -> Sequence[str]:
        """A tool's live requests."""
        rows: Mapping[int, Sequence[RequestRecord]] = requests.live(self._db, tool_id)
        return [request.text for request in rows.get(tool_id, ())]

    def meaning(self, encoder: Encoding, *, learned: bool) -> Meaning:
        """Comparison of the store's vectors."""
        return DenseRetriever(self._db, self._catalog, encoder, learned=learned)


def texts_to_spell(name: str, server: str, summary: str, written: Iterable[str]) -> Iterable[str]:
    """A tool's texts whose words count as known ones, as words."""
    for text in (split_name(name), split_name(server), summary, *written):
        yield " ".join(words(text))
