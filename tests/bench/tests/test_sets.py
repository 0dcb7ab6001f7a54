"""Labelled sets as they are read from disk."""

import json
from pathlib import Path

from store.servers import can_be_called
from tests.bench.data.sets import read_set


def test_a_server_that_a_store_names_otherwise_keeps_its_labels(tmp_path: Path) -> None:
    row = {"server": "Cheap-&-Simple", "name": "make_code"}
    query = {"query": "a code", "gold": ["Cheap-&-Simple/make_code"], "grades": {}}
    query["grades"] = {"Cheap-&-Simple/make_code": 2}
    (tmp_path / "catalogue.jsonl").write_text(json.dumps(row))
    (tmp_path / "queries.jsonl").write_text(json.dumps(query))
    given = read_set(tmp_path)
    assert can_be_called(given.tools[0].server)
    assert given.queries[0].gold.tools == (f"{given.tools[0].server}/make_code",)
    assert given.queries[0].gold.grades == {f"{given.tools[0].server}/make_code": 2}
