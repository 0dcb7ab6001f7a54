"""The router: one query, every tool's score, its gate and the reason, for every caller alike."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import apsw

from app.catalog import Catalog, CatalogTool
from app.routing.dense import Encoding
from app.routing.fuse import SHORT, Fused, Signals, fuse, shares
from app.routing.gates import Candidate, Verdict, judge
from app.routing.hierarchy import parse_request
from app.routing.keyword import keyword_row, matched_words, stems, word_scores
from app.routing.meaning import NOTHING_MEANT, Meaning, Meant
from app.routing.ranked import Ranked, RankedTool, Request
from app.routing.state import Precondition, State, may_see, parse_preconditions
from app.routing.text import clauses, content_words, distinct
from app.settings import RoutingSettings
from store.search import Scope

WORDS_ONLY = "Meaning scores are off (model not found). Words only."
NOT_INDEXED = "Meaning scores are off (tools not indexed yet). Words only."
NO_TOOL = "No tool fits."
# rows asked of the keyword index per query text when only the best tools are wanted
POOL = 100


@dataclass(frozen=True, slots=True)
class Scored:
    """A query's candidates with their scores, best first, before any gate."""

    request: Request
    candidates: tuple[Candidate, ...]
    query_words: tuple[str, ...]
    words_only: bool
    note: str
    share: float  # of the whole query's meaning in each score


