"""The router: one query, every tool's score, its gate and the reason, for every caller alike."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial

import apsw

from app.catalog.availability import Conditions
from app.catalog.catalog import Catalog, CatalogTool
from app.catalog.conditions import State, may_see
from app.catalog.reasons import DISABLED, OFF
from app.core.settings import RoutingSettings
from app.ranking.dense import Encoding
from app.ranking.floor import NONE, floor_for
from app.ranking.fuse import (
    Extras,
    Fused,
    Shares,
    Signals,
    fuse,
    in_order,
    put_first,
    put_lower,
    shares,
)
from app.ranking.gates import LEAST_SCORE, ON, TRUSTED, Candidate, Verdict, judge
from app.ranking.hierarchy import parse_request
from app.ranking.keyword import keyword_row, matched_words, stem, stems
from app.ranking.meaning import NO_SCORES, OFF_POOL, DenseScores
from app.ranking.query.asking import is_change
from app.ranking.query.language import OTHER, language_of
from app.ranking.query.literals import read_literals
from app.ranking.query.reading import AS_TYPED, Reading, read_query
from app.ranking.query.spelling import Speller, corrected, corrections, is_nonsense
from app.ranking.query.steps import steps_of
from app.ranking.ranked import Ranked, RankedTool, Request
from app.ranking.sources import Meaning, Sources, StoreSources
from app.ranking.text import LONGEST_QUERY, content_words, distinct, no_tool
from store.search import Scope

WORDS_ONLY = "Meaning scores are off (model not found). Words only."
NOT_INDEXED = "Meaning scores are off (tools not indexed yet). Words only."
_NONSENSE = "No tool fits. No word of the query is known. Say in other words what a tool should do."
_READ = "Read “{}” as “{}”."
_GLOSS = "Read in English as “{}”."
_PASTE = "Read of the paste: “{}”."
_PROMPT = "Read of the prompt: “{}”."
_LITERALS = "Paths, links and ids count as what they are: “{}”."
_MOST_SHOWN = 120  # characters of a query as it was read
# tools that words make candidates, per query text, when only the best tools are wanted
POOL = 100


@dataclass(slots=True)
class Scored:
    """A query's candidates with their scores, best first, before any gate.

    Its last two fields are filled at the first judgement; nothing else is ever changed.
    """

    request: Request
    candidates: tuple[Candidate, ...]
    query_words: tuple[str, ...]
    words_only: bool
    note: str
    share: float  # of the whole query's meaning in each score
    reading: Reading = AS_TYPED
    steps: tuple[str, ...] = ()  # of a request with several
    labelled: frozenset[int] = frozenset()  # tools that labels expect for this very query
    explained: bool = True  # whether words that match are looked up
    # the best tool that is off, where it is before all that are on
    best_off: Candidate | None = None
    vector: bytes = field(default=b"", repr=False)  # of the whole query, empty without an encoder
    # the floor that the scan set for it, once a setting needed that
    floor: float | None = field(default=None, compare=False, repr=False)
    # of each candidate, once they were judged, all that no setting changes; a verdict is lacking
    settled: Sequence[Callable[[Verdict], RankedTool]] = field(
        default=(), compare=False, repr=False
    )


class Router:
    """Ranks the tools of one catalogue; make a new one when the catalogue changes."""

    def __init__(
        self,
        sources: Sources,
        catalog: Catalog,
        *,
        settings: RoutingSettings,
        encoder: Encoding | None,
    ) -> None:
        self._sources = sources
        self._catalog = catalog
        self._rows = {row.tool.id: row for row in catalog.tools if not row.tool.gone}
        self._on = frozenset(id_ for id_, row in self._rows.items() if row.shown)
        self._off = frozenset(id_ for id_, row in self._rows.items() if _only_off(row))
        self._settings = settings
        self._encoder = encoder
        self._conditions = Conditions.of(catalog.settings.scopes, catalog.settings.preconditions)
        self._speller: Speller | None = None
        self._compare: Meaning | None = None
        self._stems: dict[int, frozenset[str]] = {}
        self._changing: dict[int, bool] = {}

    @classmethod
    def from_store(
        cls,
        db: apsw.Connection,
        catalog: Catalog,
        settings: RoutingSettings | None = None,
        encoder: Encoding | None = None,
    ) -> "Router":
        """A router over what the store holds; without an encoder it compares words only."""
        settings = settings or catalog.settings.routing
        return cls(StoreSources(db, catalog), catalog, settings=settings, encoder=encoder)

    def route(
        self, request: Request | str, *, state: State | None = None, limit: int | None = None
    ) -> Ranked:
        """Every tool ranked and judged; with `limit`, only the best tools a host may get.

        The limited form compares vectors in memory and asks FTS5 with all filters inside the SQL,
        and does not look up which words match: 1.6 to 3.2 ms of CPU for 100 to 1,400 tools.
        """
        return self.judge(self.score(request, state=state, limit=limit), state=state)

    @property
    def encoder(self) -> Encoding | None:
        """Encoder of texts to vectors, None when only words are compared."""
        return self._encoder

    @property
    def word_weights(self) -> Sequence[float]:
        """Weights of words by their place in a tool, in the keyword index's order."""
        return self._settings.word_weights

    @property
    def tool_ids(self) -> Mapping[int, str]:
        """`server/tool` by row id, of every tool that can be ranked."""
        return {id_: row.tool.tool_id for id_, row in self._rows.items()}

    @property
    def server_ids(self) -> Mapping[int, int]:
        """Each ranked tool's server, both by row id."""
        return {id_: row.tool.server_id for id_, row in self._rows.items()}

    def score(
        self,
        request: Request | str,
        *,
        state: State | None = None,
        limit: int | None = None,
        learned: bool = True,
    ) -> Scored:
        """The part of route() that depends on the query only, so that settings can be tried.

        `learned` False leaves past use out even where the settings use it.
        """
        request = parse_request(request) if isinstance(request, str) else request
        compared = read_request(request, self._sources.has_word, self._words, self._encoder)
        reach = self._reach(state or State(), only_shown=limit is not None)
        on, off = reach.on, reach.off
        words = content_words(read_literals(compared.query))
        query_words = tuple(distinct(words))
        use_labels = learned and self._settings.learned
        chosen = self._labelled(request, reach.scope) if use_labels else set()
        if compared.is_nonsense and not chosen:
            return Scored(request, (), query_words, words_only=False, note=_NONSENSE, share=0.0)
        by_words = [
            self._sources.word_scores(text, scope=reach.words_scope, weights=self.word_weights)
            for text in compared.word_texts
        ]
        near = None if limit is None else chosen.union(*_matching(by_words, on, off))
        dense, note = self._meaning(compared.texts, request, reach, near=near, learned=learned)
        weights = shares(len(words), has_steps=len(compared.texts) > 1)
        tools = self._candidate_ids(reach.scope, near, dense.whole)
        signals = _paired(dense, by_words, tools)
        fused = self._fused(compared, tools, signals, weights=weights, extras=dense.extras, on=on)
        fused = put_first(fused, chosen, on) if chosen else fused
        candidates = self._candidates(fused, signals[0])
        best_off = None if chosen else _best_off(candidates, on, off, request.server)
        if limit is not None:
            candidates = tuple(c for c in candidates if c.row.shown)[:limit]
        return Scored(
            request,
            candidates,
            query_words,
            words_only=not dense.whole,
            note=" ".join(filter(None, [note, *_reading_notes(compared)])),
            share=weights.meaning,
            steps=tuple(compared.steps),
            reading=compared.reading,
            labelled=frozenset(chosen),
            explained=limit is None,
            best_off=best_off,
            vector=dense.vector,
        )

    def _reach(self, state: State, *, only_shown: bool) -> "_Reach":
        """The tools that the session may see; `only_shown` leaves out all that are off."""
        allowed = self._allowed(state)
        on, off = (ids if allowed is None else ids & allowed for ids in (self._on, self._off))
        scope = self._scope(allowed, only_shown=only_shown)
        return _Reach(on, off, scope, self._scope(allowed, only_shown=False))

    def _fused(
        self,
        compared: "Compared",
        tools: Sequence[int],
        signals: Sequence[Signals],
        *,
        weights: Shares,
        extras: Extras,
        on: frozenset[int],
    ) -> Mapping[int, Fused]:
        """The tools' scores out of all signals, by the kind of request."""
        whole, *parts = signals
        fused = fuse(tools, whole, parts, weights=weights, extras=extras, scale=on)
        if compared.has_order:
            return in_order(fused, whole, parts, on)
        if compared.reading.question:
            return put_lower(fused, set(filter(self._changes, tools)))
        return fused

    def _labelled(self, request: Request, scope: Scope | None) -> set[int]:
        """The tools that labels expect for this query, of those that can be had."""
        expected = self._sources.labelled(request.query or request.tool)
        allowed = scope.tool_ids if scope else None
        return {
            id_
            for id_, row in (self._rows.items() if expected else ())
            if row.tool.tool_id in expected and row.shown and (allowed is None or id_ in allowed)
        }

    def _changes(self, id_: int) -> bool:
        """True for a tool that changes something; its name is read at the first question."""
        known = self._changing.get(id_)
        if known is None:
            known = self._changing[id_] = is_change(self._rows[id_].tool.name)
        return known

    def _words(self) -> Speller:
        """The catalogue's words, read at the first query that has an unknown one."""
        if self._speller is None:
            self._speller = self._sources.speller()
        return self._speller

    def judge(
        self,
        scored: Scored,
        *,
        settings: RoutingSettings | None = None,
        state: State | None = None,
    ) -> Ranked:
        """The gates' verdicts over scores that are there already; other settings can be tried."""
        settings = settings or self._settings
        floor = NONE if scored.labelled else settings.floor or self.floor_of(scored)
        in_english = settings.floor or scored.reading.translated
        used = replace(settings, floor=floor if in_english else floor_for(_typed(scored), floor))
        best_off = scored.best_off
        if best_off is not None and (best_off.iso is not None and best_off.iso < used.floor):
            best_off = None  # nothing fits at all
        # where a request has several steps, others may be for the rest of it
        best = best_off.score if best_off is not None and not scored.steps else 0.0
        judged = judge(scored.candidates, used, conditions=self._conditions, state=state, best=best)
        tools = tuple(
            made(verdict)
            for made, verdict in zip(self._settled(scored), judged.verdicts, strict=True)
        )
        tokens = sum(tool.tokens for tool in tools if tool.shown)
        empty = bool(tools) and not any(tool.shown for tool in tools)
        nearest = tools[0] if tools else None
        why = no_tool([tool.tool_id for tool in tools[:3]]) if empty else ""
        note = " ".join(part for part in (scored.note, why) if part)
        best_cosine = max((c.iso for c in scored.candidates if c.iso and c.row.shown), default=-1.0)
        return Ranked(
            scored.request.query,
            tools,
            tokens,
            note,
            judged.cut,
            scored.words_only,
            nearest,
            steps=scored.steps,
            floor=floor,
            likely=bool(scored.labelled) or (not scored.words_only and best_cosine >= floor),
            labelled=scored.labelled,
            best_off=_switched_off(best_off) if best_off else None,
        )

    def floor_of(self, scored: Scored) -> float:
        """The floor of a query where the settings have none of their own, in whatever language;
        0 where no meaning was compared or no scan set one."""
        if scored.floor is None:
            reading, floor = scored.reading, 0.0
            if scored.vector and self._compare is not None:
                floor = self._compare.floor(
                    _typed(scored), scored.vector, translated=reading.translated
                )
            scored.floor = floor + reading.margin if floor > 0 else floor
        return scored.floor

    def _scope(self, allowed: frozenset[int] | None, *, only_shown: bool) -> Scope | None:
        """The filters that go inside the SQL; None when they would exclude nothing.

        Each costs a subquery (2 ms at 3,000 tools). Tools that are gone are left out afterwards.
        """
        wanted = self._catalog.settings.servers
        hides = only_shown and len(self._on) < len(self._rows)
        if allowed is None and wanted is None and not hides:
            return None
        servers = None if wanted is None else frozenset(s.id for s in self._catalog.servers)
        return Scope(
            profile_id=self._catalog.profile.id,
            only_on=only_shown,
            server_ids=servers,
            tool_ids=allowed,
        )

    def _allowed(self, state: State) -> frozenset[int] | None:
        """The tools that the allowlists open to the session, None without allowlists."""
        rules = self._conditions.rules
        if not rules:
            return None
        return frozenset(
            id_
            for id_, row in self._rows.items()
            if may_see(row.tool.tool_id, rules, state.principals)
        )

    def _meaning(
        self,
        texts: Sequence[str],
        request: Request,
        reach: "_Reach",
        *,
        near: Set[int] | None,
        learned: bool,
    ) -> tuple[DenseScores, str]:
        if not texts[0].strip():
            return NO_SCORES, ""
        if self._encoder is None:
            return NO_SCORES, WORDS_ONLY
        if self._compare is None:
            self._compare = self._sources.meaning(self._encoder, learned=self._settings.learned)
        dense = self._compare.compare(
            texts,
            server=request.server.strip(),
            scope=reach.scope,
            near=near,
            off=Scope(tool_ids=reach.off) if reach.off else None,
            learned=learned,
        )
        return dense, "" if dense.whole else NOT_INDEXED

    def _candidate_ids(
        self, scope: Scope | None, near: Set[int] | None, by_meaning: Mapping[int, float]
    ) -> list[int]:
        if near is None:
            allowed = scope.tool_ids if scope else None
            return [id_ for id_ in self._rows if allowed is None or id_ in allowed]
        return [id_ for id_ in near | by_meaning.keys() if id_ in self._rows]

    def _candidates(self, fused: Mapping[int, Fused], whole: Signals) -> tuple[Candidate, ...]:
        """Best first."""
        isos = whole.meaning
        made = [
            Candidate(
                self._rows[id_],
                one.score,
                isos.get(id_),
                whole.words.get(id_, 0.0),
                one.parts,
                one.step,
            )
            for id_, one in fused.items()
        ]
        # ties keep the catalogue's order of names, whatever order the searches answered in
        made.sort(key=lambda c: (-c.score, c.row.tool.tool_id, c.row.tool.id))
        return tuple(made)

    def _settled(self, scored: Scored) -> Sequence[Callable[[Verdict], RankedTool]]:
        if not scored.settled:
            query = {word: stem(word) for word in scored.query_words}
            scored.settled = [
                _maker(
                    c,
                    rank,
                    tuple(matched_words(query, self._stems_of(c.row)))
                    if scored.explained and c.keyword > 0
                    else (),
                )
                for rank, c in enumerate(scored.candidates, 1)
            ]
        return scored.settled

    def _stems_of(self, row: CatalogTool) -> frozenset[str]:
        known = self._stems.get(row.tool.id)
        if known is None:
            texts = keyword_row(row.tool, self._sources.requests(row.tool.id))[1:]
            known = self._stems[row.tool.id] = stems(texts)
        return known


