"""Evidence: everything that a decision needs is there, nothing hidden, and never too much."""

import json
import time

import pytest
from review_kit import change, item_of

from store import tools
from store.connection import transaction
from store.hashes import tool_hash
from store.records import NewTool
from ui.models.diff_rows import ADDED, REMOVED, SAME
from ui.models.evidence import (
    FOUND,
    HEAD,
    NOT_KEPT,
    NOTE,
    TOO_LONG,
    EvidenceLine,
    evidence,
    shown,
)


def lines_of(item):
    found = evidence(item)
    assert found.whole
    return found.lines


def test_evidence_marks_added_words_and_hidden_characters(services, fill):
    fill()
    change(services, "time/now", "The\u200b time, at once.")
    lines = lines_of(item_of(services, "time/now"))
    assert EvidenceLine(HEAD, "Found") in lines
    (found,) = [line for line in lines if line.kind == FOUND]
    assert "U+200B" in found.text
    (before,) = [line for line in lines if line.kind == REMOVED]
    (after,) = [line for line in lines if line.kind == ADDED]
    assert before.text == "The time."
    assert after.text == "The⟨U+200B⟩ time, at once."
    assert (3, 8) in after.marks
    marked = " ".join(after.text[start : start + length] for start, length in after.marks)
    assert "at once" in marked.replace(" ", " ")


def test_without_the_earlier_text_the_whole_one_is_shown(services, fill):
    fill()
    tool = change(services, "time/now", "Something else.")
    db = services.ctx.open_store()
    db.execute("UPDATE tools SET trusted_raw = '' WHERE id = ?", (tool.id,))
    db.close()
    lines = lines_of(item_of(services, "time/now"))
    assert EvidenceLine(NOTE, NOT_KEPT) in lines
    assert EvidenceLine(SAME, "Something else.") in lines
    assert any('"query"' in line.text for line in lines)


def test_a_text_too_long_to_compare_is_shown_whole(services, fill):
    fill()
    change(services, "time/now", "word " * 10_000)
    lines = lines_of(item_of(services, "time/now"))
    (after,) = [line for line in lines if line.kind == ADDED]
    assert len(after.text) == 50_000
    assert after.marks == ()


@pytest.mark.parametrize(
    "text",
    [
        "a\n" * 4900,
        "a " * 40_000,
        "\u200b" * 50_000,
        "\n".join(f"line {n}" for n in range(3_000)),
    ],
)
def test_a_text_made_to_stop_the_window_does_not(services, fill, text):
    fill()
    change(services, "time/now", "a\nb\n" * 200)
    db = services.ctx.open_store()
    tool = next(t for t in tools.tools(db) if t.tool_id == "time/now")
    db.close()
    change(services, "time/now", text)
    item = item_of(services, "time/now")
    began = time.process_time()
    found = evidence(item)
    assert time.process_time() - began < 5
    assert tool.hash != item.row.tool.hash
    assert len(found.lines) <= 1_501
    assert found.whole == (found.lines[-1].text != TOO_LONG)


def test_blanks_that_are_none_are_spelled_out():
    assert shown("a\u3164b\ufe0fc\U000e0101") == "a⟨U+3164⟩b⟨U+FE0F⟩c⟨U+E0101⟩"
    assert shown("\u26a0\ufe0f careful") == "\u26a0\ufe0f careful"


def test_only_what_changed_in_a_schema_is_shown(services, fill):
    fill()
    db = services.ctx.open_store()
    old = next(t for t in tools.tools(db) if t.tool_id == "time/now")
    raw = json.loads(json.dumps(old.raw))
    raw["inputSchema"]["properties"]["zone"] = {"type": "string"}
    with transaction(db):
        rest = [t for t in tools.tools(db, old.server_id) if t.id != old.id]
        kept = [NewTool(t.name, t.raw, t.hash) for t in rest]
        tools.save_list(db, old.server_id, [*kept, NewTool("now", raw, tool_hash(raw))], 2.0)
    db.close()
    lines = lines_of(item_of(services, "time/now"))
    assert [line.text for line in lines if line.kind == HEAD] == ["Input schema"]
    assert any(line.kind == ADDED and '"zone"' in line.text for line in lines)
    assert any(line.kind == NOTE and "unchanged" in line.text for line in lines)
