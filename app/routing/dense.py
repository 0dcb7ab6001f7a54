"""Meaning: cosines of query and tools, from sqlite-vec or from a matrix in memory."""

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from store import vectors
from store.search import Scope

if TYPE_CHECKING:
    import numpy as np

VIEW = "summary"
# neighbours asked for per query text; what is not among them gets its cosine one by one
POOL = 60

Cosines = Mapping[int, float]  # by tool row id


class Encoding(Protocol):
    """What routing needs of an encoder (app.encoder.onnx.Encoder, or a fake in tests)."""

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


class IndexMeaning:
    """Cosines inside SQLite: filters are part of the search, and numpy is not needed."""

    def __init__(self, db: apsw.Connection, model: str, dims: int) -> None:
        self._db = db
        self._model = model
        self._index = vectors.ensure_index(db, model, dims, VIEW)

    def nearest(
        self,
        queries: Sequence[bytes],
        *,
        also: Set[int] = frozenset(),
        limit: int = POOL,
        scope: Scope | None = None,
    ) -> list[dict[int, float]]:
        """Cosines of the tools nearest to any query text, and of these other tools."""
        found = [
            {
                h.tool_id: h.score
                for h in vectors.nearest(self._db, self._index, q, k=limit, scope=scope)
            }
            for q in queries
        ]
        self.fill(queries, found, set(also).union(*found))
        return found

    def fill(
        self, queries: Sequence[bytes], found: Sequence[dict[int, float]], wanted: Set[int]
    ) -> None:
        """Add the cosines of wanted tools that a list does not hold."""
        for query, cosines in zip(queries, found, strict=True):
            lacking = wanted - cosines.keys()
            if lacking:
                hits = vectors.cosines(self._db, self._model, query, view=VIEW, tool_ids=lacking)
                cosines.update((hit.tool_id, hit.score) for hit in hits)


class MatrixMeaning:
    """Cosines of every tool at once; for rankings that show the whole catalogue."""

    def __init__(self, stored: Mapping[int, bytes]) -> None:
        import numpy

        self._ids = list(stored)
        self._matrix: np.ndarray[Any, Any] = numpy.frombuffer(
            b"".join(stored.values()), dtype="<f4"
        ).reshape(len(self._ids), -1 if stored else 0)

    @property
    def count(self) -> int:
        """How many tools have a vector."""
        return len(self._ids)

    def all(self, queries: Sequence[bytes]) -> list[dict[int, float]]:
        """Every tool's cosine with each query text."""
        import numpy

        if not self._ids:
            return [{} for _ in queries]
        asked = numpy.frombuffer(b"".join(queries), dtype="<f4").reshape(len(queries), -1)
        table = (self._matrix @ asked.T).T.tolist()
        return [dict(zip(self._ids, cosines, strict=True)) for cosines in table]
