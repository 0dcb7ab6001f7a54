"""A query set as a real store, so that benchmarks run what users run."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from app.bench.data.embeddings import CachedEncoder
from app.bench.data.sets import QuerySet, SetTool
from app.catalog.catalog import Catalog, load_catalog
from app.indexing.requests import PACK, index_keywords
from app.routing.requests import tool_text_hash
from app.routing.summary import make_summary
from app.routing.views import mixed, views_of
from store import requests, servers, tools, vectors
from store.connection import open_store, transaction
from store.records import (
    EntryRecord,
    NewTool,
    RequestRecord,
    ServerSpec,
    Summary,
    ToolRecord,
    Vector,
)

Requests = Mapping[str, Sequence[str]]  # by server/tool


def open_corpus(
    path: Path, given: QuerySet, encoder: CachedEncoder, texts: Requests | None = None
) -> apsw.Connection:
    """A new store that holds the set's tools, indexed; with these requests, or without any."""
    db = open_store(path)
    with transaction(db):
        for server, listed in _by_server(given).items():
            entry = EntryRecord("manual", "manual", "", server)
            spec = ServerSpec("stdio", key=server, command=server)
            id_ = servers.place(db, entry, spec, name=server, trusted=True)
            tools.save_list(db, id_, [_new(tool) for tool in listed], at=0.0)
            about = given.servers.get(server, "")
            if about:
                _describe(db, id_, about)
        index(db, encoder, texts or {})
    return db


def catalog_of(db: apsw.Connection) -> Catalog:
    """The corpus as the default profile sees it: every tool on."""
    return load_catalog(db)


def index(db: apsw.Connection, encoder: CachedEncoder, texts: Requests) -> None:
    """Summaries, requests, keywords and vectors of every tool."""
    records = tools.tools(db)
    made = [Summary(t.id, make_summary(t), "made", t.hash) for t in records]
    tools.save_summaries(db, made)
    _add_requests(db, records, encoder, texts)
    index_keywords(db, records)
    rows = mixed(encoder.encode, [views_of(t, s) for t, s in zip(records, made, strict=True)])
    vectors.save(
        db,
        [
            Vector(t.id, encoder.key, "summary", t.hash, row)
            for t, row in zip(records, rows, strict=True)
        ],
    )


def _add_requests(
    db: apsw.Connection,
    records: Sequence[ToolRecord],
    encoder: CachedEncoder,
    texts: Requests,
) -> None:
    hashes = {tool.id: tool_text_hash(tool) for tool in records}
    written = [
        RequestRecord(0, tool.id, text, PACK, hashes[tool.id])
        for tool in records
        for text in texts.get(tool.tool_id, ())
    ]
    requests.add(db, written)
    requests.mark_live(db, hashes)
    waiting = requests.pending(db, encoder.key)
    rows = encoder.encode([text for _, text in waiting])
    made = [(id_, row.tobytes()) for (id_, _), row in zip(waiting, rows, strict=True)]
    requests.save_vectors(db, encoder.key, made)


def _describe(db: apsw.Connection, server_id: int, about: str) -> None:
    servers.save_reading(
        db,
        server_id,
        server_info={"description": about},
        capabilities={},
        instructions=about,
        prompts=[],
        resources=[],
        templates=[],
        list_hash="",
        taken_with={},
        at=0.0,
    )


def _by_server(given: QuerySet) -> dict[str, list[SetTool]]:
    listed: dict[str, list[SetTool]] = {}
    for tool in given.tools:
        listed.setdefault(tool.server, []).append(tool)
    return listed


def _new(tool: SetTool) -> NewTool:
    raw = dict(tool.raw)
    digest = hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
    return NewTool(tool.name, raw, digest)
