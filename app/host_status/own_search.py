"""Labelled queries that a host's own search answers, beside those that Toolcrib answers.

The host is asked twice a query, as it is typed and by its rarest words, and either counts: what a
model would type is not known. Toolcrib is asked once, with nothing learned from any label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import apsw

from app.catalog.catalog import Catalog
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.text import plural
from app.encoder.weights import ready_model
from app.export.limits import entry_name
from app.export.model_tools import host_rows
from app.host_status.recommend import Recommendation
from app.host_status.status import NOT_FOUND, HostStatus
from app.hosts.facts import HostFacts, host
from app.indexing.search_hints import HintSources
from app.ranking.host_ranking import own_hint, searched
from app.ranking.learning.cases import expected_tools
from app.ranking.router import Router
from app.ranking.tool_search import HOST, MOST, VERSION
from store import queries, requests
from store.hashes import text_hash
from store.records import THROUGH

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder


@dataclass(frozen=True, slots=True)
class OwnSearch:
    """Labelled queries that find one of their tools among the first five."""

    host: str  # its name
    queries: int
    own: int  # that the host's search finds
    ours: int
    words_only: bool = False  # Toolcrib had no encoder
    hinted: int = 0  # that the host's search finds with hints made without the query itself

    @property
    def sentence(self) -> str:
        """The figures in words."""
        total = plural(self.queries, "labelled query")
        by = " by words alone" if self.words_only else ""
        return (
            f"{self.host}'s own search (emulated, {VERSION}) misses {self.queries - self.own} of"
            f" {total}; Toolcrib finds {self.ours}{by}."
        )


def own_search(
    db: apsw.Connection, facts: HostFacts, catalog: Catalog, encoder: "Encoder | None"
) -> OwnSearch | None:
    """The figures of a host; None where its search is not known or no label names its tools.

    A label whose query is a request of a tool is left out: there Toolcrib would find itself.
    """
    alone = host_alone(db, facts, catalog)
    if alone is None:
        return None
    router = Router.from_store(db, catalog, None, encoder)
    ours = 0
    words_only = False
    for query, expected in alone.cases.items():
        scored = router.score(query, limit=MOST, learned=False)
        words_only = words_only or scored.words_only
        ours += any(one.row.tool.tool_id in expected for one in scored.candidates)
    return OwnSearch(facts.name, len(alone.cases), alone.own, ours, words_only, alone.hinted)


@dataclass(frozen=True, slots=True)
class HostAlone:
    """Results of the host's search without Toolcrib's, with search hints and without."""

    cases: Mapping[str, set[str]]
    own: int
    hinted: int

    @property
    def gain(self) -> str:
        """Gain of search hints, in words."""
        total = plural(len(self.cases), "labelled query")
        return (
            f"With words made without the query itself the search (emulated, {VERSION}) finds"
            f" {self.hinted} of {total}, without any {self.own}."
        )


def host_alone(db: apsw.Connection, facts: HostFacts, catalog: Catalog) -> HostAlone | None:
    """The host's side; None where its search is not known or no label names its tools."""
    if facts.id != HOST:
        return None
    rows = host_rows(facts, catalog)
    places = {row.tool.tool_id: place for place, row in enumerate(rows)}
    cases = _cases(db, places)
    if not cases:
        return None
    sources = HintSources.read(db)
    search = searched(rows, servers=[entry_name(facts, row) for row in rows])
    free = {place for place, row in enumerate(rows) if own_hint(row) is None}  # of a server's words
    hinting = search.hinted({place: sources.hint(rows[place].tool) for place in free})
    own = hinted = 0
    for query, expected in cases.items():
        right = {places[tool] for tool in expected}
        unseen = {place: sources.hint(rows[place].tool, without=query) for place in right & free}
        own += search.finds(query, right)
        hinted += hinting.hinted(unseen).finds(query, right)
    return HostAlone(cases, own, hinted)


def hint_gain(db: apsw.Connection, catalog: Catalog) -> str:
    """Gain of search hints for this computer's Claude Code, in words; "" without labels."""
    alone = host_alone(db, host(HOST), catalog)
    return alone.gain if alone else ""


def advised(status: HostStatus, seen: OwnSearch | None) -> HostStatus:
    """The state with the evidence as its recommendation, where the host misses what we find."""
    if seen is None or not recommends(status, seen):
        return status
    reason = f"{seen.sentence} Go through Toolcrib, or have tools suggested for each prompt."
    return replace(status, recommendation=Recommendation(THROUGH, reason, 0, hook=True))


def recommends(status: HostStatus, seen: OwnSearch | None) -> bool:
    """True if the evidence speaks for a hook or for going through Toolcrib."""
    served = status.mode == THROUGH or (status.hook is not None and status.hook.installed)
    return seen is not None and seen.ours > seen.own and not served


def evidence_key(db: apsw.Connection, catalog: Catalog) -> str:
    """Key that changes when the evidence may change; "" where there is none for want of labels."""
    labels = queries.labels_state(db)
    if not labels:
        return ""
    parts = [labels, catalog.profile.name]
    parts += [f"{row.tool.id}:{row.tool.hash}:{row.shown}" for row in catalog.tools]
    return text_hash("\0".join(parts))


def look(
    db: apsw.Connection,
    paths: Paths,
    model: str,
    statuses: Sequence[HostStatus],
    catalog: Catalog,
) -> dict[str, OwnSearch]:
    """The evidence on the hosts of this computer, by id; loads the encoder where it is needed."""
    here = [one for one in statuses if one.state != NOT_FOUND and one.host.id == HOST]
    if not here or not queries.labels(db):
        return {}
    encoder = _encoder(paths, model)
    seen = {one.host.id: own_search(db, one.host, catalog, encoder) for one in here}
    return {id_: one for id_, one in seen.items() if one is not None}


def _cases(db: apsw.Connection, known: Mapping[str, int]) -> dict[str, set[str]]:
    """Labelled queries with those of their tools that the host has."""
    indexed = {one.text.lower() for rows in requests.live(db).values() for one in rows}
    cases = {
        query: expected & known.keys()
        for query, expected in expected_tools(queries.labels(db)).items()
        if query.lower() not in indexed
    }
    return {query: expected for query, expected in cases.items() if expected}


def _encoder(paths: Paths, model: str) -> "Encoder | None":
    """The encoder where it is prepared; nothing is prepared for a sentence."""
    from app.encoder.onnx import Encoder

    try:
        files = ready_model(paths, model)
        return Encoder.load(files) if files else None
    except (ToolcribError, OSError):
        return None
