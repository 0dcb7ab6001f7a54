import math
import random
import struct
from collections.abc import Callable

import apsw
import pytest

from store import profiles, search, servers, tools, vectors
from store.connection import transaction
from store.records import Vector
from store.search import Scope

Add = Callable[..., int]
DIMS = 8


def unit(rng: random.Random) -> list[float]:
    numbers = [rng.gauss(0, 1) for _ in range(DIMS)]
    length = math.sqrt(sum(x * x for x in numbers))
    return [x / length for x in numbers]


def packed(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


@pytest.fixture
def filled(db: apsw.Connection, server: Add) -> dict[int, list[float]]:
    rng = random.Random(1)
    for name in ("one", "two", "three"):
        server(name, *(f"{name}_tool_{i}" for i in range(30)))
    texts = {t.id: unit(rng) for t in tools.tools(db)}
    with transaction(db):
        vectors.save(db, [Vector(i, "m", "summary", str(i), packed(v)) for i, v in texts.items()])
    return texts


def brute(texts: dict[int, list[float]], query: list[float], allowed: set[int]) -> list[int]:
    score = {i: sum(a * b for a, b in zip(texts[i], query, strict=True)) for i in allowed}
    return sorted(score, key=lambda i: (-round(score[i], 5), i))


def test_nearest_agrees_with_brute_force_under_every_scope(
    db: apsw.Connection, filled: dict[int, list[float]]
) -> None:
    rng = random.Random(2)
    every = tools.tools(db)
    off = {t.id for t in every if t.position % 3 == 0}
    held = {t.id for t in every if t.position % 7 == 0}
    two = servers.by_name(db, "two")
    assert two is not None
    with transaction(db):
        profiles.set_on(db, 1, off, False)
        profiles.set_held(db, 1, held, "new")
    of_two = {t.id for t in every if t.server == "two"}
    few = {t.id for t in every if t.position < 4}
    cases = [
        (None, set(filled)),
        (Scope(), set(filled)),
        (Scope(server_ids=frozenset({two.id})), of_two),
        (Scope(profile_id=1, only_on=True), set(filled) - off - held),
        (
            Scope(1, True, frozenset({two.id}), frozenset(few)),
            (of_two & few) - off - held,
        ),
    ]
    index = vectors.ensure_index(db, "m", DIMS)
    for scope, allowed in cases:
        for _ in range(5):
            query = unit(rng)
            hits = vectors.nearest(db, index, packed(query), k=10, scope=scope)
            assert [h.tool_id for h in hits] == brute(filled, query, allowed)[:10]


def test_untrusted_gone_and_changed_tools_are_out_of_scope(
    db: apsw.Connection, server: Add
) -> None:
    server("good", "a", "b")
    server("stranger", "c", trusted=False)
    a, b, _ = tools.tools(db)
    with transaction(db):
        db.execute("UPDATE tools SET hash = 'changed' WHERE id = ?", (b.id,))
    found = db.execute(Scope(profile_id=1, only_on=True).condition()).fetchall()
    assert found == [(a.id,)]


def test_the_index_follows_the_plain_rows(
    db: apsw.Connection, filled: dict[int, list[float]]
) -> None:
    index = vectors.ensure_index(db, "m", DIMS)
    first = min(filled)
    turned = [-x for x in filled[first]]
    with transaction(db):
        vectors.save(db, [Vector(first, "m", "summary", "new", packed(turned))])
    assert vectors.ensure_index(db, "m", DIMS) == index
    assert vectors.nearest(db, index, packed(turned), k=1)[0].tool_id == first
    assert vectors.hashes(db, "m")[first] == "new"
    assert vectors.load(db, "m")[first] == packed(turned)


def test_another_dimension_makes_another_index(db: apsw.Connection) -> None:
    assert vectors.index_name("m", "summary", 8) != vectors.index_name("m", "summary", 16)


def test_keywords_find_names_over_descriptions(db: apsw.Connection, server: Add) -> None:
    server("s", "a", "b", "c")
    a, b, c = tools.tools(db)
    rows = [
        (a.id, "create issue", "opens a ticket", "title body", "github", ""),
        (b.id, "list files", "can create listings", "path", "files", ""),
        (c.id, "weather", "tomorrow", "city", "weather", "will it rain"),
    ]
    with transaction(db):
        search.save_keywords(db, rows)
        search.save_keywords(db, rows)
    scores = search.keyword_scores(db, ["creating", "issues"])
    assert scores.keys() == {a.id, b.id}
    assert scores[a.id] > scores[b.id] > 0
    assert search.keyword_scores(db, ["raining"]).keys() == {c.id}
    assert search.keyword_scores(db, ["raining"], weights=(1, 1, 1, 1, 0)) == {c.id: 0.0}
    scope = Scope(tool_ids=frozenset({b.id}))
    assert search.keyword_scores(db, ["create"], scope=scope).keys() == {b.id}
    assert search.keyword_scores(db, []) == {}


@pytest.mark.parametrize("word", ['"', "NEAR(", "a OR", "*", "🦀", "-", "名前", "\u202e"])
def test_no_word_can_break_the_keyword_query(db: apsw.Connection, word: str) -> None:
    assert search.keyword_scores(db, [word]) == {}
