"""A member's search: candidates from Postgres, scores by the router that ranks a window's.

What is read here is what the router asks of any catalogue (app.ranking.sources); nothing is scored
here but bm25, by FTS5's formula over the words that the local index would hold.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from app.catalog.catalog import Catalog, CatalogTool
from app.core.settings import ProfileSettings, RoutingSettings
from app.ranking import hierarchy
from app.ranking.dense import POOL as NEAREST
from app.ranking.dense import Encoding, raised_by, request_lead
from app.ranking.floor import Floor, read_floor
from app.ranking.fuse import Extras
from app.ranking.keyword import word_weights
from app.ranking.learning.labelled import key_of
from app.ranking.learning.teaching import BLOB as TAUGHT
from app.ranking.learning.teaching import read_taught
from app.ranking.meaning import NO_SCORES, DenseScores
from app.ranking.query.spelling import Speller
from app.ranking.ranked import Ranked, Request
from app.ranking.router import Router, read_request
from app.ranking.siblings import beside, weight_of
from app.ranking.text import MOST_QUERY, content_words, distinct
from store.records import ProfileRecord, ServerRecord, ServerSpec, TokenCount, ToolRecord
from store.search import Scope
from store.team import blobs, labels, search, servers, tools
from store.team.connecting import Connection
from store.team.records import Member, Server, TickRow, Tool
from store.team.words import Tokens, frequencies

if TYPE_CHECKING:
    from app.ranking.learning.taught import Taught

WORD_CANDIDATES = 200  # by words, as Postgres counts them; the router takes the best 100
MOST_FOUND = 5_000  # tools that words bring to be weighed
_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6  # of FTS5's bm25
_KEPT = 64  # organisations whose floor and lessons are in memory
_ENCODING = "o200k_base"


@dataclass(frozen=True, slots=True)
class _Derived:
    """Results of an organisation's last scan, for one encoder."""

    marks: Mapping[str, str]
    floor: Floor
    taught: "Taught | None"


class Ranker:
    """Ranks for every member of every organisation; holds nothing that a replica could not read."""

    def __init__(self, encoder: Encoding | None) -> None:
        self.encoder = encoder
        self._lock = Lock()
        self._derived: OrderedDict[int, _Derived] = OrderedDict()

    def rank(
        self,
        connection: Connection,
        member: Member,
        request: Request | str,
        *,
        limit: int = 50,
        settings: ProfileSettings | None = None,
        ticks: Iterable[TickRow] = (),
        allows: Callable[[str], bool] | None = None,
    ) -> Ranked:
        """The best tools that the member may use, ranked and judged; a transaction of as_member().

        `settings` and `ticks` are a profile's; `allows` says of a `server/tool` whether policies
        leave it.
        """
        request = hierarchy.parse_request(request) if isinstance(request, str) else request
        settings, ticks = settings or ProfileSettings(), tuple(ticks)
        seen = search.visible(connection, member.organisation_id)
        within = search.limits(
            connection,
            member.organisation_id,
            off=[tick.tool_id for tick in ticks if not tick.on],
            allowlist=member.allow is not None,
        )
        derived = self._derived_of(connection, member.organisation_id)
        sources = TeamSources(
            connection, seen, within, settings=settings.routing, encoder=self.encoder
        )
        sources.derived = derived
        catalog = sources.read(request, settings, {t.tool_id for t in ticks if t.pinned})
        if allows is not None:
            catalog = catalog.without(allows)
        router = Router(sources, catalog, settings=settings.routing, encoder=self.encoder)
        return router.route(request, limit=limit)

    def _derived_of(self, connection: Connection, organisation_id: int) -> _Derived:
        marks = blobs.fingerprints(connection, organisation_id)
        with self._lock:
            known = self._derived.get(organisation_id)
            if known is not None and known.marks == marks:
                self._derived.move_to_end(organisation_id)
                return known

        def blob(name: str) -> tuple[str, bytes] | None:
            return blobs.load(connection, organisation_id, name) if name in marks else None

        model, dims = (self.encoder.key, self.encoder.dims) if self.encoder else ("", 0)
        made = _Derived(marks, read_floor(blob, model, dims), read_taught(blob(TAUGHT), model))
        with self._lock:
            self._derived[organisation_id] = made
            while len(self._derived) > _KEPT:
                self._derived.popitem(last=False)
        return made