def _typed(scored: Scored) -> str:
    """The query as typed."""
    return scored.request.query or scored.request.tool


@dataclass(frozen=True, slots=True)
class _Reach:
    """Tools that a session may see, on or only switched off, and the filters for the SQL."""

    on: frozenset[int]
    off: frozenset[int]
    scope: Scope | None
    words_scope: Scope | None  # for words, which also find tools that are off


@dataclass(frozen=True, slots=True)
class Compared:
    """A request as texts to compare: in English, slips read, literals as what they are."""

    reading: Reading
    query: str
    read: Mapping[str, str]  # words read for others
    steps: Sequence[str]  # in a short query they count nothing, but group the answer
    texts: Sequence[str]  # the whole and its parts
    word_texts: Sequence[str]  # the same for a comparison of words
    has_order: bool  # the steps are to be answered in their order
    is_nonsense: bool  # no word is known


def read_request(
    request: Request,
    is_known: Callable[[str], bool],
    speller: Callable[[], Speller],
    encoder: Encoding | None,
) -> Compared:
    """Read a request by a catalogue's words; no word that the encoder knows is a slip."""
    reading = read_query(request.query.strip() or request.tool.strip(), is_known)
    known = is_known if encoder is None else lambda w: encoder.has_word(w) or is_known(w)
    read = {} if reading.is_changed else _corrections(request, known, speller)
    tool_text = "" if reading.is_changed else corrected(request.tool.strip(), read)
    query = corrected(reading.text, read)
    steps, are_orders = ([], False) if reading.pasted else steps_of(query)
    texts = [read_literals(text) for text in (tool_text or query, *steps)]
    word_texts = [f"{texts[0]} {reading.own}", *texts[1:]]
    unknown = (
        encoder is not None
        and not reading.is_changed
        and is_nonsense(texts[0], encoder.has_word, is_known)
        and language_of(texts[0]) != OTHER
    )
    return Compared(reading, query, read, steps, texts, word_texts, are_orders, unknown)


