"""The raw queries: their halves and what they expect."""

import json
from collections import Counter
from importlib.resources import files

from tests.bench.data.long_prompts import PLACES, long_prompts
from tests.bench.data.raw import HALVES, KINDS, raw_queries


def test_halves_are_apart_and_hold_every_kind() -> None:
    halves = {half: raw_queries(half) for half in HALVES}
    texts = [query.query for queries in halves.values() for query in queries]
    assert len(texts) == len(set(texts)) == 240
    counts = Counter(query.kind for queries in halves.values() for query in queries)
    assert counts == {"short": 50, "other": 50, "trace": 50, "steps": 50, "none": 40}
    assert all({query.kind for query in queries} == set(KINDS) for queries in halves.values())


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
