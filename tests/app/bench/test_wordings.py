"""Our own wordings: the same ones every time, varied, in ten languages, grouped by idea."""

from collections import Counter

from app.bench.scanner.wordings import LANGUAGES, wordings


def test_there_are_orders_and_honest_sentences_in_each_of_ten_languages() -> None:
    counts = Counter((w.language, w.is_order) for w in wordings())
    assert len(LANGUAGES) == 10
    assert all(counts[language, kind] >= 150 for language in LANGUAGES for kind in (True, False))
    assert sum(w.is_order for w in wordings()) >= 3_000
    assert sum(not w.is_order for w in wordings()) >= 3_000


def test_no_choice_and_no_place_is_left_in_a_sentence() -> None:
    left = [w.text for w in wordings() if "{" in w.text or "\\|" in w.text]
    assert left == []


def test_the_same_sentences_are_written_out_every_time() -> None:
    first = wordings()
    wordings.cache_clear()
    assert wordings() == first


def test_an_idea_is_one_group_in_every_language_but_english() -> None:
    by_group: dict[str, set[str]] = {}
    for wording in wordings():
        by_group.setdefault(wording.group, set()).add(wording.language)
    assert by_group["orders en 1"] == {"en"}
    assert by_group["orders 1"] == set(LANGUAGES) - {"en"}
    assert by_group["honest 1"] == set(LANGUAGES) - {"en"}
