"""Meaning: cosines of query and tools, compared in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from store import requests, vectors
from store.search import Scope, allowed_tools

if TYPE_CHECKING:
    import numpy as np

    Matrix = np.ndarray[Any, Any]
    Indices = np.ndarray[Any, np.dtype[np.int64]]

VIEW = "summary"
# neighbours asked for per query text; what is not among them gets its cosine one by one
POOL = 60
# If a tool's best request is nearer than the tool itself, its cosine moves this far from its own
# to the request's: three texts have more luck than one, and what an agent words like a description
# must not lose to it.
REQUEST = 0.6
# By so much nearer a request must be where only a part of the tools has some (see partly()).
LEAD = 0.1
USUAL = 3  # requests of a tool that has some
_MOST_SCOPES = 16  # whose tools are kept
_CHUNK = 256  # requests compared with all others at once
_HELD_OUT = 2000  # requests that are compared with the rest, at most


class Encoding(Protocol):
    """Interface of an encoder as routing uses it (app.encoder.onnx.Encoder, or a fake in tests)."""

    @property
    def key(self) -> str:
        """The name under which its vectors are stored."""
        ...

    @property
    def dims(self) -> int:
        """Length of a vector."""
        ...

    def encode_bytes(self, text: str, *, query: bool = False) -> bytes:
        """A text's unit vector as float32 bytes."""
        ...

    def encode_query(self, text: str) -> tuple[bytes, bytes]:
        """A query's unit vector and the inner one beside it, both float32 bytes."""
        ...

    def has_word(self, word: str) -> bool:
        """True if it knows a word in small letters."""
        ...


class VectorTable:
    """Vectors in memory (numpy), 1.5 KB each: compared ten times faster than on disk.

    `stored` are pairs of tool and vector, all of a tool together: one a tool, or its requests', of
    which the best counts.
    """

    def __init__(self, stored: Sequence[tuple[int, bytes]]) -> None:
        import numpy

        tools = numpy.array([tool for tool, _data in stored], dtype=numpy.int64)
        # a column each: so a product with one vector takes half the time of one with rows
        self._columns = numpy.ascontiguousarray(_rows([data for _tool, data in stored]).T)
        self._starts = numpy.flatnonzero(numpy.diff(tools, prepend=-1))
        self._tools = tools[self._starts]
        self._place = {tool: place for place, tool in enumerate(self._tools.tolist())}
        self._prepared: Mapping[bytes, Matrix] = {}  # cosines of the queries prepared last

    @property
    def matrix(self) -> "Matrix":
        """The vectors as rows, in their order."""
        rows: Matrix = self._columns.T
        return rows

    def prepare(self, queries: Sequence[bytes]) -> None:
        """Compare these, for the questions that follow."""
        self._prepared = {query: self._compared(query) for query in queries}

    def places(self, tools: Set[int]) -> "Indices":
        """The places of these tools, as far as they have vectors, for nearest()."""
        import numpy

        kept = [place for tool, place in self._place.items() if tool in tools]
        return numpy.array(kept, dtype=numpy.int64)

    def nearest(self, query: bytes, k: int, among: "Indices | None" = None) -> dict[int, float]:
        """Cosines of the k tools nearest to a query; `among` are places of those that may be."""
        import numpy

        cosines, tools = self._of(query), self._tools
        if among is not None:
            cosines, tools = cosines[among], tools[among]
        if not len(cosines):
            return {}
        best = numpy.argpartition(-cosines, min(k, len(cosines)) - 1)[:k]
        return dict(zip(tools[best].tolist(), cosines[best].tolist(), strict=True))

    def cosines(self, query: bytes, tools: Iterable[int]) -> dict[int, float]:
        """The cosine of each of these tools that has a vector."""
        kept = [tool for tool in tools if tool in self._place]
        cosines = self._of(query)[[self._place[tool] for tool in kept]]
        return dict(zip(kept, cosines.tolist(), strict=True))

    def _of(self, query: bytes) -> "Matrix":
        """The cosine of each tool, its best vector's."""
        cosines = self._prepared.get(query)
        return self._compared(query) if cosines is None else cosines

    def _compared(self, query: bytes) -> "Matrix":
        import numpy

        cosines: Matrix = numpy.frombuffer(query, dtype="<f4") @ self._columns
        if len(self._starts) < len(cosines):
            cosines = numpy.maximum.reduceat(cosines, self._starts)
        return cosines


