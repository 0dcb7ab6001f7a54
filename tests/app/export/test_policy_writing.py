"""A profile takes its values from policy.toml: one place, edited span by span, never half."""

import json
import sys
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

FAKES = Path(__file__).parents[2] / "fakes"
sys.path.insert(0, str(FAKES))

import demo_store  # noqa: E402

from app.catalog.catalog import change_settings, load_catalog, set_on, set_pinned  # noqa: E402
from app.core.errors import ToolcribError  # noqa: E402
from app.export import policy_writing as writing  # noqa: E402
from app.policy.policy_file import parse_policy  # noqa: E402
from app.policy.profile_policy import file_of, follow  # noqa: E402

TEXT = """\
# ours
version = 1

[budget]
max_schema_tokens = 9000   # measured in November
on_block = "ask"

[tools]
off = [
  "github/merge",  # too much power
  "time/*",
]
confirm = ["github/create_*"]

# who may deploy
[scopes]
"team/deploy" = ["role:ops"]
"""


@pytest.fixture
def store(db: Any) -> Any:
    demo_store.fill(db, demo_store.DEMO)
    return db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(TEXT)
    return file


def on(db: Any) -> set[str]:
    return {t.tool.tool_id for t in load_catalog(db).tools if t.on}


def number(db: Any, tool_id: str) -> int:
    tool = load_catalog(db).find(tool_id)
    assert tool is not None
    return tool.tool.id


def change(db: Any, ctx: Any, what: Any) -> None:
    writing.change_profile(db, "default", ctx.paths, 1.0, what)


def test_the_profile_has_the_values_of_its_file(store: Any, file: Path) -> None:
    writing.use_file(store, "default", file)
    settings = load_catalog(store).settings
    assert (settings.budget.tokens, settings.budget.on_block) == (9000, "ask")
    assert settings.gateway.approve == ("github/create_*",)
    assert settings.scopes == {"team/deploy": ["role:ops"]}
    assert on(store).isdisjoint({"github/merge", "time/now", "time/convert"})
    assert "github/search_code" in on(store)


def test_a_text_changed_by_hand_is_followed_and_a_broken_one_changes_nothing(
    store: Any, file: Path
) -> None:
    writing.use_file(store, "default", file)
    file.write_text(TEXT.replace("9000", "7000").replace('"time/*",', ""))
    follow(store, "default")
    assert load_catalog(store).settings.budget.tokens == 7000 and "time/now" in on(store)
    file.write_text(TEXT.replace("on_block", "on_blok"))
    known = follow(store, "default")
    assert known is not None
    assert f"{file}, line 6: budget.on_blok is not a key of a policy" in known.problem
    assert load_catalog(store).settings.budget.tokens == 7000
    file.write_text(TEXT)
    known = follow(store, "default")
    assert known is not None and known.problem == ""
    assert load_catalog(store).settings.budget.tokens == 9000


def test_a_change_edits_only_its_span_and_keeps_comments(store: Any, ctx: Any, file: Path) -> None:
    writing.use_file(store, "default", file)
    edited = partial(change_settings, store, "default", {"budget.tokens": 8000})
    change(store, ctx, edited)
    assert file.read_text() == TEXT.replace("9000", "8000")
    change(store, ctx, lambda: set_on(store, "default", [number(store, "github/merge")], True))
    text = file.read_text()
    assert "github/merge" not in tomllib.loads(text)["tools"]["off"]
    assert "# who may deploy" in text and "# measured in November" in text
    change(store, ctx, lambda: set_on(store, "default", [number(store, "team/deploy")], False))
    change(store, ctx, lambda: set_pinned(store, "default", [number(store, "github/merge")], True))
    values = tomllib.loads(file.read_text())
    assert values["tools"]["off"] == ["time/*", "team/deploy"]
    assert values["tools"]["always_include"] == ["github/merge"]
    follow(store, "default", anew=True)
    assert "team/deploy" not in on(store) and "github/merge" in on(store)


def test_a_value_back_to_its_default_is_written_where_the_file_names_it(
    store: Any, ctx: Any, file: Path
) -> None:
    writing.use_file(store, "default", file)
    change(store, ctx, partial(change_settings, store, "default", {"budget.on_block": "report"}))
    assert file.read_text() == TEXT.replace('"ask"', '"report"')


def test_what_another_line_keeps_off_is_refused_by_name(store: Any, ctx: Any, file: Path) -> None:
    writing.use_file(store, "default", file)
    with pytest.raises(ToolcribError, match=r"time/now cannot be turned on: the pattern time/\*"):
        change(store, ctx, lambda: set_on(store, "default", [number(store, "time/now")], True))
    assert file.read_text() == TEXT and "time/now" not in on(store)


def test_a_value_that_the_format_does_not_take_is_in_neither_place(
    store: Any, ctx: Any, file: Path
) -> None:
    writing.use_file(store, "default", file)
    with pytest.raises(ToolcribError, match=r"budget\.max_schema_tokens cannot be this"):
        change(store, ctx, partial(change_settings, store, "default", {"budget.tokens": 0}))
    assert file.read_text() == TEXT
    assert load_catalog(store).settings.budget.tokens == 9000


def test_a_file_that_changed_in_this_moment_is_not_overwritten(
    store: Any, ctx: Any, file: Path
) -> None:
    writing.use_file(store, "default", file)

    def slow() -> Any:
        made = change_settings(store, "default", {"budget.tokens": 8000})
        file.write_text(TEXT.replace("9000", "1234"))
        return made

    with pytest.raises(ToolcribError, match="changed meanwhile"):
        change(store, ctx, slow)
    assert "1234" in file.read_text()
    assert load_catalog(store).settings.budget.tokens == 1234