def _corrections(
    request: Request, is_known: Callable[[str], bool], speller: Callable[[], Speller]
) -> dict[str, str]:
    """Words read for typing errors of a request."""
    plain = read_literals(f"{request.query} {request.tool}")
    typed = set(content_words(f"{request.query} {request.tool}"))
    return {
        word: other
        for word, other in corrections(plain, is_known, speller).items()
        if word in typed  # and does not come from a literal's kind
    }


def _only_off(row: CatalogTool) -> bool:
    """True if a tool can be had as soon as it, or its server, is switched on."""
    return bool(row.reasons) and all(r.kind in (OFF, DISABLED) for r in row.reasons)


def _matching(
    keyword_scores: Sequence[Mapping[int, float]], on: Set[int], off: Set[int]
) -> Iterator[list[int]]:
    """The tools of each text that words make candidates; a few of those that are off."""
    for scores in keyword_scores:
        ordered = sorted(scores, key=scores.__getitem__, reverse=True)
        yield [tool for tool in ordered if tool in on][:POOL]
        yield [tool for tool in ordered if tool in off][:OFF_POOL]


def _best_off(
    candidates: Sequence[Candidate], on: Set[int], off: Set[int], server: str
) -> Candidate | None:
    """The best of the tools that are off, where none that is on is as good (best first).

    Of the server alone that a request names by its exact name.
    """
    best_on = next((c for c in candidates if c.row.tool.id in on), None)
    best = next((c for c in candidates if c.row.tool.id in off), None)
    if best is None or best.score <= LEAST_SCORE:
        return None
    if best_on is not None and best.score <= best_on.score:
        return None
    name = server.strip().lower()
    elsewhere = name and name != best.row.tool.server.lower()
    return None if elsewhere else best