class NearestRetriever:
    """Cosines of the tools nearest to a query within a filter, which is read once and kept.

    `written` are requests' vectors, pairs of tool and vector, all of a tool together.
    """

    def __init__(
        self,
        db: apsw.Connection,
        stored: Mapping[int, bytes],
        written: Sequence[tuple[int, bytes]],
    ) -> None:
        self._db = db
        self._lead = request_lead(*requests.counts(db))
        self.tools = VectorTable(list(stored.items()))
        self._requests = VectorTable(written) if written else None
        self._allowed: dict[Scope, tuple[Indices, Indices | None]] = {}  # places in both tables

    @classmethod
    def from_store(cls, db: apsw.Connection, model: str) -> "NearestRetriever":
        """Every vector that the store holds of a model."""
        return cls(db, vectors.load(db, model), requests.vectors(db, model))

    def nearest(
        self,
        queries: Sequence[bytes],
        *,
        also: Set[int] = frozenset(),
        limit: int = POOL,
        scope: Scope | None = None,
    ) -> list[dict[int, float]]:
        """Cosines of the tools nearest to any query text, and of these other tools."""
        self.tools.prepare(queries)
        if self._requests:
            self._requests.prepare(queries)
        among, owners = self._places(scope)
        cosine_lists, wanted = [], set(also)
        for query in queries:
            cosine_lists.append(self._raised(query, self.tools.nearest(query, limit, among)))
            if self._requests:
                wanted.update(self._requests.nearest(query, limit, owners))
        self.fill(queries, cosine_lists, wanted.union(*cosine_lists))
        return cosine_lists

    def _places(self, scope: Scope | None) -> "tuple[Indices | None, Indices | None]":
        """The places of a scope's tools in both tables, None for all."""
        if scope is None:
            return None, None
        if scope not in self._allowed:
            if len(self._allowed) >= _MOST_SCOPES:
                self._allowed.clear()
            tools = allowed_tools(self._db, scope)
            owners = self._requests.places(tools) if self._requests else None
            self._allowed[scope] = self.tools.places(tools), owners
        return self._allowed[scope]

    def fill(
        self, queries: Sequence[bytes], cosine_lists: Sequence[dict[int, float]], wanted: Set[int]
    ) -> None:
        """Add the cosines of wanted tools that a list does not hold."""
        for query, cosines in zip(queries, cosine_lists, strict=True):
            lacking = wanted - cosines.keys()
            if lacking:
                cosines.update(self._raised(query, self.own(query, lacking)))

    def _raised(self, query: bytes, own: dict[int, float]) -> dict[int, float]:
        """Tools' own cosines moved to their best requests."""
        if not self._requests:
            return own
        return raised_by(own, self._requests.cosines(query, own), self._lead)

    def own(self, query: bytes, tools: Iterable[int]) -> dict[int, float]:
        """Cosines of these tools' own vectors, without their requests."""
        return self.tools.cosines(query, tools)


def raised_by(
    own: Mapping[int, float], requests: Mapping[int, float], lead: float
) -> dict[int, float]:
    """Tools' own cosines moved towards their best request's where that is nearer by the lead."""
    return {
        tool: cosine + REQUEST * max(0.0, requests.get(tool, cosine) - cosine - lead)
        for tool, cosine in own.items()
    }


def request_lead(written: int, tools: int) -> float:
    """By how much a request must be nearer than its tool among so many requests of so many."""
    return LEAD * partly(written, tools)


def partly(written: int, tools: int) -> float:
    """1 where half of the tools or fewer have requests, 0 where all have their number.

    Requests raise the tools that have them over those without; so they count less then.
    """
    return min(1.0, 2.0 * max(0.0, 1.0 - written / max(1, USUAL * tools)))