class Router:
    """Ranks the tools of one catalogue; make a new one when the catalogue changes."""

    def __init__(
        self,
        db: apsw.Connection,
        catalog: Catalog,
        *,
        settings: RoutingSettings,
        encoder: Encoding | None,
    ) -> None:
        self._db = db
        self._catalog = catalog
        self._rows = {row.tool.id: row for row in catalog.tools if not row.tool.gone}
        self._hides = not all(row.shown for row in self._rows.values())
        self._settings = settings
        self._encoder = encoder
        self._preconditions = _conditions(catalog.settings.preconditions)
        self._rules = [
            (who, p) for p, allowed in catalog.settings.scopes.items() for who in allowed
        ]
        self._compare: Meaning | None = None
        self._stems: dict[int, frozenset[str]] = {}

    @classmethod
    def from_store(
        cls,
        db: apsw.Connection,
        catalog: Catalog,
        settings: RoutingSettings | None = None,
        encoder: Encoding | None = None,
    ) -> "Router":
        """A router over what the store holds; without an encoder it compares words only."""
        return cls(db, catalog, settings=settings or catalog.settings.routing, encoder=encoder)

    def route(
        self, request: Request | str, *, state: State | None = None, limit: int | None = None
    ) -> Ranked:
        """Every tool ranked and judged; with `limit`, only the best tools a host may get.

        The limited form asks sqlite-vec and FTS5 with all filters inside the SQL.
        """
        return self.judge(self.score(request, state=state, limit=limit), state=state)

    @property
    def encoder(self) -> Encoding | None:
        """What turns texts into vectors, None when only words are compared."""
        return self._encoder

    @property
    def word_weights(self) -> Sequence[float]:
        """What a word counts by where a tool holds it, in the keyword index's order."""
        return self._settings.word_weights

    @property
    def tool_ids(self) -> Mapping[int, str]:
        """`server/tool` by row id, of every tool that can be ranked."""
        return {id_: row.tool.tool_id for id_, row in self._rows.items()}

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
        asked = parse_request(request) if isinstance(request, str) else request
        query = asked.query.strip() or asked.tool.strip()
        scope = self._scope(state or State(), only_shown=limit is not None)
        spoken = content_words(query)
        steps = clauses(query) if len(spoken) > SHORT else []
        texts = [asked.tool.strip() or query, *steps]
        most = len(self._rows) if limit is None else POOL
        counted = self._settings.word_weights
        said = [
            word_scores(self._db, text, limit=most, scope=scope, weights=counted) for text in texts
        ]
        near = None if limit is None else set().union(*said)
        meant, note = self._meaning(texts, asked, scope, near=near, learned=learned)
        whole, *parts = _paired(meant, said)
        weights = shares(len(spoken), has_steps=bool(steps))
        tools = self._found([whole, *parts], scope, limit)
        fused = fuse(tools, whole, parts, weights=weights, extras=meant.extras)
        candidates = self._candidates(fused, whole)[:limit]
        words_only = not meant.whole
        return Scored(asked, candidates, tuple(distinct(spoken)), words_only, note, weights.meaning)

    def judge(
        self,
        scored: Scored,
        *,
        settings: RoutingSettings | None = None,
        state: State | None = None,
    ) -> Ranked:
        """The gates' verdicts over scores that are there already; other settings can be tried."""
        used = settings or self._settings
        verdicts = judge(scored.candidates, used, preconditions=self._preconditions, state=state)
        tools = tuple(
            self._ranked(candidate, verdict, rank, scored.query_words)
            for rank, (candidate, verdict) in enumerate(
                zip(scored.candidates, verdicts, strict=True), 1
            )
        )
        tokens = sum(tool.tokens for tool in tools if tool.shown)
        empty = bool(tools) and not any(tool.shown for tool in tools)
        note = " ".join(part for part in (scored.note, NO_TOOL if empty else "") if part)
        nearest = tools[0] if tools else None
        return Ranked(scored.request.query, tools, tokens, note, scored.words_only, nearest)

    def _scope(self, state: State, *, only_shown: bool) -> Scope | None:
        """The filters that go inside the SQL; None when they would exclude nothing.

        Each costs a subquery (2 ms at 3,000 tools). Tools that are gone are left out afterwards.
        """
        allowed = self._allowed(state)
        wanted = self._catalog.settings.servers
        hides = only_shown and self._hides
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
        """The tools that the allowlists let somebody find, None without allowlists."""
        if not self._rules:
            return None
        return frozenset(
            id_
            for id_, row in self._rows.items()
            if may_see(row.tool.tool_id, self._rules, state.principals)
        )

    def _meaning(
        self,
        texts: Sequence[str],
        asked: Request,
        scope: Scope | None,
        *,
        near: Set[int] | None,
        learned: bool,
    ) -> tuple[Meant, str]:
        if not texts[0].strip():
            return NOTHING_MEANT, ""
        if self._encoder is None:
            return NOTHING_MEANT, WORDS_ONLY
        if self._compare is None:
            self._compare = Meaning(
                self._db, self._catalog, self._encoder, learned=self._settings.learned
            )
        meant = self._compare.compare(
            texts, server=asked.server.strip(), scope=scope, near=near, learned=learned
        )
        return meant, "" if meant.whole else NOT_INDEXED

    def _found(
        self, signals: Sequence[Signals], scope: Scope | None, limit: int | None
    ) -> list[int]:
        if limit is None:
            allowed = scope.tool_ids if scope else None
            return [id_ for id_ in self._rows if allowed is None or id_ in allowed]
        found = set().union(*(s.meaning.keys() | s.words.keys() for s in signals))
        return [id_ for id_ in found if id_ in self._rows]

    def _candidates(self, fused: Mapping[int, Fused], whole: Signals) -> tuple[Candidate, ...]:
        isos = whole.meaning
        made = [
            Candidate(
                self._rows[id_], one.score, isos.get(id_), whole.words.get(id_, 0.0), one.parts
            )
            for id_, one in fused.items()
        ]
        # ties keep the catalogue's order of names, whatever order the searches answered in
        made.sort(key=lambda c: (-c.score, c.row.tool.tool_id, c.row.tool.id))
        return tuple(made)

    def _ranked(
        self, candidate: Candidate, verdict: Verdict, rank: int, query_words: Sequence[str]
    ) -> RankedTool:
        tool = candidate.row.tool
        return RankedTool(
            id=tool.id,
            tool_id=tool.tool_id,
            server=tool.server,
            name=tool.name,
            rank=rank,
            score=candidate.score,
            iso=candidate.iso,
            keyword=candidate.keyword,
            parts=candidate.parts,
            matched=self._matched(candidate, query_words),
            shown=not verdict.gate,
            gate=verdict.gate,
            why=verdict.why,
            remedy=verdict.remedy,
            tokens=candidate.row.cost,
        )

    def _matched(self, candidate: Candidate, query_words: Sequence[str]) -> tuple[str, ...]:
        if candidate.keyword <= 0:
            return ()
        return tuple(matched_words(query_words, self._stems_of(candidate.row)))

    def _stems_of(self, row: CatalogTool) -> frozenset[str]:
        known = self._stems.get(row.tool.id)
        if known is None:
            known = self._stems[row.tool.id] = stems(keyword_row(row.tool)[1:])
        return known


def _conditions(declared: Mapping[str, Sequence[str]]) -> tuple[Precondition, ...]:
    return parse_preconditions(
        (pattern, text) for pattern, texts in declared.items() for text in texts
    )


def _paired(meant: Meant, said: Sequence[dict[int, float]]) -> list[Signals]:
    """Meaning and words of each text; without an encoder there are only words."""
    cosines = [meant.whole, *meant.steps]
    return [Signals(cosines[i] if meant.whole else {}, one) for i, one in enumerate(said)]