def test_each_write_keeps_a_copy_and_a_text_can_be_put_back(
    store: Any, ctx: Any, file: Path
) -> None:
    writing.use_file(store, "default", file)
    change(store, ctx, partial(change_settings, store, "default", {"budget.tokens": 8000}))
    (copy,) = ctx.paths.policy_copies.glob("*/*")
    assert copy.read_text() == TEXT
    now = file.read_bytes()
    writing.save_text(store, "default", (now, TEXT.encode()), paths=ctx.paths, at=2.0)
    assert load_catalog(store).settings.budget.tokens == 9000
    with pytest.raises(ToolcribError, match="changed meanwhile"):
        writing.save_text(store, "default", (now, b"version = 1\n"), paths=ctx.paths, at=3.0)
    with pytest.raises(ToolcribError, match="line 1"):
        writing.save_text(
            store, "default", (TEXT.encode(), b"version = 2\n"), paths=ctx.paths, at=3.0
        )


def test_export_writes_what_import_takes(store: Any, tmp_path: Path, file: Path) -> None:
    before = writing.import_file(store, "default", file)
    wanted = (load_catalog(store).settings, on(store))
    copy = writing.export_file(store, "default", tmp_path / "copy.toml")
    parse_policy(copy.read_bytes(), "copy")
    writing.put_back(store, "default", before)
    assert on(store) != wanted[1]
    writing.import_file(store, "default", copy)
    assert (load_catalog(store).settings, on(store)) == wanted
    assert file_of(store, "default") is None
    with pytest.raises(ToolcribError, match="exists already"):
        writing.export_file(store, "default", copy)


def test_using_and_leaving_a_file_is_taken_back(store: Any, tmp_path: Path, file: Path) -> None:
    fresh = on(store)
    step = writing.use_file(store, "default", file)
    assert on(store) != fresh
    writing.put_back(store, "default", step)
    assert on(store) == fresh and file_of(store, "default") is None
    made = tmp_path / "new.toml"
    writing.use_file(store, "default", made)
    assert made.read_text().endswith("version = 1\n") and on(store) == fresh
    left = writing.leave_file(store, "default")
    assert file_of(store, "default") is None and made.exists()
    writing.put_back(store, "default", left)
    assert file_of(store, "default") is not None


def test_a_file_that_cannot_be_used_is_not_taken(store: Any, file: Path) -> None:
    file.write_text("version = 1\n[tools]\nof = []\n")
    with pytest.raises(ToolcribError, match=r"policy\.toml, line 3: tools\.of is not a key"):
        writing.use_file(store, "default", file)
    assert file_of(store, "default") is None
    with pytest.raises(ToolcribError, match=r"has to end in|no policy file"):
        writing.use_file(store, "default", file.with_suffix(".json"))


def test_tools_that_come_later_follow_the_patterns(store: Any, file: Path) -> None:
    writing.use_file(store, "default", file)
    more = (*demo_store.DEMO[1].tools, demo_store.DemoTool("zones", 40, "All zones."))
    demo_store.fill(store, [replace(demo_store.DEMO[1], tools=more)])
    assert "time/zones" in on(store)
    follow(store, "default")
    assert "time/zones" not in on(store)


def test_the_verbs_export_use_and_leave(
    store: Any, ctx: Any, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    from app.cli.main import run

    assert load_catalog(store).settings.budget.tokens == 20_000
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    file = str(tmp_path / "policy.toml")
    assert run(["policy", "export", file]) == 0
    assert run(["policy", "export", file]) == 1
    assert run(["policy", "use", file]) == 0
    assert run(["profile", "off", "github/merge"]) == 0
    assert run(["profile", "set", "budget.tokens=5000"]) == 0
    assert tomllib.loads(Path(file).read_text()) == {
        "version": 1,
        "tools": {"off": ["github/merge"]},
        "budget": {"max_schema_tokens": 5000},
    }
    Path(file).write_text("version = 1\n[tools]\noff = ['time']\n")
    capsys.readouterr()
    assert run(["profile", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"] == {}
    assert "time/now" not in on(store) and "github/merge" in on(store)
    assert run(["policy", "leave"]) == 0
    assert run(["policy", "leave"]) == 1
    assert run(["policy", "import", file]) == 0


def test_the_newest_writes_of_a_file_are_taken_back_one_by_one_after_a_look(
    store: Any, ctx: Any, file: Path, monkeypatch: Any, capsys: Any
) -> None:
    from app.cli.main import run

    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    assert run(["policy", "undo"]) == 1
    writing.use_file(store, "default", file)
    assert run(["policy", "undo"]) == 1
    assert f"There is no write of {file} to undo." in capsys.readouterr().err
    change(store, ctx, partial(change_settings, store, "default", {"budget.tokens": 8000}))
    change(store, ctx, partial(change_settings, store, "default", {"budget.tokens": 7000}))
    assert run(["policy", "undo"]) == 4
    shown = capsys.readouterr().err
    assert "-max_schema_tokens = 7000" in shown and "+max_schema_tokens = 8000" in shown
    assert "Nothing was written." in shown and "7000" in file.read_text()
    assert run(["policy", "undo", "--yes"]) == 0
    assert file.read_text() == TEXT.replace("9000", "8000")
    assert run(["policy", "undo", "--yes"]) == 0
    assert file.read_text() == TEXT
    assert load_catalog(store).settings.budget.tokens == 9000
    assert run(["policy", "undo", "--yes"]) == 1
    kept = [path.read_text() for path in ctx.paths.policy_copies.rglob("*undone*")]
    assert sorted(kept) == [TEXT.replace("9000", "7000"), TEXT.replace("9000", "8000")]