class MatrixRetriever:
    """Cosines of every tool at once; for rankings that show the whole catalogue.

    `stored` are vectors by tool, `requests` pairs of tool and vector, all of a tool together.
    """

    def __init__(
        self,
        stored: Mapping[int, bytes],
        requests: Sequence[tuple[int, bytes]] = (),
        lead: float = 0.0,
    ) -> None:
        self._ids = list(stored)
        self._matrix = _rows(list(stored.values()))
        self._requests = RequestMatrix.of(self._ids, requests, lead)

    @classmethod
    def from_store(cls, db: apsw.Connection, model: str) -> "MatrixRetriever":
        """Every vector that the store holds of a model."""
        lead = request_lead(*requests.counts(db))
        return cls(vectors.load(db, model), requests.vectors(db, model), lead)

    @property
    def count(self) -> int:
        """Number of tools with a vector."""
        return len(self._ids)

    def all(self, queries: Sequence[bytes]) -> list[dict[int, float]]:
        """Every tool's cosine with each query text, its own or its best request's."""
        return self._table(queries, with_requests=True)

    def own(self, queries: Sequence[bytes]) -> list[dict[int, float]]:
        """Every tool's cosine with each query text, without requests."""
        return self._table(queries, with_requests=False)

    def held_out(self) -> list[float]:
        """The best cosine of requests with the catalogue as it were without each of them.

        At most 2,000, from all parts of the catalogue.
        """
        import numpy

        best: list[float] = []
        for rows, places in self._requests.parts():
            table = self._requests.better(rows @ self._matrix.T, rows, without=places)
            best += numpy.max(table, axis=1).tolist()
        return best

    def request_rows(self) -> "Matrix":
        """The vectors of the requests that held_out() compares, in its order."""
        import numpy

        return numpy.concatenate([rows for rows, _ in self._requests.parts()])

    def _table(self, queries: Sequence[bytes], *, with_requests: bool) -> list[dict[int, float]]:
        if not self._ids:
            return [{} for _ in queries]
        query_vectors = _rows(queries)
        table = query_vectors @ self._matrix.T
        if with_requests:
            table = self._requests.better(table, query_vectors)
        return [dict(zip(self._ids, cosines, strict=True)) for cosines in table.tolist()]


class RequestMatrix:
    """Requests' vectors, and the column of a table of cosines that each belongs to."""

    def __init__(self, columns: "Matrix", matrix: "Matrix", lead: float) -> None:
        import numpy

        # requests of one tool are adjacent: the start of each tool's
        self._starts = numpy.flatnonzero(numpy.diff(columns, prepend=-1))
        self._columns = columns[self._starts]
        self._matrix = matrix
        self._lead = lead

    @classmethod
    def of(
        cls, tools: Sequence[int], requests: Sequence[tuple[int, bytes]], lead: float
    ) -> "RequestMatrix":
        """The requests of these tools; others are left out."""
        import numpy

        column = {tool: place for place, tool in enumerate(tools)}
        kept = [(column[tool], data) for tool, data in requests if tool in column]
        columns = numpy.array([c for c, _ in kept], dtype=int)
        return cls(columns, _rows([d for _, d in kept]), lead)

    def rows(self, places: "Indices") -> "Matrix":
        """The vectors of these requests."""
        rows: Matrix = self._matrix[places]
        return rows

    def owners(self, places: "Indices") -> "Indices":
        """The column of the tool that each of these requests is of."""
        import numpy

        mine: Indices = self._columns[numpy.searchsorted(self._starts, places, side="right") - 1]
        return mine

    def parts(self) -> "Iterator[tuple[Matrix, Matrix]]":
        """The vectors of some requests and their places, a few hundred at a time."""
        import numpy

        count = len(self._matrix)
        chosen = numpy.linspace(0, count - 1, min(_HELD_OUT, count)).astype(int)
        for start in range(0, len(chosen), _CHUNK):
            places = chosen[start : start + _CHUNK]
            yield self._matrix[places], places

    def better(
        self, table: "Matrix", queries: "Matrix", without: "Matrix | None" = None
    ) -> "Matrix":
        """The table (a row per query) moved to each tool's best request where that is nearer.

        `without` names a request for each row that does not count there.
        """
        import numpy

        if not len(self._columns):
            return table
        cosines = queries @ self._matrix.T
        if without is not None:
            cosines[numpy.arange(len(without)), without] = -1.0
        best = numpy.maximum.reduceat(cosines, self._starts, axis=1)
        raised = table.copy()
        own = table[:, self._columns]
        raised[:, self._columns] = own + REQUEST * numpy.maximum(best - own - self._lead, 0)
        return raised


def _rows(vectors: Sequence[bytes]) -> "Matrix":
    """Vectors as the rows of a matrix."""
    import numpy

    return numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(
        len(vectors), -1 if vectors else 0
    )
