"""Ranking by Claude Code's own search, beside ours: an anchor, never served.

The host knows no tick and no Review: it searches everything that its servers list.
"""

from collections.abc import Collection, Mapping, Sequence

from app.catalog.catalog import CatalogTool
from app.ranking.gates import SCORE, TOP_K, Cut, Verdict
from app.ranking.ranked import Ranked, RankedTool
from app.ranking.tool_search import HINT_KEY, MOST, Deferred, Hit, ToolSearch

NOTE = (
    "What Claude Code finds by itself when its model searches with these words, in every tool that"
    f" the servers list, whatever is off or held here. An answer has {MOST} tools."
)


def usable(rows: Sequence[CatalogTool]) -> list[CatalogTool]:
    """The tools that a host would be given of these rows without Toolcrib."""
    return [row for row in rows if row.usable]


def searched(rows: Sequence[CatalogTool], *, servers: Sequence[str] = ()) -> ToolSearch:
    """The host's search over these rows; `servers` are the names in its file, one a row."""
    names = servers or [row.tool.server for row in rows]
    return ToolSearch(
        [
            Deferred(name, row.tool.name, row.tool.description, own_hint(row) or "")
            for row, name in zip(rows, names, strict=True)
        ]
    )


def own_hint(row: CatalogTool) -> str | None:
    """The words for a host's search that the tool's server wrote; None where it wrote none."""
    meta = row.tool.raw.get("_meta")
    if not isinstance(meta, dict) or HINT_KEY not in meta:
        return None
    return meta[HINT_KEY] if isinstance(meta[HINT_KEY], str) else ""


def found_alone(
    rows: Sequence[CatalogTool], expected: Mapping[str, Collection[str]]
) -> dict[str, bool]:
    """By query, whether the host's search finds one of its tools, as it is typed or by keywords.

    Queries that expect no tool of these rows are left out.
    """
    every = usable(rows)
    places = {row.tool.tool_id: place for place, row in enumerate(every)}
    search = searched(every)
    right = {query: {places[t] for t in tools if t in places} for query, tools in expected.items()}
    return {query: search.finds(query, there) for query, there in right.items() if there}


def host_ranking(rows: Sequence[CatalogTool], query: str) -> Ranked:
    """Every usable tool, as the host's search ranks it; those in its answer are in."""
    every = usable(rows)
    hits = searched(every).ranking(query)
    best = max((hit.score for hit in hits), default=0)
    there = {hit.place for hit in hits}
    rest = [Hit(place, 0) for place in range(len(every)) if place not in there]
    tools = tuple(
        _ranked(every[hit.place], hit, rank, best, matches=rank <= len(hits))
        for rank, hit in enumerate((*hits, *rest), 1)
    )
    return Ranked(
        query,
        tools,
        sum(tool.tokens for tool in tools if tool.shown),
        NOTE if hits else f"Claude Code's own search finds nothing. {NOTE}",
        Cut("delta", 0.0, 1.0),
        words_only=True,
        nearest=tools[0] if tools else None,
    )


def _ranked(row: CatalogTool, hit: Hit, rank: int, best: int, *, matches: bool) -> RankedTool:
    named = matches and not hit.score  # asked for by its name
    verdict = Verdict("")
    if not matches:
        verdict = Verdict(SCORE, needed=1.0)
    elif rank > MOST and not named:
        verdict = Verdict(TOP_K, have=rank, needed=MOST)
    return RankedTool(
        id=row.tool.id,
        tool_id=row.tool.tool_id,
        server=row.tool.server,
        name=row.tool.name,
        rank=rank,
        score=1.0 if named else hit.score / (best or 1),
        iso=None,
        keyword=float(hit.score),
        parts=tuple((name, points / (best or 1)) for name, points in hit.parts),
        matched=hit.words,
        verdict=verdict,
        tokens=row.cost,
        step=-1,
    )
