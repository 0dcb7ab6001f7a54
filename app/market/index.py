"""Search by meaning over listed servers and their known tools, with the product's own ranker.

Words come from FTS5, meaning from the catalogue's own encoder, both go through the shares and the
fusion of app.ranking.fuse. Vectors are int8, 384 bytes a document, compared block by block: 30,000
documents take 12 MB and some milliseconds. Documents without a vector are found by their words.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from app.core.turns import alone
from app.market.by_name import named
from app.ranking.fuse import Signals, fuse, shares
from app.ranking.meaning import use_one_thread
from app.ranking.text import MOST_QUERY, content_words, distinct, split_name
from store import market
from store.connection import data_version, transaction
from store.market import ListedServer

if TYPE_CHECKING:
    import numpy as np

    from app.ranking.dense import Encoding

    Matrix = np.ndarray[Any, Any]

POOL = 200  # documents of each kind of search that are scored
LEAST = 0.30  # cosine below which a document without any of the words does not fit
_BLOCK = 4_096  # vectors made into floats at once: 6 MB
_BATCH = 64  # texts encoded between two looks at what else there is to do
_SCALE = 127.0


@dataclass(frozen=True, slots=True)
class ToolHit:
    """A known tool that fits."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class ServerHit:
    """A listed server that fits, by its description or by its tools, best first."""

    server: ListedServer
    score: float
    cosine: float | None  # of its best document, None where only words were compared
    tools: tuple[ToolHit, ...] = ()
    known_tools: int = 0


@dataclass(frozen=True, slots=True)
class MarketMatches:
    """The answer to one search."""

    hits: tuple[ServerHit, ...]
    words_only: bool
    servers: int  # that were searched
    documents: int = 0  # servers and tools
    unprepared: int = 0  # documents without a vector


class Encodes(Protocol):
    """The part of an encoder that makes the index (app.encoder.onnx.Encoder)."""

    @property
    def key(self) -> str:
        """The name under which its vectors are stored."""
        ...

    def encode(self, texts: Sequence[str]) -> "Matrix":
        """A unit vector a text."""
        ...


