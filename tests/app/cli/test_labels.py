"""`toolcrib labels`, `calibrate` and `learn`, with the real encoder where one is needed."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.catalog.catalog import change_settings, load_catalog
from app.cli.labels import read
from app.cli.main import run
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.scrubber import HIDDEN
from app.core.settings import GatewaySettings
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from app.hosts.launch import LaunchSpec
from app.ranking.learning import learn
from app.registry.importing import add_server as register
from store import tools, vectors
from store.connection import transaction
from store.records import Vector

Verb = Callable[..., Any]


@pytest.fixture
def verb(
    ctx: AppContext,
    add_server: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Verb:
    """Runs a verb over a small store; gives its JSON document."""
    add_server("github", "create_issue", "list_issues")
    add_server("files", "read_file", "delete_file")
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))

    def call(*argv: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert run([*argv, "--json"]) == code, capsys.readouterr().err
        text = capsys.readouterr().out
        return json.loads(text) if text else None

    return call


def test_secrets_in_typed_and_imported_queries_are_kept_as_dots(
    verb: Verb, ctx: AppContext, db: apsw.Connection, tmp_path: Path, capsys: Any
) -> None:
    kept, shaped = "k7Qw-9zPx-33ab", "ghp_" + "a1b2c3d4" * 4
    register(ctx, db, "locked", LaunchSpec("stdio", "tool", env={"API_KEY": kept}))
    assert run(["labels", "add", f"sign in with {kept}", "github/list_issues"]) == 0
    assert "1 query with what looks like a secret" in capsys.readouterr().err
    file = tmp_path / "labels.jsonl"
    lines = [{"query": f"use {one}", "expected": []} for one in (kept, shaped, "nothing")]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    verb("labels", "import", str(file))
    queries = [one["query"] for one in verb("labels", "list")["labels"]]
    assert queries == [f"sign in with {HIDDEN}", f"use {HIDDEN}", "use nothing"]


@pytest.fixture
def indexed(ctx: AppContext, verb: Verb, db: apsw.Connection) -> Verb:
    """The same, with tools encoded and 24 labelled queries."""
    encoder = Encoder.load(ensure_model(ctx.paths))
    with transaction(db):
        tools.trust(db, [t.id for t in tools.tools(db)])
        vectors.save(
            db,
            [
                Vector(
                    t.id, encoder.key, "summary", t.hash,
                    encoder.encode_bytes(t.name.replace("_", " ")),
                )
                for t in tools.tools(db)
            ],
        )  # fmt: skip
    ways = ("now", "please", "for me", "again", "today", "quickly")
    for tool in tools.tools(db):
        for way in ways:
            verb("labels", "add", f"{tool.name.replace('_', ' ')} {way}", tool.tool_id)
    return verb


def test_labels_are_added_listed_and_deleted(verb: Verb) -> None:
    added = verb("labels", "add", "file a bug", "github/create_issue")
    assert added == {"added": 1, "labels": 1}
    assert verb("labels", "add", "file a bug", "github/create_issue")["added"] == 0
    verb("labels", "add", "tell me a joke")
    first, second = verb("labels", "list")["labels"]
    assert (first["query"], first["expected"], first["source"]) == (
        "file a bug",
        ["github/create_issue"],
        "typed",
    )
    assert second["expected"] == []
    assert verb("labels", "delete", str(first["id"])) == {"deleted": first["id"]}
    assert len(verb("labels", "list")["labels"]) == 1
    verb("labels", "delete", "999", code=1)
    verb("labels", "add", "x", "nobody/nothing", code=1)
    verb("labels", "add", " ", code=1)


def test_labels_are_imported_from_both_forms(verb: Verb, tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"query": "a", "expected": ["s/x", "s/y"]}\n\n{"query": "b", "expected": []}')
    cells = tmp_path / "b.csv"
    cells.write_text('\ufeffquery,expected\n"c, d",s/x | s/y\ne,\n', encoding="utf-8")
    assert verb("labels", "import", str(lines)) == {"added": 2, "labels": 2}
    assert verb("labels", "import", str(cells)) == {"added": 2, "labels": 4}
    found = {r["query"]: r["expected"] for r in verb("labels", "list")["labels"]}
    assert found == {"a": ["s/x", "s/y"], "b": [], "c, d": ["s/x", "s/y"], "e": []}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", "{"),
        ("a.jsonl", "[]"),
        ("a.jsonl", '{"query": "x"}'),
        ("a.jsonl", '{"query": " ", "expected": []}'),
        ("a.jsonl", '{"query": "x", "expected": ["no_server"]}'),
        ("a.csv", "query\nx\n"),
        ("a.csv", "query,expected\n,s/x\n"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ToolcribError):
        read(file)


def test_too_few_labels_are_said_and_change_no_theta(verb: Verb) -> None:
    found = verb("calibrate", "--use")
    assert (found["theta"], found["delta"], found["queries"]) == (None, None, 0)
    assert found["note"] == "Too few labelled queries: 0 of 20."
    assert not found["used"]
    assert not verb("learn")["used"]


def test_without_labels_nothing_is_offered_for_use(verb: Verb, capsys: Any) -> None:
    for argv in (["calibrate"], ["calibrate", "--use"]):
        assert run(argv) == 0
        words = capsys.readouterr().out
        assert "calibrate --use" not in words and "nothing was written" in words
        assert "toolcrib labels add QUERY SERVER/TOOL" in words


def test_calibrating_writes_the_profile_only_when_asked(indexed: Verb, db: apsw.Connection) -> None:
    found = indexed("calibrate")
    assert (found["queries"], found["compared"], found["used"]) == (24, None, False)
    assert load_catalog(db).settings.routing.floor == 0
    used = indexed("calibrate", "--use", "--compare", "--target-recall", "0.9")
    routing = load_catalog(db).settings.routing
    assert routing.theta == used["theta"]["best"]["value"]
    assert (routing.delta, routing.floor) == (used["delta"]["best"]["value"], used["floor"])
    assert used["theta"]["best"]["recall"] >= 0.9
    assert used["compared"]["same_catalogue"]
    assert used["run"] != found["run"]


def test_a_calibration_of_few_labels_says_that_before_it_is_used(
    indexed: Verb, capsys: Any
) -> None:
    offer = "toolcrib calibrate --use"
    for id_ in [row["id"] for row in indexed("labels", "list")["labels"]][5:]:
        indexed("labels", "delete", str(id_))
    assert run(["calibrate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"To use it all the same: {offer}"
    assert any("Too few labelled queries: 5 of 20." in line for line in lines[:-1])


def test_learning_reports_and_is_forgotten(indexed: Verb, db: apsw.Connection) -> None:
    found = indexed("learn")
    assert set(found) == {"used", "labels", "before", "after", "reason", "seconds"}
    assert found["labels"] == 24
    assert indexed("learn", "--reset") == {"reset": True}
    assert learn.load(db, "anything") is None
    assert len(indexed("labels", "list")["labels"]) == 24


@pytest.mark.parametrize("value", ["2", "-1"])
def test_a_recall_target_is_a_share(value: str) -> None:
    assert run(["calibrate", f"--target-recall={value}"]) == 2


def test_prompts_of_host_records_become_labels_after_two_consents(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, db: apsw.Connection
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    at = {"timestamp": datetime.now(UTC).isoformat()}
    part = {"type": "tool_use", "id": "c", "name": "mcp__files__read_file"}
    lines = (
        {**at, "type": "user", "message": {"content": "what is in the log"}},
        {**at, "type": "assistant", "requestId": "r", "message": {"content": [part]}},
    )
    file = tmp_path / ".claude" / "projects" / "p" / "s.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    verb("labels", "records", code=1)
    verb("usage", "read", "--yes")
    verb("labels", "records", code=1)
    change_settings(db, "default", {"gateway": GatewaySettings(keep_prompts=True)})
    assert verb("labels", "records") == {"added": 1, "labels": 1}
    (label,) = verb("labels", "list")["labels"]
    assert (label["query"], label["source"]) == ("what is in the log", "record:claude-code")
    assert verb("labels", "records") == {"added": 0, "labels": 1}
