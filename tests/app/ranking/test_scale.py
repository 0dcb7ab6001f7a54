"""A catalogue of 10,000 tools."""

import numpy as np
import pytest

from app.catalog.catalog import load_catalog
from app.ranking.keyword import keyword_row
from app.ranking.router import Router
from store import servers, tools, vectors
from store.connection import open_store, transaction
from store.records import EntryRecord, NewTool, ServerSpec, Vector
from store.search import save_keywords
from tests.fakes.cpu_time import CpuTime

COUNT = 10_000
VERBS = ["create", "list", "delete", "update", "search", "merge", "export", "open", "send", "read"]
NOUNS = ["issue", "file", "branch", "message", "table", "page", "event", "invoice", "user", "chart"]


@pytest.fixture(scope="module")
def router(fakes, tmp_path_factory):
    encoder = fakes.WordEncoder(dims=64)
    db = open_store(tmp_path_factory.mktemp("scale") / "big.db")
    with transaction(db):
        for number in range(COUNT // 100):
            name = f"server{number}"
            entry = EntryRecord("manual", "manual", "", name)
            spec = ServerSpec("stdio", key=name, command=name)
            id_ = servers.place(db, entry, spec, name=name, trusted=True)
            new = [
                NewTool(f"{v}_{n}", {"name": f"{v}_{n}", "description": f"{v} one {n}."}, name + v)
                for v in VERBS
                for n in NOUNS
            ]
            tools.save_list(db, id_, new, at=0.0)
        rows = tools.tools(db)
        save_keywords(db, [keyword_row(tool) for tool in rows])
        found = np.random.default_rng(0).standard_normal((COUNT, 64)).astype("<f4")
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        made = [
            Vector(tool.id, encoder.key, "summary", tool.hash, row.tobytes())
            for tool, row in zip(rows, found, strict=True)
        ]
        vectors.save(db, made)
    yield Router.from_store(db, load_catalog(db), None, encoder)
    db.close()


def test_every_one_of_them_is_ranked(router):
    ranked = router.route("merge the branch")
    assert len(ranked.tools) == COUNT
    assert len({tool.rank for tool in ranked.tools}) == COUNT
    assert 1 <= len(ranked.shown) <= 10


def test_ties_are_always_in_the_same_order(router):
    first, second = (router.route("merge the branch") for _ in range(2))
    assert [t.tool_id for t in first.tools] == [t.tool_id for t in second.tools]
    equal = [t.tool_id for t in first.tools if t.score == first.tools[-1].score]
    assert equal == sorted(equal)


def test_the_gateways_search_stays_cheap(router):
    router.route("send a message", limit=10)
    spent = []
    for verb in VERBS:
        with CpuTime() as cpu:
            router.route(f"{verb} the invoice of a user", limit=10)
        spent.append(cpu.seconds)
    # 15 to 20 ms on a quiet machine; the bound leaves room for a busy one
    assert min(spent) < 0.060
