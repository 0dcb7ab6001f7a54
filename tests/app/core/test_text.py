"""Counted nouns."""

import pytest

from app.core.text import plural


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools"), (1_500, "1,500 tools")]
)
def test_one_is_not_many(number, text):
    assert plural(number, "tool") == text


def test_a_word_that_ends_in_y_has_its_own_plural() -> None:
    assert [plural(n, "query") for n in (1, 2, 1_000)] == ["1 query", "2 queries", "1,000 queries"]
    assert plural(2, "key") == "2 keys"
