"""A query set as a real store, so that benchmarks run what users run."""

import hashlib
import json
from pathlib import Path

import apsw

from app.bench.embeddings import CachedEncoder
from app.bench.sets import QuerySet, SetTool
from app.catalog import Catalog, load_catalog
from app.routing.keyword import keyword_row
from app.routing.summary import make_summary
from app.routing.views import mixed, views_of
from store import servers, tools, vectors
from store.connection import open_store, transaction
from store.records import EntryRecord, NewTool, ServerSpec, Summary, Vector
from store.search import save_keywords


def open_corpus(path: Path, given: QuerySet, encoder: CachedEncoder) -> apsw.Connection:
    """A new store that holds the set's tools, indexed."""
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
        index(db, encoder)
    return db


def catalog_of(db: apsw.Connection) -> Catalog:
    """The corpus as the default profile sees it: every tool on."""
    return load_catalog(db)


def index(db: apsw.Connection, encoder: CachedEncoder) -> None:
    """Summaries, keywords and vectors of every tool."""
    found = tools.tools(db)
    made = [Summary(t.id, make_summary(t), "made", t.hash) for t in found]
    tools.save_summaries(db, made)
    save_keywords(db, [keyword_row(tool) for tool in found])
    rows = mixed(encoder.encode, [views_of(t, s) for t, s in zip(found, made, strict=True)])
    vectors.save(
        db,
        [
            Vector(t.id, encoder.key, "summary", t.hash, row)
            for t, row in zip(found, rows, strict=True)
        ],
    )


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
