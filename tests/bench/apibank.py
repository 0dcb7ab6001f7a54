"""`bench apibank`: retrieval by the user's words on API-Bank, beside MCP-Zero's Table 1."""

import json
import tempfile
from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import mean

from app.catalog.catalog import load_catalog
from app.encoder.onnx import Encoder
from app.ranking.router import Router
from app.ranking.text import split_name
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import Labelled, QuerySet, read_set
from tests.bench.data.testbed import tool_id
from tests.bench.report import PUBLISHED, Cell, Column, Report, label, table

# MCP-Zero, Table 1, "Q.Retrieval": top 1 by text-embedding-3-large
PUBLISHED_TOP_1 = {"single": 71.63, "multi": 65.05}


def run(folder: Path, encoder: Encoder, *, cache: Path | None = None) -> Report:
    """Top-1 rates over the set in that folder, with few and with all tools."""
    given, dialogues = read_set(folder), dialogue_kinds(folder)
    wanted = {name for query in given.queries for name in query.gold.tools}
    domain = replace(given, tools=tuple(t for t in given.tools if tool_id(t) in wanted))
    cached = CachedEncoder(encoder, cache)
    try:
        rows = [
            row
            for scope, part in (("tools that are called", domain), ("all tools", given))
            for row in _rows(scope, part, dialogues, cached)
        ]
    finally:
        cached.close()
    columns = [
        label("tools"), label("dialogue"), Column("tools in all"), Column("queries"),
        Column("cosine %"), Column("Toolcrib %"), Column("MCP-Zero Q.Retrieval %", PUBLISHED),
    ]  # fmt: skip
    return Report("apibank", (table("Top 1 on API-Bank", columns, rows),), _notes())


def dialogue_kinds(folder: Path) -> dict[str, str]:
    """Query -> "multi" where its dialogue asks more than once, else "single"."""
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    dialogues = Tally(str(row["id"]).rpartition("#")[0] for row in rows)
    return {
        row["query"]: "multi" if dialogues[str(row["id"]).rpartition("#")[0]] > 1 else "single"
        for row in rows
    }


def _rows(
    scope: str, part: QuerySet, dialogues: Mapping[str, str], encoder: CachedEncoder
) -> list[tuple[Cell, ...]]:
    cosine, ours = _cosine(part, encoder), _ours(part, encoder)
    rows: list[tuple[Cell, ...]] = []
    for kind in ("single", "multi"):
        places = [i for i, q in enumerate(part.queries) if dialogues.get(q.query) == kind]
        if places:
            figures = [100 * mean(hits[i] for i in places) for hits in (cosine, ours)]
            rows.append(
                (scope, kind, len(part.tools), len(places), *figures, PUBLISHED_TOP_1[kind])
            )
    return rows


def _cosine(part: QuerySet, encoder: CachedEncoder) -> list[bool]:
    texts = [f"{split_name(t.name)}: {t.raw['description']}" for t in part.tools]
    scores = encoder.encode([q.query for q in part.queries], query=True) @ encoder.encode(texts).T
    first = [tool_id(part.tools[int(i)]) for i in scores.argmax(axis=1)]
    return [_right(name, query) for name, query in zip(first, part.queries, strict=True)]


def _ours(part: QuerySet, encoder: CachedEncoder) -> list[bool]:
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", part, encoder)
        try:
            router = Router.from_store(db, load_catalog(db), None, encoder)
            ranked = [router.route(query.query, limit=10).tools for query in part.queries]
        finally:
            db.close()
    return [
        bool(tools) and _right(tools[0].tool_id, query)
        for tools, query in zip(ranked, part.queries, strict=True)
    ]


def _right(name: str, query: Labelled) -> bool:
    return query.gold.same.get(name, name) in query.gold.tools


def _notes() -> tuple[str, ...]:
    return (
        "MCP-Zero counts 48 tools of level 1 and embeds with text-embedding-3-large; here a query"
        " is what the user said since the last call, gold is what is called next, and the encoder"
        " runs on this machine. The splits are near but not the same.",
        "multi: dialogues in which the user asks more than once.",
    )
