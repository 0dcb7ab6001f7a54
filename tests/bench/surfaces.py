"""`bench surfaces`: the Playground, a host's search_tools and its hook on the same queries.

The gateway and the hook's program are started as a host starts them; what they ranked is read from
the journal, what a host reads of it from their answers.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.catalog.catalog import load_catalog
from app.encoder.onnx import Encoder
from app.gateway.menu.suggesting import SUGGEST
from app.hooks.suggestion import MOST
from app.ranking.router import Router
from app.ranking.text import query_hash
from store import events
from store.connection import open_store
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.raw import SETS, raw_queries
from tests.bench.data.sets import QuerySet
from tests.bench.hooks.live import Connection, Home, home_with
from tests.bench.raw import raw_tools
from tests.bench.report import Cell, Column, Report, label, table

FIRST = 5  # tools that are compared
_TOOL = re.compile(r"^(?:- )?(?P<id>[\w.@-]+/[\w.-]+)", re.MULTILINE)
_NOTES = (
    "Playground: the whole ranking of the window, every tool judged. Gateway: search_tools through"
    " the adapter over stdio; its ranking is what the journal has of it. Hook: the program that a"
    f" host runs, by a backend; it names at most {MOST} tools, and none where small talk is as"
    " near, so as many are compared as it ranked.",
    "answer: search_tools names the Playground's first tool where any tool is in.",
)


@dataclass(frozen=True, slots=True)
class Surfaces:
    """What the three surfaces gave one query, best first."""

    query: str
    kind: str
    language: str
    window: tuple[str, ...]
    gateway: tuple[str, ...]
    hook: tuple[str, ...]
    answered: tuple[str, ...]  # tool ids that the text of search_tools begins with
    fits: bool  # the window's ranking lets a tool in

    @property
    def gateway_agrees(self) -> bool:
        """True if the gateway's first tools are the window's."""
        return self.gateway[:FIRST] == self.window[:FIRST]

    @property
    def hook_agrees(self) -> bool:
        """True if the tools that the hook ranked are the window's first ones."""
        return self.hook == self.window[: len(self.hook)]

    @property
    def answer_agrees(self) -> bool:
        """True if the answer names the window's first tool, or no tool is in."""
        return not self.fits or self.window[0] in self.answered


def run(data: Path, encoder: Encoder, *, cache: Path | None = None) -> Report:
    """Every raw query of the open halves over its set's servers."""
    cached = CachedEncoder(encoder, cache)
    rows = {}
    try:
        for number in SETS:
            given = QuerySet("raw", raw_tools(data, number), {}, ())
            queries = [(q.query, q.kind, q.language) for q in raw_queries("open", number)]
            rows[number] = compared(given, cached, queries)
    finally:
        cached.close()
    return report(rows)


def compared(
    given: QuerySet, encoder: CachedEncoder, queries: Sequence[tuple[str, str, str]]
) -> list[Surfaces]:
    """Answers of a real gateway and hook beside the window's ranking; (query, kind, language)."""
    models = encoder.models
    with (
        tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder,
        home_with(Path(folder), given, encoder, models) as home,
    ):
        texts = [query for query, _, _ in queries]
        with Connection(home) as host:
            home.wait_for_hook([tool.raw["description"] for tool in given.tools[:20]])
            began = _now(home)
            answers = []
            for number, text in enumerate(texts):
                fields = {"query": text, "limit": FIRST}
                answers.append(host.call("search_tools", fields))
                host.suggestion(text, f"surfaces {number}")
        home.stop()  # writes what the journal holds
        return list(_rows(home, encoder, queries, answers, began))


def _now(home: Home) -> int:
    """The journal's newest event."""
    db = open_store(home.folder / "toolcrib.db")
    try:
        return max((one.id for one in events.recent(db, 1)), default=0)
    finally:
        db.close()


def _rows(
    home: Home,
    encoder: CachedEncoder,
    queries: Sequence[tuple[str, str, str]],
    answers: Sequence[str],
    after: int,
) -> Iterator[Surfaces]:
    db = open_store(home.folder / "toolcrib.db")
    try:
        every = events.of_kinds(db, ("search", SUGGEST), 0.0)
        kept = [one for one in every if one.id > after]
        searched = {o.detail["query_hash"]: o for o in kept if o.kind == "search"}
        hooked = [one for one in kept if one.kind == SUGGEST][-len(queries) :]
        router = Router.from_store(db, load_catalog(db), None, encoder)
        for (query, kind, language), answer, hook in zip(queries, answers, hooked, strict=True):
            ranked = router.route(query)
            yield Surfaces(
                query,
                kind,
                language,
                tuple(tool.tool_id for tool in ranked.tools),
                tuple(searched[query_hash(query)].detail["candidates"]),
                tuple(hook.detail["tools"]),
                tuple(match["id"] for match in _TOOL.finditer(answer)),
                bool(ranked.shown),
            )
    finally:
        db.close()


def report(sets: Mapping[int, Sequence[Surfaces]]) -> Report:
    """Shares of queries on which the surfaces agree, by set, kind and language."""
    titles = ("queries", f"gateway's first {FIRST} %", "answer %", "hook %", "hook ranked")
    heads = [label("set"), label("kind"), *map(Column, titles)]
    cells = [(number, *cell) for number, rows in sets.items() for cell in _by_kind(rows)]
    return Report(
        "surfaces", (table("The Playground's first tools elsewhere", heads, cells),), _NOTES
    )


def _by_kind(rows: Sequence[Surfaces]) -> Iterator[tuple[Cell, ...]]:
    groups: dict[str, list[Surfaces]] = {}
    for row in rows:
        groups.setdefault(row.kind, []).append(row)
        if row.kind == "other":
            groups.setdefault(f"other: {row.language}", []).append(row)
    groups["all"] = list(rows)
    for name, chosen in sorted(groups.items()):
        yield (
            name,
            len(chosen),
            _share([row.gateway_agrees for row in chosen]),
            _share([row.answer_agrees for row in chosen]),
            _share([row.hook_agrees for row in chosen]),
            sum(bool(row.hook) for row in chosen),
        )


def _share(values: Sequence[bool]) -> float:
    return 100 * sum(values) / max(1, len(values))
