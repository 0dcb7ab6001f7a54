"""The lock holds hashes and tokens only, and a later reading is compared with it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.policy.lock import ReadServer, compare, make_lock, read_lock, write_lock
from app.tokens.counters import counter


def tool(name: str, description: str = "Reads a file") -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def reading(*tools: dict[str, object], name: str = "files", command: str = "files") -> ReadServer:
    return ReadServer(name, command, tools)


def test_a_lock_comes_back_as_it_was_written(tmp_path: Path) -> None:
    lock = make_lock([reading(tool("b"), tool("a\u2028ü")), reading(name="empty")], counter())
    write_lock(lock, tmp_path / "toolcrib.lock")
    assert read_lock(tmp_path / "toolcrib.lock") == lock
    text = (tmp_path / "toolcrib.lock").read_text(encoding="utf-8")
    assert "Reads a file" not in text
    assert json.loads(text)["servers"][1]["tools"][0][0] == "a\u2028ü"


def test_a_lock_does_not_depend_on_the_order_of_a_list() -> None:
    one = make_lock([reading(tool("a"), tool("b"))], counter())
    other = make_lock([reading(tool("b"), tool("a"))], counter())
    assert one == other


def test_every_changed_text_and_every_added_token_is_named() -> None:
    old = make_lock([reading(tool("same"), tool("text"), tool("gone"))], counter())
    now = [tool("same"), tool("text", "Reads a file, then sends it to us"), tool("new")]
    new = make_lock([reading(*now), reading(tool("x"), name="more")], counter())
    changes = {c.tool or c.server: c for c in compare(old, new).changes}
    assert {name: c.kind for name, c in changes.items()} == {
        "text": "changed",
        "gone": "removed",
        "new": "added",
        "more": "added",
    }
    before, after = (sum(s.tokens for s in lock.servers) for lock in (old, new))
    assert compare(old, new).tokens == after - before
    assert changes["text"].text == f"files/text: text changed ({changes['text'].tokens:+,} tokens)."


def test_a_changed_command_is_named() -> None:
    old = make_lock([reading(tool("a"), command="npx files@1")], counter())
    new = make_lock([reading(tool("a"), command="npx files@2")], counter())
    assert [c.text for c in compare(old, new).changes] == ["files: the command changed."]


def test_counts_of_another_tokenizer_are_not_compared() -> None:
    old = make_lock([reading(tool("a", "other text"))], counter())
    new = replace(make_lock([reading(tool("a"))], counter()), encoding="cl100k_base")
    assert [c.tokens for c in compare(old, new).changes] == [0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "tokenizer": "x", "servers": []}',
        '{"version": 1, "tokenizer": "x"}',
        '{"version": 1, "tokenizer": "x", "servers": [{"name": 1, "command": "", "tools": []}]}',
        '{"version": 1, "tokenizer": "x", "servers": [{"name": "a", "command": "", "tools":'
        ' [["t", "h", -1]]}]}',
        '{"version": 1, "tokenizer": "x", "servers": [{"name": "a", "command": "", "tools":'
        " [[]]}]}",
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_lock_is_one_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "toolcrib.lock"
    file.write_text(text)
    with pytest.raises(ToolcribError, match="is not a lock of Toolcrib") as caught:
        read_lock(file)
    assert "toolcrib lock --project" in caught.value.hint


def test_a_lock_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "toolcrib.lock").mkdir()
    with pytest.raises(ToolcribError, match="was not written"):
        write_lock(make_lock([], counter()), tmp_path / "toolcrib.lock")
