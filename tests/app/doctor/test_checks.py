"""`toolcrib doctor` tells the state of everything, and nothing that should not be in an issue."""

import json
import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.core.paths import Paths
from app.doctor import checks
from app.doctor.checks import BAD, GOOD, NOTE, Result, examine, shareable
from store.damage import TABLES, TABLES_OF_VERSION, damaged_rows, missing_tables
from store.migrate import steps


def by_check(ctx: AppContext) -> dict[str, list[Result]]:
    results: dict[str, list[Result]] = {}
    for result in examine(ctx):
        results.setdefault(result.check, []).append(result)
    return results


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "someone"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def test_a_healthy_machine_has_a_line_for_each_thing(
    ctx: AppContext, db: apsw.Connection, add_server: Any, home: Path
) -> None:
    add_server("github", "create_issue", "list_issues")
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"github": {"command": "github"}}}')
    results = by_check(ctx)
    assert {"version", "platform", "home", "disk", "settings", "store", "encoder", "host"} <= set(
        results
    )
    assert results["store"][0].text.endswith(": 1 server, 2 tools, 1 profile")
    assert results["host"] == [Result("host", "Cursor: ~/.cursor/mcp.json, 1 server")]
    assert {one.state for many in results.values() for one in many} <= {GOOD, NOTE}


def test_an_empty_machine_is_no_problem(ctx: AppContext, home: Path) -> None:
    results = by_check(ctx)
    assert results["store"][0].state == NOTE and "toolcrib scan" in results["store"][0].hint
    assert results["host"][0].text == "no host's file was seen"
    assert not ctx.paths.database.exists()  # looking makes nothing


def test_a_disk_without_room_is_a_problem(
    ctx: AppContext, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (good,) = by_check(ctx)["disk"]
    assert good.state == GOOD and re.fullmatch(r"[\d,]+ MB free", good.text)
    monkeypatch.setattr(checks, "LEAST_ROOM", 1 << 62)  # more than any disk has
    (full,) = by_check(ctx)["disk"]
    assert full.state == BAD and full.hint.startswith("Make room")


@pytest.mark.encoder
def test_the_encoder_of_this_machine_is_timed(
    ctx: AppContext, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (speed,) = by_check(ctx)["speed"]
    pattern = r"loading the encoder \d+ ms, reading a query \d+\.\d ms \(CPU\)"
    assert re.fullmatch(pattern, speed.text)
    monkeypatch.setattr(checks, "_SLOW_QUERY", 0.0)
    (slow,) = by_check(ctx)["speed"]
    assert slow.state == NOTE and "--words-only" in slow.hint


def test_without_an_encoder_nothing_is_timed(ctx: AppContext, home: Path, tmp_path: Path) -> None:
    results = by_check(AppContext(Paths(ctx.paths.home, tmp_path / "none"), ctx.settings))
    assert results["encoder"][0].state == NOTE and "speed" not in results


def test_what_is_wrong_is_a_problem_with_what_to_do(
    ctx: AppContext, db: apsw.Connection, add_server: Any, home: Path, capsys: Any
) -> None:
    add_server("github", "create_issue")
    db.execute("UPDATE tools SET raw = '{'")
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {')
    ctx.paths.settings_file.write_text("model = 5")
    results = by_check(ctx)
    bad = [one for many in results.values() for one in many if one.state == BAD]
    assert {one.check for one in bad} == {"settings", "store", "host"}
    assert all(one.hint for one in bad)
    assert run(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (place,) = [place for place, line in enumerate(lines) if "Cursor: " in line]
    assert lines[place + 1].strip() == "Correct the file, then scan again."


def test_the_verb_runs_where_the_settings_cannot_be_read(
    ctx: AppContext, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    ctx.paths.home.mkdir()
    ctx.paths.settings_file.write_text("=")
    assert run(["doctor", "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["healthy"] is False
    assert any(c["check"] == "settings" and c["state"] == BAD for c in value["checks"])


def test_a_file_that_is_no_database_is_a_line_and_not_a_traceback(
    ctx: AppContext, home: Path
) -> None:
    ctx.paths.home.mkdir()
    ctx.paths.database.write_bytes(b"no database" * 1000)
    (store,) = by_check(ctx)["store"]
    assert store.state == BAD and "damaged" in store.text


def test_nothing_secret_is_in_the_report(home: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    text = shareable(f"{home}/x {token} https://me:hunter2@host/p")
    assert token not in text and "hunter2" not in text and str(home) not in text
    assert text.startswith("~/x ")


def test_the_version_is_printed(capsys: Any) -> None:
    assert run(["--version"]) == 0
    from importlib.metadata import version

    assert capsys.readouterr().out == f"toolcrib {version('toolcrib')}\n"


def test_the_tables_that_are_looked_for_are_those_that_migrations_make(
    db: apsw.Connection,
) -> None:
    sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
    made = {row[0] for row in db.execute(sql)}
    assert {
        name for name in made if not name.startswith(("keywords_", "market_words_", "sqlite_"))
    } == TABLES
    assert missing_tables(db) == () and steps()[-1][0] == TABLES_OF_VERSION
    db.execute("DROP VIEW availability")
    assert missing_tables(db) == ("availability",)


def test_each_kind_of_damage_is_seen_in_its_row(db: apsw.Connection, add_server: Any) -> None:
    add_server("github", "create_issue")
    assert list(damaged_rows(db)) == []
    db.execute("UPDATE tools SET raw = '{'")
    db.execute("UPDATE profiles SET settings = '[]'")
    db.execute("UPDATE servers SET spec = '5', prompts = '{}'")
    rows = {(one.table, one.column, one.name) for one in damaged_rows(db)}
    assert rows == {
        ("tools", "raw", "github/create_issue"),
        ("profiles", "settings", "default"),
        ("servers", "spec", "github"),
        ("servers", "prompts", "github"),
    }