@dataclass(slots=True)
class _Words:
    """Counts behind bm25 of one query."""

    stems: Mapping[str, str]  # by word
    idf: Mapping[str, float]  # by stem
    matches: dict[int, search.WordMatch] = field(default_factory=dict)


class TeamSources:
    """Candidates of one request in one organisation, as the router asks for them."""

    derived: _Derived

    def __init__(
        self,
        connection: Connection,
        seen: search.Visible,
        within: search.Limits,
        *,
        settings: RoutingSettings,
        encoder: Encoding | None,
    ) -> None:
        self._db = connection
        self._seen = seen
        self._within = within
        self._weights = settings.word_weights
        self._encoder = encoder
        self._tokens = Tokens()
        self._words: dict[str, _Words] = {}  # by text
        self._known: dict[str, int] = {}  # tools that hold a stem
        self._cosines: dict[str, tuple[bytes, dict[int, float]]] = {}  # by text: vector, raised
        self._nearest: Set[int] = frozenset()
        self._server_of: dict[int, int] = {}

    @property
    def _organisation(self) -> int:
        return self._seen.organisation_id

    # ---- the candidates

    def read(self, request: Request, settings: ProfileSettings, pinned: Set[str]) -> Catalog:
        """The candidates of a request as the catalogue that the router ranks."""
        reading = read_request(request, self.has_word, self.speller, self._encoder)
        ids: set[int] = set()
        for text in reading.word_texts:
            self._words[text] = words = self._match(text)
            ids.update(words.matches)
        if self._encoder is not None and reading.texts and reading.texts[0].strip():
            self._nearest = self._near(reading.texts)
            ids |= self._nearest
        rows = tools.some(self._db, self._organisation, sorted(ids))
        self._complete([tool.id for tool in rows])
        return self._catalog(rows, settings, pinned)

    def _catalog(
        self, rows: Sequence[Tool], settings: ProfileSettings, pinned: Set[str]
    ) -> Catalog:
        present = servers.some(self._db, self._organisation, sorted({t.server_id for t in rows}))
        records = {server.id: _server_record(server) for server in present}
        chosen = settings.servers
        made = tuple(
            _catalog_tool(tool, records[tool.server_id], pinned=tool.tool_id in pinned)
            for tool in rows
            if tool.server_id in records and (chosen is None or tool.server in chosen)
        )
        self._server_of = {row.tool.id: row.tool.server_id for row in made}
        return Catalog(ProfileRecord(0, "", {}), settings, _ENCODING, tuple(records.values()), made)

    def _near(self, texts: Sequence[str]) -> set[int]:
        """The nearest tools of each text, and the tools of the nearest requests."""
        assert self._encoder is not None
        ids: set[int] = set()
        for at, text in enumerate(texts):
            cut = text[:MOST_QUERY]
            vector = (
                self._encoder.encode_bytes(cut, query=True)
                if at
                else self._encoder.encode_query(cut)[0]
            )
            own = search.nearest(
                self._db, self._seen, self._encoder.key, vector, k=NEAREST, within=self._within
            )
            self._cosines[text] = vector, own
            ids.update(own)
            ids.update(
                search.nearest_by_request(
                    self._db, self._seen, self._encoder.key, vector, k=NEAREST, within=self._within
                )
            )
        return ids

    def _complete(self, ids: Sequence[int]) -> None:
        """Words and meaning of every candidate for every text."""
        for words in self._words.values():
            lacking = [id_ for id_ in ids if id_ not in words.matches]
            stems = [stem for stem in words.idf if self._known.get(stem)]
            if lacking and stems:
                for match in search.word_matches(self._db, self._organisation, stems, lacking):
                    words.matches[match.tool_id] = match
        if self._encoder is None:
            return
        model = self._encoder.key
        lead = request_lead(*self._counts)
        for text, (vector, own) in self._cosines.items():
            lacking = [id_ for id_ in ids if id_ not in own]
            cosines = partial(search.cosines, self._db, self._organisation, model, vector)
            own.update(cosines(lacking))
            best = cosines(list(own), table=search.REQUESTS)
            self._cosines[text] = vector, raised_by(own, best, lead)

    # ---- words

    def _match(self, text: str) -> _Words:
        terms = distinct(content_words(text))
        stems = {word: tokens[0] for word in terms if (tokens := self._tokens.of(word))}
        self._count(list(stems.values()))
        count = self._seen.tools
        idf = {
            stem: max(
                math.log((count - self._known[stem] + 0.5) / (self._known[stem] + 0.5)),
                _LEAST_IDF,
            )
            for stem in stems.values()
            if self._known[stem]
        }
        weights = {
            stem: idf[stem] * sum(1 for other in stems.values() if other == stem) for stem in idf
        }
        matches = search.matching(
            self._db,
            weights,
            named=self._weights[0],
            mean_length=self._mean_length,
            most=WORD_CANDIDATES,
            apart=self._within.apart,
            finders=self._finders(list(weights)),
        )
        return _Words(stems, idf, {match.tool_id: match for match in matches})

    def _finders(self, stems: Sequence[str]) -> Sequence[str]:
        """The rarest of these words, as many as together bring no more than MOST_FOUND tools.

        A word that half of a large catalogue holds moves scores, but makes no candidate.
        """
        chosen: list[str] = []
        tools = 0
        for stem in sorted(stems, key=lambda stem: (self._known[stem], stem)):
            tools += self._known[stem]
            if chosen and tools > MOST_FOUND:
                break
            chosen.append(stem)
        return chosen

    @property
    def _counts(self) -> tuple[int, int]:
        """Numbers of requests and tools that the caller sees."""
        return self._seen.requests.seen, self._seen.tools

    @property
    def _mean_length(self) -> float:
        return self._seen.lengths / max(1, self._seen.tools)

    def _count(self, stems: Sequence[str]) -> None:
        lacking = [stem for stem in stems if stem not in self._known]
        if lacking:
            counts = search.holders(self._db, self._organisation, lacking)
            self._known.update({stem: counts.get(stem, 0) for stem in lacking})

    def word_scores(
        self, text: str, *, scope: Scope | None, weights: Sequence[float]
    ) -> dict[int, float]:
        """bm25 of the text's content words, by FTS5's formula, of the candidates."""
        weights = word_weights(weights, *self._counts)
        words = self._words.get(text)
        if words is None:
            words = self._words[text] = self._match(text)
        repeats = [words.stems[word] for word in words.stems if words.stems[word] in words.idf]
        scores = {
            id_: self._bm25(match, repeats, words.idf, weights)
            for id_, match in words.matches.items()
        }
        return dict(sorted(scores.items()))

    def _bm25(
        self,
        match: search.WordMatch,
        stems: Sequence[str],
        idf: Mapping[str, float],
        weights: Sequence[float],
    ) -> float:
        held = {
            stem: sum(
                count * weight for count, weight in zip(frequencies(at), weights, strict=True)
            )
            for stem, at in zip(match.stems, match.positions, strict=True)
        }
        length = _K1 * (1 - _B + _B * match.length / max(self._mean_length, 1e-9))
        total = 0.0
        for stem in stems:
            count = held.get(stem, 0.0)
            total += idf[stem] * (count * (_K1 + 1.0)) / (count + length) if count else 0.0
        return total

    def has_word(self, word: str) -> bool:
        """True if any tool that the caller sees holds a form of the word."""
        tokens = self._tokens.of(word)
        self._count(tokens[:1])
        return bool(tokens) and self._known[tokens[0]] > 0

    def speller(self) -> Speller:
        """Words that may be meant by the request's unknown ones."""
        return _TeamSpeller(self._db, self._organisation)

    # ---- the rest of what the router asks

    def labelled(self, query: str) -> Set[str]:
        """The `server/tool` that the organisation's labels expect for a query."""
        return labels.expected(self._db, self._organisation, label_words(query))

    def requests(self, tool_id: int) -> Sequence[str]:
        """A tool's requests."""
        rows = tools.requests(self._db, self._organisation, [tool_id])
        return [request.text for request in rows.get(tool_id, ())]

    def meaning(self, encoder: Encoding, *, learned: bool) -> "TeamSources":
        """Comparison by pgvector."""
        return self

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
        """Cosines of the candidates with each text, and what else the catalogue knows."""
        if any(text not in self._cosines for text in texts):
            return NO_SCORES
        wanted = self._nearest | (near or set())
        kept = [
            {id_: cosine for id_, cosine in self._cosines[text][1].items() if id_ in wanted}
            for text in texts
        ]
        whole, vector = kept[0], self._cosines[texts[0]][0]
        if not whole:
            return NO_SCORES
        taught = self.derived.taught.gains(vector) if self.derived.taught else {}
        ids = sorted(set(self._server_of.values()))
        servers_near = search.server_cosines(self._db, self._organisation, vector, ids)
        weight = weight_of(self._seen.tools, len(servers_near))
        named = self._hierarchical(server, whole) if server else {}
        siblings: Mapping[int, float] = {}
        if weight and not server:
            pulls = {row.server_id: (row.mean, row.alike) for row in servers_near if row.mean}
            own = {id_: cosine for id_, cosine in whole.items() if id_ in self._server_of}
            siblings = beside(own, self._server_of, pulls)
        extras = Extras({}, named, siblings, weight, taught)
        return DenseScores(whole, kept[1:], extras, vector)

    def _hierarchical(self, server: str, cosines: Mapping[int, float]) -> dict[int, float]:
        assert self._encoder is not None
        vector = self._encoder.encode_bytes(server[:MOST_QUERY], query=True)
        ids = sorted(set(self._server_of.values()))
        rows = search.server_cosines(self._db, self._organisation, vector, ids)
        best = {row.server_id: max(row.described or 0.0, row.enhanced or 0.0) for row in rows}
        known = {id_: cosine for id_, cosine in cosines.items() if id_ in self._server_of}
        return hierarchy.scores(known, best, self._server_of)

    def floor(self, query: str, vector: bytes, *, translated: bool) -> float:
        """The organisation's floor for a query."""
        return self.derived.floor.of(query, vector, translated=translated)


