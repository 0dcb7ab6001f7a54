"""A query set as a real store, so that benchmarks run what users run."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from app.catalog.catalog import Catalog, load_catalog
from app.indexing.requests import PACK, index_keywords
from app.ranking.learning.teaching import teach_requests
from app.ranking.requests import tool_text_hash
from app.ranking.summary import make_summary
from app.ranking.views import mixed, views_of
from store import requests, servers, tools, vectors
from store.connection import open_store, transaction
from store.records import (
    EntryRecord,
    NewTool,
    RequestRecord,
    SelfDescription,
    ServerSpec,
    Summary,
    ToolRecord,
    Vector,
)
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import QuerySet, SetTool

Requests = Mapping[str, Sequence[str]]  # by server/tool


def open_corpus(
    path: Path, given: QuerySet, encoder: CachedEncoder, texts: Requests | None = None
) -> apsw.Connection:
    """A new store that holds the set's tools, indexed; with these requests, or without any."""
    db = open_store(path)
    named: dict[int, str] = {}  # as the set names them: a store allows no slash
    with transaction(db):
        for server, listed in _by_server(given).items():
            entry = EntryRecord("manual", "manual", "", server)
            spec = ServerSpec("stdio", key=server, command=server)
            id_ = servers.place(db, entry, spec, name=server, trusted=True)
            named[id_] = server
            tools.save_list(db, id_, [_new(tool) for tool in listed], at=0.0)
            about = given.servers.get(server, "")
            if about:
                _describe(db, id_, about)
        _index(db, encoder, texts or {}, named)
    if texts:
        teach_requests(db, encoder, lambda: 0.0)
    return db


def catalog_of(db: apsw.Connection) -> Catalog:
    """The corpus as the default profile sees it: every tool on."""
    return load_catalog(db)


def _index(
    db: apsw.Connection, encoder: CachedEncoder, texts: Requests, named: Mapping[int, str]
) -> None:
    """Summaries, requests, keywords and vectors of every tool; `named` has the servers' names."""
    records = tools.tools(db)
    made = [Summary(t.id, make_summary(t), "made", t.hash) for t in records]
    tools.save_summaries(db, made)
    ids = {tool.id: f"{named[tool.server_id]}/{tool.name}" for tool in records}
    _add_requests(db, records, encoder, {id_: texts.get(name, ()) for id_, name in ids.items()})
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
    texts: Mapping[int, Sequence[str]],
) -> None:
    hashes = {tool.id: tool_text_hash(tool) for tool in records}
    written = [
        RequestRecord(0, tool.id, text, PACK, hashes[tool.id])
        for tool in records
        for text in texts[tool.id]
    ]
    requests.add(db, written)
    requests.mark_live(db, hashes)
    waiting = requests.pending(db, encoder.key)
    rows = encoder.encode([text for _, text in waiting])
    made = [(id_, row.tobytes()) for (id_, _), row in zip(waiting, rows, strict=True)]
    requests.save_vectors(db, encoder.key, made)


def _describe(db: apsw.Connection, server_id: int, about: str) -> None:
    described = SelfDescription(server_info={"description": about}, instructions=about)
    servers.save_reading(db, server_id, described, at=0.0)


def _by_server(given: QuerySet) -> dict[str, list[SetTool]]:
    listed: dict[str, list[SetTool]] = {}
    for tool in given.tools:
        listed.setdefault(tool.server, []).append(tool)
    return listed


def _new(tool: SetTool) -> NewTool:
    raw = dict(tool.raw)
    digest = hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
    return NewTool(tool.name, raw, digest)
