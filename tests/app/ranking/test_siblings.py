"""Servers beside tools in large catalogues: what they add, where they keep out, and that both ways
to compare meaning say the same."""

import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from app.ranking import siblings
from app.ranking.dense import NearestRetriever
from app.ranking.learning.base import BaseScores
from app.ranking.ranked import SERVER
from app.ranking.siblings import Siblings, prior_weight
from store import vectors
from store.search import Scope

LONG = (
    "The file on disk and what it says about the branch, and then a new issue in the repository of"
    " the channel; a message to post with the current time"
)


@pytest.fixture
def large(monkeypatch):
    """Any catalogue counts as a large one."""
    monkeypatch.setattr(siblings, "SMALL", 0)
    monkeypatch.setattr(siblings, "LARGE", 1)


def rows(*values):
    matrix = np.array(values, dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def test_servers_count_in_large_catalogues_of_several_servers_alone():
    assert prior_weight([number % 9 for number in range(1_500)]) == 0
    assert 0 < prior_weight([number % 9 for number in range(3_000)]) < siblings.MOST
    assert prior_weight([number % 9 for number in range(9_000)]) == siblings.MOST
    assert prior_weight([1] * 9_000) == 0


def test_a_tool_gains_by_siblings_that_are_near_and_not_where_they_are_anything():
    near, other = [1, 0, 0], [0.6, 0.8, 0]
    matrix = rows(other, near, near, other, [0, 0, 1], [0, -1, 0], other)
    servers = [1, 1, 1, 2, 2, 2, 3]  # alike and near, anything, one tool
    made = Siblings(matrix, servers)
    query = np.array(near, dtype="<f4")
    own = matrix @ query
    mixed = made.cosines(query.tobytes(), dict(enumerate(own.tolist())), dict(enumerate(servers)))
    assert mixed[0] > mixed[6] == pytest.approx(own[6], abs=1e-6)
    assert abs(mixed[3] - own[3]) < mixed[0] - own[0]
    assert list(mixed.values()) == pytest.approx(made.row(query, own).tolist(), abs=1e-6)
    assert made.cosines(query.tobytes(), {77: 0.5}, {}) == {77: 0.5}


@pytest.mark.parametrize("query", ["merge the pull request", "zebra", LONG])
def test_what_servers_add_is_a_part_of_the_score_that_training_knows(large, make_router, query):
    router, db, _catalog = make_router()
    stored = vectors.load(db, router.encoder.key)
    keys = list(stored)
    tools = np.frombuffer(b"".join(stored.values()), dtype="<f4").reshape(len(keys), -1)
    servers = [router.server_ids[key] for key in keys]
    base = BaseScores(db, router.encoder, tools=tools, keys=keys, servers=servers)
    candidates = router.score(query, learned=False).candidates
    assert all(SERVER in dict(one.parts) for one in candidates)
    assert all(one.score == pytest.approx(sum(dict(one.parts).values())) for one in candidates)
    assert all(0 <= one.score <= 1 for one in candidates)
    scores = {one.row.tool.id: one.score for one in candidates}
    trained = dict(zip(keys, base.of(query).scores().tolist(), strict=True))
    assert trained == pytest.approx(scores, abs=1e-5)


def test_a_search_and_a_whole_ranking_agree_in_a_large_catalogue(large, make_router):
    router, _db, _catalog = make_router()
    for query in ("merge the pull request", LONG):
        some, every = router.route(query, limit=5), router.route(query)
        assert [one.tool_id for one in some.tools] == [one.tool_id for one in every.tools][:5]
        assert some.tools[0].score == pytest.approx(every.tools[0].score, abs=1e-5)


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_catalogue_is_compared_in_one_thread(size, request, make_router):
    if size == "large":
        request.getfixturevalue("large")
    router, _db, _catalog = make_router()
    with threadpool_limits(limits=2, user_api="blas"):
        router.route("merge the pull request", limit=5)
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert pools or sys.platform == "darwin"  # whose numpy has no OpenBLAS
    assert [pool["num_threads"] for pool in pools] == [1] * len(pools)


def test_a_named_server_is_asked_for_itself(large, make_router):
    router, _db, _catalog = make_router()
    block = "<tool_assistant>\nserver: github\ntool: list the commits\n</tool_assistant>"
    assert router.route(block).tools[0].tool_id == "github/list_commits"
    assert [name for name, _value in router.route(block).tools[0].parts].count(SERVER) == 1


def test_a_table_in_memory_finds_what_the_index_on_disk_does(make_router):
    router, db, _catalog = make_router()
    encoder = router.encoder
    here = NearestRetriever.from_store(db, encoder.key)
    index = vectors.ensure_index(db, encoder.key, encoder.dims)
    query = encoder.encode_bytes("merge the branch", query=True)
    some = Scope(tool_ids=frozenset([1, 2, 3, 5, 999]))
    for most in (3, 100):
        for scope in (None, some, Scope(tool_ids=frozenset())):
            hits = vectors.nearest(db, index, query, k=most, scope=scope)
            stored = {hit.tool_id: hit.score for hit in hits}
            assert here.nearest([query], limit=most, scope=scope)[0] == pytest.approx(
                stored, abs=1e-5
            )


def test_without_siblings_a_small_catalogue_has_no_part_for_servers(make_router):
    router, _db, _catalog = make_router()
    assert SERVER not in dict(router.route("merge the pull request").tools[0].parts)
