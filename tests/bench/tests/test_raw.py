"""The raw queries: their halves and what they expect."""

import json
from collections import Counter
from importlib.resources import files

import pytest

from tests.bench.data.long_prompts import PLACES, long_prompts
from tests.bench.data.raw import HALVES, KINDS, SETS, listed_tools, model_requests, raw_queries
from tests.bench.requests import pack_requests

COUNTS = {
    1: dict.fromkeys(KINDS, 50) | {"none": 40},
    2: dict.fromkeys(KINDS, 50) | {"none": 20},
    3: {"other": 102, "none": 18},
}


@pytest.mark.parametrize("number", SETS)
def test_halves_are_apart_and_hold_every_kind(number: int) -> None:
    halves = {half: raw_queries(half, number) for half in HALVES}
    texts = [query.query for queries in halves.values() for query in queries]
    counts = Counter(query.kind for queries in halves.values() for query in queries)
    assert counts == COUNTS[number]
    assert len(texts) == len(set(texts)) == sum(counts.values())
    assert all(
        {query.kind for query in queries} == set(COUNTS[number]) for queries in halves.values()
    )


def test_gold_is_of_the_bed_s_servers() -> None:
    text = files("tests.bench").joinpath("inputs", "raw_servers.json").read_text(encoding="utf-8")
    servers = set(json.loads(text))
    for half in HALVES:
        for query in (*raw_queries(half), *long_prompts(half)):
            named = {tool.partition("/")[0] for tool in (*query.gold.tools, *query.gold.same)}
            assert named <= servers
            assert bool(named) == (query.kind != "none")


def test_long_prompts_hold_their_requests_at_every_place() -> None:
    for half in HALVES:
        prompts, requests = long_prompts(half), long_prompts(half, alone=True)
        assert {query.kind for query in prompts} == set(PLACES) and len(prompts) == 40
        for prompt, request in zip(prompts, requests, strict=True):
            assert request.query in prompt.query
            assert 200 <= len(prompt.query.split()) < 2200


def test_second_set_s_gold_is_of_its_tools_and_the_pack_knows_none() -> None:
    tools = listed_tools()
    listed = {f"{tool.server}/{tool.name}" for tool in tools}
    for half in HALVES:
        for query in raw_queries(half, 2):
            named = {*query.gold.tools, *query.gold.same}
            assert named <= listed
            assert bool(named) == (query.kind != "none")
    assert not any(pack_requests(tools).values())
    assert model_requests().keys() == listed and all(model_requests().values())


def test_second_set_s_servers_name_their_package_and_licence() -> None:
    path = files("tests.bench").joinpath("inputs", "raw_servers_2.json")
    servers = json.loads(path.read_text(encoding="utf-8"))
    counts = Counter(tool.server for tool in listed_tools())
    assert {name: server["tools"] for name, server in servers.items()} == counts
    assert all(server["licence"] in ("MIT", "Apache-2.0") for server in servers.values())
    assert all(server["package"] and server["version"] for server in servers.values())


def test_third_set_has_twenty_queries_a_language() -> None:
    queries = [query for half in HALVES for query in raw_queries(half, 3)]
    counts = Counter(query.language for query in queries)
    assert counts == dict.fromkeys(("it", "ru", "ko", "nl", "pl", "tr"), 20)
    servers = {tool.server for tool in listed_tools()}
    assert {
        query.gold.tools[0].partition("/")[0] in servers for query in queries if query.gold.tools
    } == {True, False}
    assert all(bool(query.gold.tools) == (query.kind != "none") for query in queries)
