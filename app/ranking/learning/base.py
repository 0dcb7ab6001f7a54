"""Every tool's fused score of many queries, without anything learned: what training starts from.

The router's own formula over matrices. bm25 of several words is the sum of each word's, so each
word is asked for once: long logged queries share most of theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import apsw

from app.ranking.dense import Encoding, RequestMatrix, request_lead
from app.ranking.fuse import GAPS, LONGQ, NOTHING, SHORT, Lengths, shares
from app.ranking.hierarchy import parse_request
from app.ranking.keyword import word_weights
from app.ranking.query.literals import read_literals
from app.ranking.query.reading import read_query
from app.ranking.query.steps import steps_of
from app.ranking.siblings import Siblings, prior_weight
from app.ranking.text import MOST_QUERY, content_words, distinct
from store.requests import counts
from store.search import WEIGHTS, has_word, keyword_scores

if TYPE_CHECKING:
    from app.ranking.learning.past_use import Matrix
    from app.ranking.learning.taught import Indices, Taught


@dataclass(frozen=True, slots=True)
class QuerySignals:
    """A query's signals of every tool, 0 to 1: of the whole first, then of each step."""

    vector: "Matrix"  # of the whole query
    inner: "Matrix"  # the encoder's inner vector of it
    length: int  # content words
    meaning: "Sequence[Matrix]"
    words: "Sequence[Matrix]"
    beside: "Matrix | None" = None  # of the whole with each tool's server, where servers count
    beside_weight: float = 0.0
    taught: "Matrix | None" = None  # what each tool gains by requests

    def scores(self, lengths: Lengths = LONGQ) -> "Matrix":
        """The sum of fuse.fuse(), for all tools at once."""
        weights = shares(self.length, has_steps=len(self.meaning) > 1, lengths=lengths)
        score = weights.meaning * self.meaning[0] + weights.words * self.words[0]
        steps = [
            weights.step_meaning * meaning + weights.step_words * words
            for meaning, words in zip(self.meaning[1:], self.words[1:], strict=True)
        ]
        for step in steps[1:]:
            steps[0] = steps[0].clip(min=step)
        score = score + steps[0] if steps else score
        if self.beside is not None:
            share = weights.siblings(self.beside_weight)
            score = (1 - share) * score + share * self.beside
        return score if self.taught is None else GAPS * (score + self.taught)


class BaseScores:
    """Scores queries over tools given by the rows of a matrix of their vectors.

    `requests` are pairs of a tool's key and a vector, all of a tool together; `servers` names each
    row's server.
    """

    def __init__(
        self,
        db: apsw.Connection,
        encoder: Encoding,
        *,
        tools: "Matrix",
        keys: Sequence[int],
        servers: Sequence[int] = (),
        requests: Sequence[tuple[int, bytes]] = (),
        weights: Sequence[float] = WEIGHTS,
        taught: "Taught | None" = None,
    ) -> None:
        self._db = db
        self._keys = keys
        self._taught = taught
        self._encoder = encoder
        self._tools = tools
        counted = counts(db)
        self._requests = RequestMatrix.of(keys, requests, request_lead(*counted))
        self._siblings = Siblings(tools, servers) if prior_weight(servers) else None
        self._weights = word_weights(weights, *counted)
        self._rows = {key: row for row, key in enumerate(keys)}
        self._words: dict[str, Matrix] = {}

    def of(self, query: str, *, short: int = SHORT) -> QuerySignals:
        """A query's signals; longer than `short` content words it has steps."""
        import numpy as np

        request = parse_request(query)
        typed = request.query.strip() or request.tool.strip()
        reading = read_query(typed, lambda word: has_word(self._db, word))
        query_text = reading.text
        tool_text = "" if reading.is_changed else request.tool.strip()
        length = len(content_words(read_literals(query_text)))
        steps = [] if reading.pasted or length <= short else steps_of(query_text)[0]
        texts = [read_literals(text) for text in (tool_text or query_text, *steps)]
        encoded = self._encoder.encode_query(texts[0][:MOST_QUERY])
        whole, inner = (np.frombuffer(row, dtype="<f4") for row in encoded)
        vectors = np.stack([whole, *map(self._vector, steps)])
        table = self._requests.better(vectors @ self._tools.T, vectors)
        meaning = [_scaled(cosines - NOTHING) for cosines in table]
        words = [_scaled(self._bm25(text)) for text in texts]
        gains = self._gains(encoded[0])
        signals = QuerySignals(whole, inner, length, meaning, words, taught=gains)
        if self._siblings is None or request.server.strip():
            return signals
        cosines: Matrix = self._siblings.row(whole, table[0])
        scaled = _scaled(cosines - NOTHING)
        return replace(signals, beside=scaled, beside_weight=self._siblings.weight)

    def of_requests(
        self, places: "Indices", texts: Sequence[str]
    ) -> "tuple[Matrix, Indices, Matrix]":
        """Vectors, rows of their tools and scores of these requests, in the order they were given.

        A request's scores are those of a catalogue that lacks it; words count without any request.
        """
        import numpy as np

        vectors = self._requests.rows(places)
        table = self._requests.better(vectors @ self._tools.T, vectors, without=places)
        scores = np.empty_like(table)
        for row, text in enumerate(texts):
            weights = shares(len(content_words(read_literals(text))), has_steps=False)
            words = _scaled(self._bm25(text))
            scores[row] = weights.meaning * _scaled(table[row] - NOTHING) + weights.words * words
        return vectors, self._requests.owners(places), scores

    def _gains(self, query: bytes) -> "Matrix | None":
        import numpy as np

        if self._taught is None:
            return None
        gains = self._taught.gains(query)
        return np.array([gains.get(key, 0.0) for key in self._keys], dtype=np.float32)

    def _vector(self, text: str) -> "Matrix":
        import numpy as np

        vector: Matrix = np.frombuffer(
            self._encoder.encode_bytes(text[:MOST_QUERY], query=True), dtype="<f4"
        )
        return vector

    def _bm25(self, text: str) -> "Matrix":
        import numpy as np

        total: Matrix = np.zeros(len(self._rows), dtype=np.float32)
        for word in distinct(content_words(text)):
            if word not in self._words:
                self._words[word] = self._of_word(word)
            total = total + self._words[word]
        return total

    def _of_word(self, word: str) -> "Matrix":
        import numpy as np

        scores: Matrix = np.zeros(len(self._rows), dtype=np.float32)
        for tool_id, score in keyword_scores(self._db, [word], weights=self._weights).items():
            if tool_id in self._rows:
                scores[self._rows[tool_id]] = score
        return scores


def _scaled(values: "Matrix") -> "Matrix":
    """From 0 to 1, the query's best."""
    import numpy as np

    top = float(values.max(initial=0.0))
    return np.clip(values / top, 0.0, None) if top > 0 else np.zeros_like(values)
