"""Routing on our own labelled queries with the real encoder; thresholds may only rise."""

import json
from pathlib import Path

import numpy as np
import pytest

from app.core.context import AppContext
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from app.ranking.dense import NearestRetriever
from app.ranking.router import Router
from store import vectors
from store.connection import open_store
from store.search import Scope
from tests.bench.data.corpus import catalog_of, open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import mean
from tests.bench.data.queries import own_queries, servers_of
from tests.bench.data.sets import Labelled, QuerySet, SetTool
from tests.bench.judging import judge_ours, judge_paper

CATALOGUE = Path(__file__).parents[1] / "data" / "well_known_tools.jsonl"


@pytest.fixture(scope="module")
def given() -> QuerySet:
    """116 well-known tools, described in our own words, and our queries about their servers."""
    rows = [json.loads(line) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]
    tools = tuple(
        SetTool(
            row["server"],
            row["name"],
            {
                "name": row["name"],
                "description": row["description"],
                "inputSchema": row["input_schema"],
            },
        )
        for row in rows
    )
    known = {f"{tool.server}/{tool.name}" for tool in tools}
    asked = [q for q in own_queries() if q.gold.tools and known.issuperset(q.gold.tools)]
    assert servers_of(asked)
    return QuerySet("own", tools, {}, tuple(Labelled(q.query, q.gold) for q in asked))


@pytest.fixture
def encoder(ctx: AppContext):
    cached = CachedEncoder(Encoder.load(ensure_model(ctx.paths)), None)
    yield cached
    cached.close()


@pytest.fixture
def router(tmp_path: Path, given: QuerySet, encoder: CachedEncoder):
    db = open_corpus(tmp_path / "own.db", given, encoder)
    yield Router.from_store(db, catalog_of(db), None, encoder)
    db.close()


def test_our_queries_find_their_tools(given, encoder, router):
    assert len(given.queries) >= 100
    ours = mean([judge_ours(router, q, encoder, encoder_ms=0) for q in given.queries])
    paper = mean(judge_paper(given, given.queries, encoder, encoder_ms=0))
    assert ours["ndcg10"] >= 71.0
    assert ours["r10"] >= 87
    assert ours["recall"] >= 80
    assert ours["active"] <= 6.5
    assert ours["empty"] == 0
    assert ours["ndcg10"] >= paper["ndcg10"] + 3


def test_the_limited_ranking_begins_like_the_whole_one(given, router):
    same = 0
    for asked in given.queries[::5]:
        whole = [tool.tool_id for tool in router.route(asked.query).tools[:5]]
        limited = [tool.tool_id for tool in router.route(asked.query, limit=20).tools[:5]]
        same += whole == limited
    assert same >= 0.95 * len(given.queries[::5])


def test_filters_in_memory_and_in_sql_answer_like_brute_force(tmp_path, given, encoder, router):
    db = open_store(tmp_path / "own.db")
    ids = [row[0] for row in db.execute("SELECT id FROM tools ORDER BY id")]
    servers = dict(db.execute("SELECT id, server_id FROM tools"))
    stored = dict(db.execute("SELECT tool_id, data FROM vectors"))
    matrix = np.frombuffer(b"".join(stored[i] for i in ids), dtype="<f4").reshape(len(ids), -1)
    in_memory = NearestRetriever.from_store(db, encoder.key)
    index = vectors.ensure_index(db, encoder.key, encoder.dims)
    for asked in given.queries[:6]:
        query = encoder.encode_bytes(asked.query, query=True)
        cosines = matrix @ np.frombuffer(query, dtype="<f4")
        for allowed in ({1, 3}, {2}, set(servers.values())):
            for tools in (None, frozenset(ids[::3])):
                scope = Scope(server_ids=frozenset(allowed), tool_ids=tools)
                found = in_memory.nearest([query], limit=7, scope=scope)[0]
                hits = vectors.nearest(db, index, query, k=7, scope=scope)
                may = [
                    (-cosines[n], i)
                    for n, i in enumerate(ids)
                    if servers[i] in allowed and (tools is None or i in tools)
                ]
                expected = [i for _cosine, i in sorted(may)[:7]]
                assert sorted(found, key=lambda i: -found[i]) == expected
                assert [hit.tool_id for hit in hits] == expected
    db.close()
