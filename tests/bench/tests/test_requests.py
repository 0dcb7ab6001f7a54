"""What requests are worth: the shipped ones, and the developers' queries they are judged by."""

import json
from collections import Counter
from pathlib import Path

import pytest

from app.encoder.onnx import Encoder
from app.ranking.requests import pack_key, tool_text_hash
from store.records import ToolRecord
from tests.bench import requests
from tests.bench.data.developers import KINDS, developer_queries


def test_the_developers_queries_are_of_five_kinds_and_every_step_has_a_search() -> None:
    queries = developer_queries()
    counts = Counter(asked.kind for asked in queries)
    assert counts == dict(zip(KINDS, (30, 20, 20, 20, 30), strict=True))
    assert len({asked.query for asked in queries}) == 120
    assert all(bool(asked.gold.tools) == (asked.kind != "none") for asked in queries)
    for asked in queries:
        if asked.kind == "steps":
            assert len(asked.agent) == len(asked.gold.tools) > 1
            assert [gold.tools for _text, gold in asked.steps()] == [(t,) for t in asked.gold.tools]


@pytest.mark.exhaustive
def test_the_packs_requests_are_judged_with_and_without_on_sets_whose_tools_it_knows(
    tmp_path: Path, encoder: Encoder, embeddings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "api-bank"
    folder.mkdir()
    listed = {"AddAlarm": "Sets a timer by token.", "QueryStock": "Looks up a code by token."}
    rows = [{"server": "a", "name": n, "description": d} for n, d in listed.items()]
    (folder / "catalogue.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = {"query": "get me out of bed at seven", "gold": ["a/AddAlarm"]}
    (folder / "queries.jsonl").write_text(json.dumps(asked))
    record = ToolRecord(0, 0, "", "AddAlarm", dict(rows[0]), "", "")
    shipped = {pack_key(tool_text_hash(record)): ("wake me up", "out of bed at six")}
    monkeypatch.setattr(requests, "read_pack", lambda: shipped)
    (tmp_path / "unknown").mkdir()
    (tmp_path / "unknown" / "catalogue.jsonl").write_text(json.dumps(rows[1]))
    (tmp_path / "unknown" / "queries.jsonl").write_text(
        json.dumps({"query": "what is IBM called", "gold": ["a/QueryStock"]})
    )
    (tmp_path / "catalog").mkdir()
    git = {"name": "git_status", "description": "Shows the working tree status"}
    line = {"server": "mcp-server-git", "tools": [git]}
    (tmp_path / "catalog" / "real_catalog.jsonl").write_text(json.dumps(line))
    report = requests.run(tmp_path, encoder, cache=embeddings)
    sets, developers, floors = report.tables
    methods = {row[3] for row in sets.rows}
    assert {row[0] for row in sets.rows} == {"api-bank", "macro"}
    assert {row[1:3] for row in sets.rows if row[0] == "api-bank"} == {(2, 1)}
    assert {"paper", "without", "with"} <= methods
    assert [row[0] for row in floors.rows] == ["none", "pack"]
    assert {row[2] for row in developers.rows} == {"raw", "agent"}
