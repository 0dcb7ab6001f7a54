"""Counted nouns."""

import pytest

from app.core.text import plural


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools"), (1_500, "1,500 tools")]
)
def test_one_is_not_many(number, text):
    assert plural(number, "tool") == text
