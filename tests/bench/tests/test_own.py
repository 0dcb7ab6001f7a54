"""Our own queries: what they cover, and how they are judged over a catalogue file."""

import json
from collections import Counter
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder
from tests.bench import own
from tests.bench.data.metrics import Gold
from tests.bench.data.queries import (
    KINDS,
    OwnQuery,
    missing,
    own_queries,
    read_servers,
    servers_of,
)
from tests.bench.data.sets import QuerySet

ROWS = [
    {"server": "mcp-server-time", "tools": [{"name": "get_current_time", "description": "Clock"}]},
    {"server": "gmail-autoauth", "tools": [{"name": "send_email", "description": "Send mail"}]},
    {"server": "slack", "tools": [{"name": "post", "description": "Post a message"}]},
    {"server": "playwright-allcaps", "tools": [{"name": "click"}]},
]


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    file = tmp_path / "real_catalog.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def test_there_are_a_hundred_queries_of_every_kind_and_none_twice() -> None:
    found = own_queries()
    counts = Counter(asked.kind for asked in found)
    assert len(found) >= 100
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 10
    assert len({asked.query for asked in found}) == len(found)
    assert all(bool(asked.gold.tools) == (asked.kind != "none") for asked in found)
    assert all(len(asked.gold.tools) > 1 for asked in found if asked.kind == "multi")
    assert {"filesystem", "git", "github", "playwright", "notion"} <= servers_of(found)


def test_a_catalogues_servers_get_the_names_our_queries_use(catalogue: Path) -> None:
    tools = read_servers(catalogue)
    assert [t.server for t in tools] == ["time", "gmail", "slack"]
    wanted = [OwnQuery("x", "multi", Gold(("time/get_current_time", "time/convert_time")))]
    assert missing(wanted, tools) == ("time/convert_time",)


@pytest.mark.exhaustive
def test_the_report_judges_by_kind_and_by_floor(
    catalogue: Path,
    encoder: Encoder,
    embeddings: Path,
    small_set: QuerySet,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = (
        OwnQuery("what does the clock say?", "single", Gold(("time/get_current_time",))),
        OwnQuery("send mail to Ann", "single", Gold(("gmail/send_email",))),
        OwnQuery("sing a song", "none", Gold(())),
    )
    monkeypatch.setattr(own, "own_queries", lambda: asked)
    report = own.run(catalogue, encoder, sets=[small_set], cache=embeddings)
    found = json.loads(json.dumps(report.as_json()))
    ranked, floors, by_scan = (table["rows"] for table in found["tables"])
    assert [(r["catalogue"], r["kind"], r["tools"], r["queries"]) for r in ranked] == [
        ("their servers", "single", 2, 2),
        ("their servers", "all", 2, 2),
        ("all servers", "single", 3, 2),
        ("all servers", "all", 3, 2),
    ]
    assert all(r["hit1"] == 100 for r in ranked)
    assert [r["catalogue"] for r in floors] == ["their servers", "all servers", small_set.name]
    assert all(40 <= r["our chit-chat refused %"] <= 80 for r in floors)
    assert floors[-1]["no-tool queries refused %"] is None
    assert [(r["catalogue"], r["floor by"]) for r in by_scan] == [
        (catalogue, way)
        for catalogue in ("their servers", "all servers")
        for way in ("requests", "requests and world")
    ]
    for plain, ours in (by_scan[:2], by_scan[2:]):  # no tool here has requests: one floor
        figures = [{k: v for k, v in row.items() if k != "floor by"} for row in (plain, ours)]
        assert figures[0] == figures[1]
        assert plain["tools' requests"] == 0


def test_a_catalogue_without_the_expected_tools_is_refused(
    catalogue: Path, encoder: Encoder
) -> None:
    with pytest.raises(ToolcribError, match="lacks tools"):
        own.run(catalogue, encoder)
    catalogue.write_text('{"tools": 3}')
    with pytest.raises(ToolcribError, match="cannot be read"):
        own.run(catalogue, encoder)
