"""A labelled set inside a registry of other tools."""

import json
import shutil
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder
from app.ranking.requests import pack_key, tool_text_hash
from store import requests as stored_requests
from store.records import ToolRecord
from tests.bench import registry, requests
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import QuerySet, SetTool, read_set
from tests.bench.requests import Texts


@pytest.fixture
def data(set_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(set_folder, tmp_path / "retrieval" / "api-bank")
    straw = [
        {"server": f"hay{n % 4}", "name": f"s{n}", "description": f"Straw {n}"} for n in range(9)
    ]
    same = [{"server": "bank", "name": "transfer", "description": "Another text"}, straw[0]]
    file = tmp_path / registry.FILE
    file.parent.mkdir()
    file.write_text("".join(json.dumps(row) + "\n" for row in [*straw, *same]), encoding="utf-8")
    return tmp_path


def test_a_set_is_judged_alone_and_among_the_registrys_tools(data: Path, encoder: Encoder) -> None:
    report = registry.run(data, encoder, sets=["api-bank"]).as_json()
    rows = report["tables"][0]["rows"]
    # a tool that both have counts once, and one that stands there twice
    assert {row["tools"] for row in rows} == {12, 21}
    assert {row["method"] for row in rows} == {
        "paper",
        "ours",
        "requests",
    }  # too few labels to learn
    assert {row["queries"] for row in rows if row["half"] == "both"} == {5}
    assert all(row["queries"] < 5 for row in rows if row["half"] == "report")
    assert all(row["cpu_ms"] > 0 and row["r5"] > 0 for row in rows if row["half"] == "both")


def test_every_request_among_the_registrys_tools_is_a_shipped_one(
    data: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = read_set(data / "retrieval" / "api-bank")
    known = (given.tools[0], registry.read_registry(data / registry.FILE)[0])
    shipped = {pack_key(text_of(tool)): (f"say {tool.name}",) for tool in known}
    stranger = {"server": "other", "name": known[0].name, "description": "of another text"}
    with (data / registry.FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(stranger) + "\n")
    used: list[Texts] = []
    monkeypatch.setattr(requests, "read_pack", lambda: shipped)
    monkeypatch.setattr(
        registry, "open_corpus", lambda *args: used.append(args[3]) or open_corpus(*args)
    )
    registry.run(data, encoder, sets=["api-bank"])
    expected = {f"{tool.server}/{tool.name}": (f"say {tool.name}",) for tool in known}
    assert {id_: texts for id_, texts in used[0].items() if texts} == expected
    assert used[1] == {}


def text_of(tool: SetTool) -> str:
    return tool_text_hash(ToolRecord(0, 0, "", tool.name, dict(tool.raw), "", ""))


def test_a_server_with_a_slash_in_its_name_keeps_its_requests(
    tmp_path: Path, encoder: Encoder
) -> None:
    raw = {"name": "list", "description": "Lists", "inputSchema": {"type": "object"}}
    given = QuerySet("slash", (SetTool("@who/what", "list", raw),), {}, ())
    texts = {"@who/what/list": ("what is there",)}
    db = open_corpus(tmp_path / "s.db", given, CachedEncoder(encoder, None), texts)
    assert [row[0].text for row in stored_requests.live(db).values()] == ["what is there"]
    db.close()


def test_a_registry_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    with pytest.raises(ToolcribError, match="cannot be read as a registry"):
        registry.read_registry(file)
    file.write_text('{"name": "lonely"}\n', encoding="utf-8")
    with pytest.raises(ToolcribError, match="cannot be read as a registry"):
        registry.read_registry(file)