class _TeamSpeller(Speller):
    """The words of a catalogue, read as they are needed: those with a word's first letter."""

    def __init__(self, connection: Connection, organisation_id: int) -> None:
        super().__init__(())
        self._db = connection
        self._organisation = organisation_id

    def counted(self, word: str) -> Sequence[tuple[int, str]]:
        """Words with the first letter and about the length of `word`."""
        rows = search.like_words(
            self._db, self._organisation, word, least=len(word) - 2, most=len(word) + 2
        )
        return self.likely(rows)


def label_words(query: str) -> str:
    """The key under which a label of a query is kept (store.team.labels)."""
    return " ".join(sorted(key_of(query)))


def _server_record(server: Server) -> ServerRecord:
    spec = ServerSpec(transport=server.transport, key=server.name, url=server.url)
    return ServerRecord(
        server.id,
        server.name,
        spec,
        trusted=True,
        status="",
        problem="",
        server_info=server.server_info,
        instructions=server.instructions,
        disabled=not server.enabled,
    )


def catalog_tool(tool: Tool, server: Server) -> CatalogTool:
    """A tool of the team as the window's code knows tools."""
    return _catalog_tool(tool, _server_record(server), pinned=False)


def _catalog_tool(tool: Tool, server: ServerRecord, *, pinned: bool) -> CatalogTool:
    record = ToolRecord(
        tool.id,
        tool.server_id,
        tool.server,
        tool.name,
        tool.raw,
        tool.hash,
        tool.trusted_hash or tool.hash,
        tool.problem,
        tool.position,
    )
    tokens = TokenCount(tool.id, _ENCODING, 0, 0, 0, 0, 0, tool.tokens)
    return CatalogTool(record, server, True, pinned, "", tokens, tool.summary)
