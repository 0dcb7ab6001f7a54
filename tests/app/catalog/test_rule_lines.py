"""Preconditions and scopes as lines."""

import pytest

from app.catalog.rule_lines import from_lines, to_entries, to_lines
from app.core.errors import ToolcribError

RULES = {"github/merge_*": ["after(github/get_{a,b})", "milestone(reviewed)"], "x": ["user:ann"]}


def test_rules_are_a_line_each_and_come_back():
    text = to_lines(RULES)
    lines = text.splitlines()
    assert lines[0] == "github/merge_*: after(github/get_{a,b}), milestone(reviewed)"
    assert from_lines(text) == RULES
    assert from_lines(f"\n {text} \n\n") == RULES
    assert (to_lines({}), from_lines("  \n")) == ("", {})


def test_commas_in_brackets_divide_nothing_and_each_counts_once():
    assert to_entries("after(a, b), x,, x ") == ["after(a, b)", "x"]


def test_two_lines_of_one_pattern_are_one_rule():
    assert from_lines("a: x\na: y, x") == {"a": ["x", "y"]}


@pytest.mark.parametrize("line", ["after(x)", "a:", ": x", "a: ,"])
def test_other_lines_are_refused_by_what_they_say(line):
    with pytest.raises(ToolcribError, match="is not understood") as caught:
        from_lines(f"fine: x\n{line}")
    assert line in caught.value.title


@pytest.mark.parametrize("rules", [None, [], "text", 3])
def test_what_is_no_table_has_no_lines(rules):
    assert to_lines(rules) == ""


def test_a_value_that_is_no_list_is_shown_as_it_stands():
    assert to_lines({"a": "after(x)"}) == "a: after(x)"
