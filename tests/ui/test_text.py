"""How numbers and times are written."""

import pytest

from app.core.text import plural
from ui.look.text import ago, count, short, tokens, visible


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (23_800, "23.8k"),
        (356_222, "356k"),
        (2_400_000, "2.4M"),
    ],
)
def test_short_numbers(number: int, said: str):
    assert short(number) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-3, "just now"), (0.2, "just now"), (59, "59 s ago"), (7300, "2 h ago"), (90_000, "1 d ago")],
)
def test_times_ago(seconds: float, said: str):
    assert ago(seconds) == said


def test_counts_and_plurals():
    assert count(23_800) == "23,800"
    assert tokens(1412) == "1,412 tokens ≈"
    assert plural(1, "tool") == "1 tool"
    assert plural(1200, "tool") == "1,200 tools"


def test_invisible_characters_are_written_out():
    assert visible("a\u200bb\nc\u202e") == "a⟨U+200B⟩b\nc⟨U+202E⟩"
