"""Our own wordings: the same ones every time, varied, in ten languages, grouped by idea."""

import re
from collections import Counter

from tests.bench.scanner.wordings import LANGUAGES, LATER, WRITERS, wordings


def test_there_are_orders_and_honest_sentences_in_each_of_ten_languages() -> None:
    counts = Counter((w.language, w.is_order) for w in wordings())
    assert len(LANGUAGES) == 10
    assert all(counts[language, kind] >= 150 for language in LANGUAGES for kind in (True, False))
    assert all(counts[language, kind] >= 5 for language in LATER for kind in (True, False))
    assert sum(w.is_order for w in wordings()) >= 3_000
    assert sum(not w.is_order for w in wordings()) >= 3_000


def test_no_choice_and_no_place_is_left_in_a_sentence() -> None:
    unfilled = re.compile(r"\{[A-Z]+\}|\[[^\]]*\|[^\]]*\]|\\\|")  # a brace may be JSON's own
    assert [w.text for w in wordings() if unfilled.search(w.text)] == []


def test_the_same_sentences_are_written_out_every_time() -> None:
    first = wordings()
    wordings.cache_clear()
    assert wordings() == first


def test_an_idea_is_one_group_in_every_language_but_english() -> None:
    by_group: dict[str, set[str]] = {}
    for wording in wordings():
        by_group.setdefault(wording.group, set()).add(wording.language)
    assert by_group["orders en 1"] == {"en"}
    for idea in ("orders 1", "honest 1", "orders 1.1", "honest 1.1"):
        assert by_group[idea] == set(LANGUAGES) - {"en"}


def test_what_a_later_writer_wrote_can_be_left_out() -> None:
    english = [w for w in wordings() if w.language == "en"]
    for writer in WRITERS[1:4]:
        own = [w for w in english if w.writer == writer]
        assert sum(w.is_order for w in own) >= 500
        assert sum(not w.is_order for w in own) >= 400
        others = {w.group for w in english if w.writer != writer}
        assert others.isdisjoint(w.group for w in own)