def _maker(
    c: Candidate, rank: int, matched: tuple[str, ...] = ()
) -> Callable[[Verdict], RankedTool]:
    """A candidate as a ranked tool that lacks its verdict."""
    tool = c.row.tool
    return partial(
        RankedTool,
        tool.id,
        tool.tool_id,
        tool.server,
        tool.name,
        rank,
        c.score,
        c.iso,
        c.keyword,
        c.parts,
        matched,
        c.row.cost,
        c.step,
    )


def _switched_off(c: Candidate) -> RankedTool:
    """The best match that is off, with the reasons."""
    return _maker(c, 1)(Verdict(TRUSTED if c.row.on else ON, reasons=c.row.reasons))


def _reading_notes(compared: Compared) -> Iterator[str]:
    """Sentences on what was read for what was typed."""
    reading = compared.reading
    if reading.pasted:
        yield _PASTE.format(_shown(reading.text))
    elif reading.shortened:
        yield _PROMPT.format(_shown(reading.text))
    elif reading.translated:
        yield _GLOSS.format(_shown(reading.text))
    for pair in compared.read.items():
        yield _READ.format(*pair)
    plain = read_literals(compared.query)
    if plain != compared.query[:LONGEST_QUERY]:
        yield _LITERALS.format(_shown(plain))


def _shown(text: str) -> str:
    """A text on one line, cut to what a note quotes."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}…"


def _paired(
    dense: DenseScores, keyword_scores: Sequence[Mapping[int, float]], tools: Collection[int]
) -> list[Signals]:
    """Meaning and words of each text, of these tools; without an encoder there are only words."""
    cosines = [dense.whole, *dense.steps]
    return [
        Signals(cosines[i] if dense.whole else {}, {id_: one[id_] for id_ in tools if id_ in one})
        for i, one in enumerate(keyword_scores)
    ]