def prepare(
    db: apsw.Connection,
    encoder: Encodes,
    *,
    on_progress: Callable[[str], object] = lambda _text: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> int:
    """Encode the documents that lack a vector, batch by batch, each kept at once; their number.

    About 4 ms of CPU each. What was cut off goes on the next time. `on_progress` gets a sentence.
    """

    def waits() -> bool:
        on_progress("Another program prepares these texts")
        return not cancelled()

    with alone(Path(db.filename).with_name(".encoding.lock"), waits):
        return _encode_lacking(db, encoder, on_progress, cancelled)


def _encode_lacking(
    db: apsw.Connection,
    encoder: Encodes,
    on_progress: Callable[[str], object],
    cancelled: Callable[[], bool],
) -> int:
    import numpy as np

    done = 0
    while not cancelled():
        rows = market.lacking_vectors(db, encoder.key, _BATCH)
        if not rows:
            break
        vectors = encoder.encode([document_text(name, text) for _, name, text in rows])
        packed = np.clip(np.rint(vectors * _SCALE), -127, 127).astype(np.int8)
        with transaction(db):
            pairs = ((row[0], one.tobytes()) for row, one in zip(rows, packed, strict=True))
            market.save_vectors(db, encoder.key, pairs)
        done += len(rows)
        on_progress(f"{done:,} texts prepared for search by meaning")
    return done


def document_text(name: str, text: str) -> str:
    """The text that a document is encoded as."""
    return f"{split_name(name)}: {text}" if text else split_name(name)


class MarketIndex:
    """Searches one store; the vectors are read at the first search and when they have changed."""

    def __init__(self, db: apsw.Connection, encoder: "Encoding | None") -> None:
        self.db = db
        self.encoder = encoder
        self._seen: tuple[int, int] = (-1, -1)
        self._mark: tuple[int, ...] = ()
        self._documents: Matrix | None = None
        self._vectors: Matrix | None = None

    def find(self, query: str, limit: int = 20) -> MarketMatches:
        """The listed servers that fit best, those of that name first; all, newest first, where
        nothing is asked."""
        total, tools = market.count(self.db)
        if not query.strip():
            rows = market.by_ids(self.db, ids := market.newest_ids(self.db, limit))
            hits = tuple(self._hit(rows[id_], 0.0, None, ()) for id_ in ids)
            return MarketMatches(hits, words_only=True, servers=total, documents=total + tools)
        scores, cosines = self.documents(query)
        called_so = dict.fromkeys(named(self.db, query, scores), 0.0)
        hits = self._servers({**called_so, **scores}, cosines, limit)
        lacking = 0 if self._vectors is None else total + tools - len(self._vectors)
        return MarketMatches(hits, not cosines, total, total + tools, lacking)

    def documents(self, query: str) -> tuple[dict[int, float], dict[int, float]]:
        """Scores of the documents that fit, best first, and cosines of all that were scored."""
        terms = distinct(content_words(query))
        words = market.word_scores(self.db, terms, POOL)
        meaning = self._meaning(query, words)
        candidates = [
            id_ for id_ in {*words, *meaning} if id_ in words or meaning.get(id_, 0.0) >= LEAST
        ]
        weights = shares(len(terms), has_steps=False)
        fused = fuse(candidates, Signals(meaning, words), (), weights=weights)
        ordered = sorted(candidates, key=lambda id_: (-fused[id_].score, id_))
        return {id_: fused[id_].score for id_ in ordered}, dict(meaning)

    def _meaning(self, query: str, also: Iterable[int]) -> Mapping[int, float]:
        """Cosines of the nearest documents, and of these others."""
        if self.encoder is None:
            return {}
        self._load(self.encoder.key)
        if self._vectors is None or self._documents is None or not len(self._vectors):
            return {}
        import numpy as np

        vector = np.frombuffer(self.encoder.encode_bytes(query[:MOST_QUERY], query=True), "<f4")
        cosines = np.empty(len(self._vectors), dtype=np.float32)
        for start in range(0, len(cosines), _BLOCK):
            block = self._vectors[start : start + _BLOCK].astype(np.float32)
            cosines[start : start + _BLOCK] = block @ vector
        cosines /= _SCALE
        most = min(POOL, len(cosines))
        chosen = set(np.argpartition(-cosines, most - 1)[:most].tolist())
        wanted = np.fromiter(also, dtype=np.int64)
        places = np.searchsorted(self._documents, wanted)
        places = places[places < len(self._documents)]
        chosen.update(places[np.isin(self._documents[places], wanted)].tolist())
        return {int(self._documents[place]): float(cosines[place]) for place in chosen}

    def _load(self, model: str) -> None:
        """Read the vectors where others are stored than those in memory."""
        seen = (data_version(self.db), self.db.total_changes())
        if seen == self._seen:
            return
        mark = market.vector_mark(self.db, model)
        if mark != self._mark:
            import numpy as np

            rows = list(market.vectors(self.db, model))
            self._documents = np.array([id_ for id_, _ in rows], dtype=np.int64)
            use_one_thread()  # the products wait for memory
            joined = np.frombuffer(b"".join(data for _, data in rows), dtype=np.int8)
            self._vectors = joined.reshape(len(rows), -1) if rows else joined.reshape(0, 1)
            self._mark = mark
        self._seen = seen

    def _servers(
        self, scores: Mapping[int, float], cosines: Mapping[int, float], limit: int
    ) -> tuple[ServerHit, ...]:
        """Documents gathered by package: the same package from two sources is one hit."""
        tools = market.tools_by_id(self.db, [-id_ for id_ in scores if id_ < 0])
        rows = market.by_ids(self.db, [id_ for id_ in scores if id_ > 0])
        by_package: dict[str, list[int]] = {}
        for id_ in scores:
            package = rows[id_].package if id_ > 0 else tools[-id_][0]
            if package in by_package or len(by_package) < limit:
                by_package.setdefault(package, []).append(id_)
        listed = market.ids_of_packages(self.db, by_package)
        rows |= market.by_ids(self.db, {id_ for ids in listed.values() for id_ in ids} - set(rows))
        hits = []
        for package, ids in by_package.items():
            server = _preferred([rows[id_] for id_ in listed[package]])
            if server is None:
                continue
            fitting = [ToolHit(tools[-id_][1], scores[id_]) for id_ in ids if id_ < 0]
            best = max((cosines[id_] for id_ in ids if id_ in cosines), default=None)
            hits.append(self._hit(server, scores[ids[0]], best, tuple(fitting)))
        return tuple(hits)

    def _hit(
        self,
        server: ListedServer,
        score: float,
        cosine: float | None,
        tools: tuple[ToolHit, ...],
    ) -> ServerHit:
        known = market.tool_count(self.db, server.package)
        return ServerHit(server, score, cosine, tools, known)


class MarketSearches:
    """The index of what is searched now: another store or encoder gets another one."""

    def __init__(self) -> None:
        self._index: MarketIndex | None = None

    def over(self, db: apsw.Connection, encoder: "Encoding | None") -> MarketIndex:
        """The index of this store and encoder, its vectors kept from one search to the next."""
        index = self._index
        if index is None or (index.db, index.encoder) != (db, encoder):
            self._index = index = MarketIndex(db, encoder)
        return index


@dataclass(frozen=True, slots=True)
class Known:
    """Facts in the store about a hit, beside its entry."""

    tokens: int  # of its tools that were counted
    installed: str  # name of the installed server that came from it


def listed_of(db: apsw.Connection, hit: ServerHit) -> Known:
    """Tokens of a hit's tools, and the server that came from it."""
    tools = market.tools_of(db, hit.server.package)
    return Known(sum(tool.tokens for tool in tools), market.installed_as(db, hit.server.name))


def _preferred(rows: Sequence[ListedServer]) -> ListedServer | None:
    """Of several lists of one package: one that is not deprecated and tells its age, the first."""
    return min(
        rows,
        key=lambda row: (row.status == "deprecated", not row.updated_at, row.source_id),
        default=None,
    )
