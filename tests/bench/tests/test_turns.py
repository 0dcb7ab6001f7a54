"""Tokens and turns to the right tool's call, over real gateways and the real hook command."""

from dataclasses import replace

import pytest

from app.encoder.onnx import Encoder
from app.tokens.counters import counter
from tests.bench import suggest
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Gold
from tests.bench.data.sets import Labelled, QuerySet
from tests.bench.hooks import turns


@pytest.fixture(autouse=True)
def patient_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine under load may take longer than the 100 ms that a hook has."""
    monkeypatch.setenv("TOOLCRIB_HOOK_SECONDS", "20")


def test_a_hook_reaches_the_call_in_fewer_turns_than_a_search(
    small_set: QuerySet, encoder: Encoder
) -> None:
    cached = CachedEncoder(encoder, None)
    nothing = Labelled("thanks!", Gold(("bank/transfer",), {}, {}))
    given = replace(small_set, queries=(*small_set.queries, nothing))
    made = turns.measured(given, given.queries, cached, counter("o200k_base"), cached.models)
    listed, searched, hooked = (made[way] for way in (turns.ALL, turns.SEARCH, turns.HOOK))
    assert all(len(trip.turns) == 1 and trip.reached for trip in listed)
    assert all(2 <= len(trip.turns) <= 3 for trip in searched)
    assert sum(trip.reached for trip in searched) >= len(small_set.queries) - 1
    assert sum(len(trip.turns) == 1 and trip.reached for trip in hooked) >= 3
    for trip in (*searched, *hooked):
        assert trip.turns == sorted(trip.turns), "what was said stays in the request"
        assert trip.turns[0] > trip.tools and trip.ms > 0
        assert 0 < trip.cached_dollars < trip.dollars
    rows = {row[0]: row for row in turns.rows(made)}
    places = [column.name for column in turns.as_table("", []).columns]
    saved = places.index("turns saved beside search")
    assert rows[turns.SEARCH][saved] == 0
    assert float(str(rows[turns.HOOK][saved])) > 0


@pytest.mark.parametrize(
    ("text", "named", "arguments"),
    [
        ("- a/b(x: string): “About”", True, True),
        ("a/b: About it,\nin two lines.\narguments: {}", True, True),
        ("c/d: About.\narguments: {}\nAlso:\n- a/b: About", True, False),
        ("No tool fits. Nearest: c/d, a/b.", True, False),
        ("- a/bc(x: string)\n- xa/b(y: string)", False, False),
    ],
)
def test_a_tool_counts_once_its_arguments_are_there(
    text: str, named: bool, arguments: bool
) -> None:
    assert turns.is_named(text, "a/b") is named
    assert turns.has_arguments(text, "a/b") is arguments


def test_the_report_has_the_papers_form(
    small_set: QuerySet, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PROMPTS", 2)
    report = suggest.run([small_set], encoder).as_json()
    _, testbed, mean, each = report["tables"]
    assert testbed["title"] == "Testbed of 120 tools, as the paper's Table 3, measured"
    assert [row["method"] for row in testbed["rows"]] == [turns.ALL, turns.SEARCH, turns.HOOK]
    assert [row["prompts"] for row in mean["rows"]] == [2, 2, 2]
    assert {row["set"] for row in each["rows"]} == {small_set.name}
    assert any("o200k_base" in note and "seed 42" in note for note in report["notes"])
