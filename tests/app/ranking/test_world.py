"""The floor by the world: what is near to other people's requests must be nearer to the tools."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from weakref import WeakValueDictionary

import numpy as np
import pytest

from app.core.settings import RoutingSettings
from app.hooks.suggestion import suggest
from app.indexing import requests as editing
from app.indexing.indexer import Indexer
from app.ranking import floor as floors
from app.ranking import world
from app.ranking.dense import MatrixRetriever
from app.ranking.floor import (
    BLOB,
    BY_WORLD,
    LEAST_REQUESTS,
    NONE,
    REFUSED_REQUESTS,
    SHARE,
    WORD_BY_WORD,
    calibrated_floor,
    floor_is_stale,
    lacks_world,
    load_floor,
    own_chit_chat,
    set_scan_floor,
)
from app.ranking.learning.cases import make_case
from app.ranking.requests import pack_key, read_pack, texts_mark, tool_text_hash
from app.ranking.router import Router
from app.ranking.text import content_words
from app.ranking.world import BATCH, EVERY, NEAREST, World, WorldRequest
from store import queries, requests, tools
from store.connection import transaction
from tests.bench.data.queries import own_queries
from tests.fakes.routing_fakes import ANIMALS, embed_requests, fill, filled

LISTED = [("zoo", f"feed_{animal}", f"gives the {animal} its food") for animal in ANIMALS]
DISHES = ["pizza", "curry", "sushi", "lasagna", "ramen", "burrito", "dumplings", "paella"]
WORLD = tuple(
    WorldRequest(f"{verb} {dish} tonight")
    for verb, dish in product(("order", "deliver", "reserve"), DISHES)
)


@dataclass
class AxisEncoder:
    """Every word its own direction, so that cosines can be told from the words in common."""

    key: str = "axes@1"
    dims: int = 400
    axes: dict[str, int] = field(default_factory=dict)
    encoded: list[str] = field(default_factory=list)

    def encode(self, texts, *, query=False):
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    def encode_bytes(self, text, *, query=False):
        return self._vector(text).tobytes()

    def encode_query(self, text):
        return self.encode_bytes(text), self.encode_bytes(text)

    def has_word(self, word):
        return False

    def _vector(self, text):
        self.encoded.append(text)
        row = np.full(self.dims, 1e-4, dtype=np.float32)
        for word in content_words(text) or [text]:
            row[self.axes.setdefault(word, len(self.axes))] += 1
        return row / np.linalg.norm(row)

    def of_the_world(self) -> int:
        """How many texts of the world were encoded since the last look."""
        texts = {request.text for request in world.world_requests()}
        count = sum(text in texts for text in self.encoded)
        self.encoded.clear()
        return count


@pytest.fixture(autouse=True)
def small_world(monkeypatch: pytest.MonkeyPatch) -> Callable:
    def be(requests_: tuple[WorldRequest, ...]) -> None:
        monkeypatch.setattr(world, "world_requests", lambda: requests_)

    be(WORLD)
    monkeypatch.setattr(world, "_loaded", WeakValueDictionary())  # axes differ by test
    return be


@pytest.fixture
def encoder() -> AxisEncoder:
    return AxisEncoder()


@pytest.fixture
def store(tmp_path: Path, encoder: AxisEncoder):
    db, catalog = filled(tmp_path / "w.db", LISTED, encoder)
    yield db, catalog
    db.close()


def give_requests(db, encoder: AxisEncoder, each: int = 3, *, worldly: int = 0) -> None:
    """Requests that have two of four words in common with each other: a sparse region.

    Those of the first tools, `worldly` of them, are nearer to the world than to other requests.
    """
    for place, tool in enumerate(tools.tools(db)):
        animal = tool.name.partition("_")[2]
        texts = [f"the {animal} wants {animal}snack{n} {animal}water{n}" for n in range(each)]
        if place < worldly:
            texts = [f"order {dish} tonight {animal}" for dish in DISHES[place : place + each]]
        editing.add(db, tool, texts, editing.MODEL)
    embed_requests(db, encoder)


def plain_floor(db, encoder: AxisEncoder) -> float:
    return load_floor(db, encoder.key, encoder.dims).plain


def is_stale(db, encoder: AxisEncoder) -> bool:
    return floor_is_stale(db, encoder.key, texts_mark(db, encoder.key))


def scan(db, encoder: AxisEncoder) -> None:
    with transaction(db):
        set_scan_floor(db, encoder, lambda: 0.0)


def blobs(db) -> dict[str, tuple[str, bytes] | None]:
    return {name: queries.blob(db, name) for name in (BLOB, BY_WORLD, world.BLOB)}


def likeness(encoder: AxisEncoder, vector: bytes, of=WORLD) -> float:
    row = np.frombuffer(vector, "<f4")
    cosines = sorted(float(row @ other) for other in encoder.encode([w.text for w in of]))
    return math.fsum(cosines[-NEAREST:]) / NEAREST


def test_the_number_is_what_two_in_a_hundred_requests_stay_under_less_the_worlds_share(
    store, encoder, monkeypatch
):
    db, _catalog = store
    talk = ("zoo feed opening hours map", "hello there", "zoo feed entrance stairs lamp")
    monkeypatch.setattr(floors, "own_chit_chat", lambda: talk)
    give_requests(db, encoder, worldly=4)
    scan(db, encoder)
    matrix = MatrixRetriever.from_store(db, encoder.key)
    stored = [data for _, data in requests.vectors(db, encoder.key)]
    less = [
        best - SHARE * likeness(encoder, data)
        for best, data in zip(matrix.held_out(), stored, strict=True)
    ]
    chat = matrix.all([encoder.encode_bytes(text) for text in talk])
    least = calibrated_floor([max(row.values()) for row in chat])
    floor = load_floor(db, encoder.key, encoder.dims)
    assert floor.number == pytest.approx(np.quantile(less, REFUSED_REQUESTS), abs=1e-3)
    assert floor.least == pytest.approx(least)
    assert floor.number < np.quantile(matrix.held_out(), REFUSED_REQUESTS) - 0.1
    query = "order a pizza for the seal"
    vector = encoder.encode_bytes(query)
    expected = floor.number + SHARE * likeness(encoder, vector)
    assert floor.of(query, vector) == pytest.approx(expected, abs=1e-3)
    translated = floor.of("andere Sprache", vector, translated=True)
    assert translated == pytest.approx(expected - WORD_BY_WORD, abs=1e-3)
    assert expected > least > floor.number
    far = "polish marble staircase"
    assert floor.of(far, encoder.encode_bytes(far)) == floor.least


def test_of_two_queries_as_near_to_a_tool_the_one_near_to_the_world_is_refused(store, encoder):
    db, catalog = store
    give_requests(db, encoder)
    scan(db, encoder)
    router = Router.from_store(db, catalog, None, encoder)
    near, far = "pizza tonight seal wants sealsnack1", "marble staircase seal wants sealsnack1"
    for limit in (None, 10):
        refused, kept = (router.route(query, limit=limit) for query in (near, far))
        assert refused.tools[0].iso == pytest.approx(kept.tools[0].iso, abs=1e-3)
        assert not refused.shown and not refused.likely
        assert kept.likely and kept.shown[0].tool_id == "zoo/feed_seal"
        assert kept.floor < kept.tools[0].iso < refused.floor
    plain = Router.from_store(db, catalog, RoutingSettings(floor=kept.floor), encoder)
    assert plain.route(near).shown  # the user's own number is a plain cosine


def test_every_surface_has_the_floor_of_the_query(store, encoder):
    db, catalog = store
    give_requests(db, encoder)
    scan(db, encoder)
    rows = {row.tool.id: row for row in catalog.tools}
    router = Router.from_store(db, catalog, None, encoder)
    different = set()
    for query in ("pizza tonight seal wants", "reserve sushi for the otter"):
        ranked = router.route(query, limit=10)
        different.add(round(ranked.floor, 3))
        assert ranked.cut.setting == "floor"
        assert ranked.cut.needed == ranked.floor == ranked.tools[0].verdict.needed
        assert make_case(router, query, set()).floor == ranked.floor
        assert suggest(ranked, small_talk=-1.0, tool=rows.get).floor == ranked.floor
        scored = router.score(query)
        own = router.judge(scored, settings=RoutingSettings(floor=0.2))
        assert own.floor == 0.2 and own.shown
        assert router.judge(scored).floor == pytest.approx(ranked.floor, abs=1e-6)
    assert len(different) == 2


def test_other_languages_keep_the_plain_floor_and_are_not_refused(store, encoder):
    db, catalog = store
    give_requests(db, encoder)
    scan(db, encoder)
    query = "я хочу поїхати додому"
    ranked = Router.from_store(db, catalog, None, encoder).route(query)
    assert ranked.floor == plain_floor(db, encoder)
    assert ranked.shown and not ranked.likely
    case = make_case(Router.from_store(db, catalog, None, encoder), query, set())
    assert case.floor == NONE


def test_few_requests_leave_the_floor_of_chit_chat_and_no_world_is_encoded(store, encoder):
    db, catalog = store
    give_requests(db, encoder, LEAST_REQUESTS // len(LISTED) - 1)
    encoder.encoded.clear()
    scan(db, encoder)
    assert encoder.of_the_world() == 0
    assert blobs(db)[BY_WORLD] is None and blobs(db)[world.BLOB] is None
    router = Router.from_store(db, catalog, None, encoder)
    for query in ("order pizza tonight seal", "polish marble staircase seal"):
        assert router.route(query).floor == plain_floor(db, encoder) > 0
    give_requests(db, encoder)
    scan(db, encoder)
    assert blobs(db)[BY_WORLD] is not None
    with transaction(db):
        for tool in tools.tools(db):
            requests.replace(db, tool.id, [])
    scan(db, encoder)
    assert blobs(db)[BY_WORLD] is None  # and none is left when requests go


@pytest.mark.parametrize("lacking", [BY_WORLD, world.BLOB, "an earlier build scanned since"])
def test_a_store_without_the_worlds_vectors_has_the_plain_floor(store, encoder, lacking):
    db, catalog = store
    give_requests(db, encoder)
    scan(db, encoder)
    with transaction(db):
        if lacking in blobs(db):
            queries.delete_blob(db, lacking)
        else:
            queries.save_blob(db, BLOB, fingerprint=f"{encoder.key}:x", data=b"0.25", at=1.0)
    ranked = Router.from_store(db, catalog, None, encoder).route("order pizza tonight seal")
    assert ranked.floor == plain_floor(db, encoder) > 0
    assert load_floor(db, "another@1", 7).of("order pizza", b"") == 0.0


def test_the_world_is_encoded_again_when_it_or_the_model_changes_and_not_otherwise(
    store, encoder, small_world
):
    db, _catalog = store
    give_requests(db, encoder)
    encoder.encoded.clear()
    scan(db, encoder)
    assert encoder.of_the_world() == len(WORLD) > NEAREST
    first = blobs(db)[world.BLOB]
    assert first is not None and len(first[1]) == 2 * len(WORLD) * encoder.dims
    assert not is_stale(db, encoder)
    scan(db, encoder)
    fill(db, [("inn", "cook", "prepares meals")], encoder)
    encoder.encoded.clear()
    assert is_stale(db, encoder)
    scan(db, encoder)
    assert encoder.of_the_world() == 0 and blobs(db)[world.BLOB] == first
    small_world((*WORLD, WorldRequest("book a window table")))
    assert is_stale(db, encoder)
    scan(db, encoder)
    assert encoder.of_the_world() == len(WORLD) + 1
    second = blobs(db)[world.BLOB]
    other = AxisEncoder(key="axes@2", dims=500)
    assert is_stale(db, other)
    fill(db, LISTED, other)
    give_requests(db, other)
    other.encoded.clear()
    scan(db, other)
    assert other.of_the_world() == len(WORLD) + 1
    assert first != second != blobs(db)[world.BLOB] != first


def test_the_catalogues_own_part_of_the_pack_is_no_world(store, encoder, small_world):
    db, catalog = store
    seal = next(tool for tool in tools.tools(db) if tool.name == "feed_seal")
    packed = [
        WorldRequest(f"the seal wants {word}", pack_key(tool_text_hash(seal)))
        for word in ("breakfast", "food", "dinner", "lunch", "fish")
    ]
    small_world((*WORLD[:7], *packed, *WORLD[7:]))
    give_requests(db, encoder)
    scan(db, encoder)
    kept = json.loads(blobs(db)[BY_WORLD][1])
    assert kept["without"] == [7, 8, 9, 10, 11]
    less = [
        best - SHARE * likeness(encoder, data)
        for best, (_, data) in zip(
            MatrixRetriever.from_store(db, encoder.key).held_out(),
            requests.vectors(db, encoder.key),
            strict=True,
        )
    ]
    assert kept["number"] == pytest.approx(np.quantile(less, REFUSED_REQUESTS), abs=1e-3)
    query = "the seal wants herring"
    ranked = Router.from_store(db, catalog, None, encoder).route(query)
    vector = encoder.encode_bytes(query)
    expected = max(kept["least"], kept["number"] + SHARE * likeness(encoder, vector))
    assert ranked.floor == pytest.approx(expected, abs=1e-3)
    with transaction(db):
        tools.save_list(db, seal.server_id, [], at=2.0)
    assert world.own_places(db) == []


def test_tools_that_are_gone_are_no_part_of_the_catalogue(store, encoder, small_world):
    db, _catalog = store
    fill(db, [("inn", f"cook_{dish}", f"prepares {dish}") for dish in DISHES], encoder)
    give_requests(db, encoder)
    inn = next(tool.server_id for tool in tools.tools(db) if tool.server == "inn")
    theirs = [
        WorldRequest(one.text, pack_key(tool_text_hash(tool)), "cook")
        for tool in tools.tools(db, inn)
        for one in requests.of_tool(db, tool.id)
    ]
    small_world((*WORLD, *theirs))
    scan(db, encoder)
    with transaction(db):
        tools.save_list(db, inn, [], at=2.0)
    assert is_stale(db, encoder)
    scan(db, encoder)
    left = json.loads(blobs(db)[BY_WORLD][1])
    plain = plain_floor(db, encoder)
    with transaction(db):
        for tool in tools.tools(db, inn, include_gone=True):
            requests.replace(db, tool.id, [])
    scan(db, encoder)
    assert left["number"] == pytest.approx(json.loads(blobs(db)[BY_WORLD][1])["number"])
    assert plain == pytest.approx(plain_floor(db, encoder))


def test_requests_of_tools_that_are_gone_need_no_world(store, encoder):
    db, _catalog = store
    give_requests(db, encoder)
    assert lacks_world(db, encoder.key)
    with transaction(db):
        tools.save_list(db, tools.tools(db)[0].server_id, [], at=2.0)
    assert not lacks_world(db, encoder.key)
    encoder.encoded.clear()
    scan(db, encoder)
    assert encoder.of_the_world() == 0 and blobs(db)[BY_WORLD] is None


def test_another_version_of_a_tool_is_no_world(store, encoder, small_world):
    db, _catalog = store
    stranger = WorldRequest("sell the whale a hat", "0" * 16, "sell hat")
    older = WorldRequest("the seal wants herring now", "0" * 16, "feed seal")
    small_world((*WORLD, stranger, older))
    assert world.own_places(db) == [len(WORLD) + 1]


def test_a_scan_that_fails_or_is_stopped_leaves_the_old_floor(
    store, encoder, small_world, monkeypatch
):
    db, _catalog = store
    give_requests(db, encoder)
    ctx = SimpleNamespace(
        clock=lambda: 5.0,
        settings=SimpleNamespace(views=RoutingSettings()),
        paths=SimpleNamespace(models=Path("models")),
    )
    indexer = Indexer(ctx, db)
    monkeypatch.setattr(indexer, "pending", lambda _model: [])
    monkeypatch.setattr(indexer, "_loaded", lambda _model: encoder)
    model = SimpleNamespace(key=encoder.key, dims=encoder.dims, onnx=Path("nowhere", "model.onnx"))
    assert indexer._catch_up(model, lambda: True) == ""
    before = blobs(db)
    assert all(before.values())
    small_world(tuple(WorldRequest(f"{w.text} number {n}") for w in WORLD for n in range(9)))
    assert len(world.world_requests()) > 2 * BATCH
    looks = iter([True, True, False])
    assert indexer._catch_up(model, lambda: next(looks)).startswith("Stopped")
    assert blobs(db) == before

    def broken(_text, *, query=False):
        raise RuntimeError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "encode_bytes", broken)
        with pytest.raises(RuntimeError):
            indexer._catch_up(model, lambda: True)
    assert blobs(db) == before
    with monkeypatch.context() as patch:
        patch.setattr(World, "likeness", lambda *_args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            indexer._catch_up(model, lambda: True)
    assert blobs(db) == before
    assert indexer._catch_up(model, lambda: True) == ""
    after = blobs(db)
    assert all(after[name] != before[name] for name in before)


def test_two_sessions_hold_the_worlds_vectors_once(store, encoder):
    db, _catalog = store
    give_requests(db, encoder)
    scan(db, encoder)
    one, two = (load_floor(db, encoder.key, encoder.dims) for _ in range(2))
    assert one.world is two.world is not None


def test_the_shipped_world_is_of_the_file_and_a_part_of_the_pack(monkeypatch):
    monkeypatch.undo()
    shipped = world.world_requests()
    written = [request.text for request in shipped if not request.key]
    assert len(written) == len(set(written)) == 900
    packed = [text for texts in read_pack().values() for text in texts]
    assert [request.text for request in shipped if request.key] == packed[::EVERY]
    judging = {query.query.lower() for query in own_queries()}
    judging |= {talk.lower() for talk in own_chit_chat("chit-chat-heldout")}
    assert not judging.intersection(text.lower() for text in written)
