"""What requests teach: what several tools share says little, what tells them apart says much."""

from pathlib import Path

import numpy as np
import pytest

from app.catalog.catalog import load_catalog
from app.indexing import requests as editing
from app.ranking.learning import teaching
from app.ranking.learning.base import BaseScores
from app.ranking.learning.past_use import UnreadableError
from app.ranking.learning.taught import GUARD, Lesson, Taught, teach
from app.ranking.ranked import REQUESTS
from app.ranking.requests import texts_mark
from app.ranking.router import Router
from store import queries, requests, serving, tools, vectors
from store.connection import transaction
from tests.fakes.routing_fakes import ANIMALS, WordEncoder, embed_requests, filled

LISTED = [("zoo", f"care_{animal}", "keeps an animal of the zoo") for animal in ANIMALS]
# what every keeper is asked, and what one alone is asked
COMMON = ("please look after it soon", "is all fine today", "give it something nice", "where is it")


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder(dims=256)


@pytest.fixture
def store(tmp_path: Path, encoder: WordEncoder):
    db, _catalog = filled(tmp_path / "t.db", LISTED, encoder)
    yield db
    db.close()


def write_requests(db, encoder: WordEncoder, animals=ANIMALS) -> None:
    for tool in tools.tools(db):
        animal = tool.name.partition("_")[2]
        if animal in animals:
            texts = [f"{text} near cage {animal}house" for text in COMMON]
            editing.add(db, tool, texts, editing.MODEL)
    embed_requests(db, encoder)


def is_stale(db, encoder) -> bool:
    return teaching.is_stale(db, texts_mark(db, encoder.key))


def route(db, encoder, query, **options):
    return Router.from_store(db, load_catalog(db), None, encoder).route(query, **options)


def asked(animal: str) -> str:
    return f"something nice and fine please today, look after everything soon: {animal}house"


def margin(db, encoder, animal: str) -> float:
    scores = {tool.name: tool.score for tool in route(db, encoder, asked(animal)).tools}
    own = scores.pop(f"care_{animal}")
    return own - max(scores.values())


def test_what_tells_tools_apart_counts_more_once_requests_were_compared(store, encoder):
    write_requests(store, encoder)
    before = [margin(store, encoder, animal) for animal in ANIMALS]
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    after = [margin(store, encoder, animal) for animal in ANIMALS]
    assert np.mean(after) > 1.2 * np.mean(before) and min(after) > 0
    best = route(store, encoder, asked("lynx")).tools[0]
    assert best.name == "care_lynx" and REQUESTS in dict(best.parts)
    assert sum(part for _, part in best.parts) == pytest.approx(best.score)


def test_both_searches_rank_alike(store, encoder):
    write_requests(store, encoder)
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    whole = [tool.name for tool in route(store, encoder, asked("otter")).tools]
    assert [tool.name for tool in route(store, encoder, asked("otter"), limit=5).tools] == whole[:5]


def test_labels_are_learned_on_top_of_it(store, encoder):
    write_requests(store, encoder)
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    stored = vectors.load(store, encoder.key)
    keys = list(stored)
    base = BaseScores(
        store,
        encoder,
        tools=np.frombuffer(b"".join(stored.values()), dtype="<f4").reshape(len(keys), -1),
        keys=keys,
        requests=requests.vectors(store, encoder.key),
        taught=teaching.load(store, encoder.key),
    )
    scores = base.of("look after lynxhouse").scores()
    ranked = route(store, encoder, "look after lynxhouse").tools
    moved = np.clip(scores - scores.max() + ranked[0].score, 0.0, None)  # the best stays as good
    expected = dict(zip(keys, moved.tolist(), strict=True))
    assert {tool.id: tool.score for tool in ranked} == pytest.approx(expected, abs=1e-5)


def test_few_requests_teach_nothing(store, encoder):
    write_requests(store, encoder, ANIMALS[:3])
    assert is_stale(store, encoder)
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    assert teaching.load(store, encoder.key) is None
    assert not is_stale(store, encoder)  # and it is not tried again


def test_it_is_stopped_between_two_steps_and_what_was_taught_stays(store, encoder):
    write_requests(store, encoder)
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    kept = queries.blob(store, teaching.BLOB)
    with transaction(store):
        store.execute("UPDATE requests SET live = 0 WHERE id = 1")
    assert is_stale(store, encoder)
    steps = iter([True, True, False])
    assert not teaching.teach_requests(store, encoder, lambda: 2.0, lambda: next(steps))
    assert queries.blob(store, teaching.BLOB) == kept


def test_a_living_gateway_sees_that_it_was_taught(store, encoder):
    write_requests(store, encoder)
    profile = load_catalog(store).profile.id
    before = serving.state(store, profile)
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    assert serving.state(store, profile) != before


@pytest.mark.parametrize("data", [b"", b"nonsense", b"PK\x03\x04damaged"])
def test_what_cannot_be_read_teaches_nothing(store, encoder, data):
    write_requests(store, encoder)
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    mark = queries.blob_fingerprint(store, teaching.BLOB)
    with transaction(store):
        queries.save_blob(store, teaching.BLOB, fingerprint=mark or "", data=data, at=1.0)
    assert teaching.load(store, encoder.key) is None
    assert route(store, encoder, "look after lynxhouse").tools[0].name == "care_lynx"


def test_rows_of_other_tools_are_not_read():
    rows = np.zeros((2, 4), dtype=np.float32)
    damaged = Taught((1, 2, 3), rows, np.array([True, True]))
    with pytest.raises(UnreadableError):
        Taught.from_bytes(damaged.to_bytes())


def test_another_encoders_is_not_used(store, encoder):
    write_requests(store, encoder)
    assert teaching.teach_requests(store, encoder, lambda: 1.0)
    assert teaching.load(store, "another@encoder") is None


def test_tools_without_requests_get_a_share_of_the_most_favoured_ones_gain():
    rows = np.array([[2.0, 0.0], [-1.0, 0.0], [0.5, 0.0]], dtype=np.float32)
    taught = Taught((7, 8, 9), rows, np.array([True, True, False]))
    gains = Taught.from_bytes(taught.to_bytes()).gains(np.array([1, 0], "<f4").tobytes())
    assert gains == pytest.approx({7: 2.0, 8: -1.0, 9: 0.5 + 2 * GUARD})


def test_a_tool_without_requests_is_no_wrong_answer_to_learn_from():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((30, 8)).astype(np.float32)
    owners = np.arange(30) % 4
    tools_ = rng.standard_normal((5, 8)).astype(np.float32)
    scores = rng.random((30, 5)).astype(np.float32)
    taught = teach(Lesson(rows, owners, scores, tools_))
    scores[:, 4] = 9.0  # the one without: however high it stands
    again = teach(Lesson(rows, owners, scores, tools_))
    assert taught is not None and again is not None and np.array_equal(taught, again)
