"""Meaning of a request: cosines of its texts, after learning, and with the server it names."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from app.catalog.catalog import Catalog, CatalogTool
from app.ranking import hierarchy
from app.ranking.dense import (
    Encoding,
    MatrixRetriever,
    NearestRetriever,
)
from app.ranking.floor import Floor, load_floor
from app.ranking.fuse import NO_EXTRAS, Extras
from app.ranking.learning import learn, teaching
from app.ranking.siblings import Siblings, prior_weight
from app.ranking.text import MOST_QUERY
from store import requests, vectors
from store.search import Scope

if TYPE_CHECKING:
    from app.ranking.learning.past_use import PastUse, Recalled
    from app.ranking.learning.taught import Taught


_MOST_LOGGED = 30  # tools of the log that become candidates
OFF_POOL = 10  # neighbours among the tools that are off: the best of them is named


@dataclass(frozen=True, slots=True)
class DenseScores:
    """Cosines by tool of the whole request and of its steps, and what else is known."""

    whole: Mapping[int, float]
    steps: Sequence[Mapping[int, float]]
    extras: Extras = NO_EXTRAS
    vector: bytes = b""  # of the whole request


NO_SCORES = DenseScores({}, ())


class DenseRetriever:
    """Compares texts with one catalogue's tools; loads what it needs at the first question."""

    def __init__(
        self, db: apsw.Connection, catalog: Catalog, encoder: Encoding, *, learned: bool
    ) -> None:
        self._db = db
        self._catalog = catalog
        self._encoder = encoder
        self._rows: dict[int, CatalogTool] = {row.tool.id: row for row in catalog.tools}
        self._past: PastUse | None = learn.load(db, encoder.key) if learned else None
        self._taught: Taught | None = teaching.load(db, encoder.key)
        self._near: NearestRetriever | None = None  # read at the first search
        self._is_read = False
        self._matrix: MatrixRetriever | None = None
        self._servers: dict[int, list[bytes]] | None = None
        self._server_of = {
            row.tool.id: row.tool.server_id for row in catalog.tools if not row.tool.gone
        }
        self._siblings: Siblings | None = None
        self._floor: Floor | None = None
        self._large = prior_weight(list(self._server_of.values())) > 0

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
        """Cosines of the whole request (first text) and its steps.

        With `near`, the nearest tools within the scope count, these tools and a few of those in
        `off`; without it every tool counts. The catalogue's vectors are in memory from the first
        such search on.
        """
        if not self._is_read and (near is not None or self._large):
            self._read_vectors()
        query_vectors = self._encoder.encode_query(texts[0][:MOST_QUERY])
        steps = (self._encoder.encode_bytes(t[:MOST_QUERY], query=True) for t in texts[1:])
        queries = [query_vectors[0], *steps]
        cosines = self._cosines(queries, scope, near, off)
        if not cosines[0]:
            return NO_SCORES
        taught = self._taught.gains(queries[0]) if self._taught else {}
        recalled = self._past.recall(*query_vectors) if self._past and learned else None
        past: Mapping[int, float] = {}
        if recalled:
            offered = self._offered(recalled.tools, scope)
            if near is not None:
                self._add(recalled.best(_MOST_LOGGED, offered), queries, cosines)
            past = self._changes(recalled, cosines[0], offered)
        named = self._hierarchical(server, cosines[0]) if server else {}
        beside = {} if server else self._beside(queries[0], cosines[0])
        weight = self._siblings.weight if self._siblings else 0.0
        extras = Extras(past, named, beside, weight, taught)
        return DenseScores(cosines[0], cosines[1:], extras, queries[0])

    def floor(self, query: str, vector: bytes, *, translated: bool) -> float:
        """The floor that the last scan set for a query with this vector."""
        if self._floor is None:
            self._floor = load_floor(self._db, self._encoder.key, self._encoder.dims)
        return self._floor.of(query, vector, translated=translated)

    def _cosines(
        self,
        queries: Sequence[bytes],
        scope: Scope | None,
        near: Set[int] | None,
        off: Scope | None,
    ) -> list[dict[int, float]]:
        if near is not None:
            if self._near is None:
                return [{}]
            cosines = self._near.nearest(queries, also=near, scope=scope)
            if off is not None:
                others = self._near.nearest(queries, limit=OFF_POOL, scope=off)
                self._add(set().union(*others), queries, cosines)
            return cosines
        if self._matrix is None:
            self._matrix = MatrixRetriever.from_store(self._db, self._encoder.key)
        return self._matrix.all(queries)

    def _add(
        self, wanted: Iterable[int], queries: Sequence[bytes], cosines: Sequence[dict[int, float]]
    ) -> None:
        """Make sure that these tools are candidates."""
        assert self._near is not None
        self._near.fill(queries, cosines, {*wanted, *cosines[0]})

    def _offered(self, tools: Iterable[int], scope: Scope | None) -> list[int]:
        """Those of these tools that can be had."""
        allowed = scope.tool_ids if scope else None
        return [
            id_
            for id_ in tools
            if id_ in self._rows and self._rows[id_].shown and (allowed is None or id_ in allowed)
        ]

    def _changes(
        self, recalled: "Recalled", cosines: Mapping[int, float], offered: Collection[int]
    ) -> dict[int, float]:
        """Change by past use for each tool that has a cosine."""
        if self._matrix is not None and len(cosines) == self._matrix.count:
            return recalled.changes(self._matrix.own([recalled.direction])[0], offered)
        assert self._near is not None
        return recalled.changes(self._near.own(recalled.direction, cosines), offered)

    def _read_vectors(self) -> None:
        """The catalogue's vectors, and in a large one the servers that they make."""
        self._is_read = True
        stored = vectors.load(self._db, self._encoder.key)
        kept = {tool: data for tool, data in stored.items() if tool in self._server_of}
        servers = [self._server_of[tool] for tool in kept]
        self._large = prior_weight(servers) > 0
        if not kept:
            return
        use_one_thread()
        written = requests.vectors(self._db, self._encoder.key)
        self._near = NearestRetriever(self._db, kept, written)
        if self._large:
            self._siblings = Siblings(self._near.tools.matrix, servers)

    def _beside(self, query: bytes, cosines: Mapping[int, float]) -> dict[int, float]:
        """Cosines with each tool's server taken into account; {} where servers do not count."""
        return self._siblings.cosines(query, cosines, self._server_of) if self._siblings else {}

    def _hierarchical(self, server: str, cosines: Mapping[int, float]) -> dict[int, float]:
        server_vector = self._encoder.encode_bytes(server[:MOST_QUERY], query=True)
        best = {
            id_: max(_dot(server_vector, v) for v in texts) for id_, texts in self._server_texts()
        }
        known = {id_: cosine for id_, cosine in cosines.items() if id_ in self._server_of}
        return hierarchy.scores(known, best, self._server_of)

    def _server_texts(self) -> Sequence[tuple[int, list[bytes]]]:
        """Vectors of both texts of each server, made at the first structured request."""
        if self._servers is None:
            self._servers = {
                s.id: [
                    self._encoder.encode_bytes(hierarchy.described(s)),
                    self._encoder.encode_bytes(
                        hierarchy.enhanced(s, self._catalog.of_server(s.id))
                    ),
                ]
                for s in self._catalog.servers
            }
        return list(self._servers.items())


def use_one_thread() -> None:
    """A product with one vector waits for memory: more threads take little time off
    it (1 ms of 23 a query), but spin.

    For the whole process, so that training takes one thread there, too.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")


def _dot(left: bytes, right: bytes) -> float:
    from array import array

    return sum(a * b for a, b in zip(array("f", left), array("f", right), strict=True))
