"""Rows of the side-by-side diff."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.export.masking import masked_change
from ui.widgets.diff_rows import (
    ADDED,
    CHANGED,
    FOLD,
    REMOVED,
    SAME,
    change_count,
    diff_rows,
    pair_lines,
)


def rows_of(before: str, after: str, context: int = 3):
    return diff_rows(pair_lines(before, after), context=context)


def test_a_changed_line_marks_only_the_words_that_changed():
    (row,) = rows_of('  "command": "npx",', '  "command": "toolcrib-gateway",')
    assert row.kind == CHANGED
    assert [row.left[a : a + n] for a, n in row.left_words] == ["npx"]
    assert "".join(row.right[a : a + n] for a, n in row.right_words) == "toolcrib-gateway"


def test_lines_that_share_nothing_carry_no_word_marks():
    (row,) = rows_of("alpha beta gamma", "0123456789")
    assert (row.left_words, row.right_words) == ((), ())


def test_a_line_without_a_partner_is_added_or_removed():
    assert [row.kind for row in rows_of("a\nb\nc", "a\nc")] == [SAME, REMOVED, SAME]
    assert [row.kind for row in rows_of("a\nc", "a\nb\nc")] == [SAME, ADDED, SAME]


def test_a_long_unchanged_run_folds_and_keeps_its_context():
    before = "\n".join(f"line {n}" for n in range(20))
    rows = rows_of(before, before.replace("line 10\n", "other\n"), context=2)
    folds = [(n, row.hidden) for n, row in enumerate(rows) if row.kind == FOLD]
    assert [hidden for _, hidden in folds] == [8, 7]
    assert len(rows) == 22
    assert [row.left for row in rows[9:14]] == ["line 8", "line 9", "line 10", "line 11", "line 12"]


def test_a_fold_of_one_or_two_lines_is_not_worth_a_row():
    before = "a\n" + "x\n" * 8 + "b"
    rows = rows_of(before, "A\n" + "x\n" * 8 + "B", context=3)
    assert FOLD not in [row.kind for row in rows]


def test_blocks_of_changes_are_counted_not_lines():
    assert change_count(rows_of("a\nb\nc\nd", "A\nB\nc\nD")) == 2


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")), st.integers(0, 3))
def test_both_sides_come_back_whole(left, right, context):
    rows = diff_rows(pair_lines("\n".join(left), "\n".join(right)), context=context)
    assert [row.left for row in rows if row.left is not None] == left
    assert [row.right for row in rows if row.right is not None] == right


def test_a_line_where_only_a_secret_changed_looks_changed():
    before = b'{"a": {"env": {\n"TOKEN": "one-111"\n}}}'
    after = before.replace(b"one-111", b"two-222")
    found = masked_change(Path("mcp.json"), before, after, "json")
    rows = diff_rows(found.pairs, hidden=found.hidden)
    assert [row.kind for row in rows] == [SAME, CHANGED, SAME]
    assert rows[1].left == rows[1].right == '"TOKEN": "••••"'
    assert rows[1].left_words == rows[1].right_words == ((10, 4),)
    assert "111" not in str(rows) and "222" not in str(rows)


def test_brackets_do_not_tie_the_lines_of_two_servers():
    b = '"b": {\n  "args": [\n    "two"\n  ]\n}'
    before = '"a": {\n  "args": [\n    "one"\n  ],\n  "env": {}\n},\n' + b
    after = '"toolcrib": {\n  "args": [\n    "--profile"\n  ]\n},\n' + b
    same = [row.left for row in rows_of(before, after, context=50) if row.kind == SAME]
    at = same.index('"b": {')
    assert same[at:] == ['"b": {', '  "args": [', '    "two"', "  ]", "}"]  # b stands beside b
