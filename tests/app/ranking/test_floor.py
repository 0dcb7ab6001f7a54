"""The floor: set by the tools' own requests, without a word for other languages."""

from pathlib import Path

import numpy as np
import pytest

from app.core.settings import RoutingSettings
from app.hooks.suggestion import NOTHING_FITS, suggest
from app.indexing import requests as editing
from app.ranking.dense import REQUEST, MatrixRetriever
from app.ranking.floor import LEAST_REQUESTS, load_floor, set_scan_floor
from app.ranking.learning.cases import make_case
from app.ranking.query.language import is_english
from app.ranking.query.spelling import is_nonsense
from app.ranking.router import Router
from store import queries, requests, tools
from store.connection import transaction
from tests.fakes.routing_fakes import ANIMALS, WordEncoder, embed_requests, filled

FEW_ANIMALS = ANIMALS[:12]
LISTED = [("zoo", f"feed_{animal}", f"gives the {animal} its food") for animal in FEW_ANIMALS]


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def store(tmp_path: Path, encoder: WordEncoder):
    db, catalog = filled(tmp_path / "f.db", LISTED, encoder)
    yield db, catalog
    db.close()


def give_requests(db, encoder: WordEncoder, each: int) -> None:
    for tool in tools.tools(db):
        animal = tool.name.partition("_")[2]
        texts = [f"the {animal} looks hungry again {'really ' * n}today" for n in range(each)]
        editing.add(db, tool, texts, editing.MODEL)
    embed_requests(db, encoder)


def test_each_request_is_compared_with_the_catalogue_that_lacks_it(store, encoder, monkeypatch):
    db, _catalog = store
    give_requests(db, encoder, 5)
    stored = requests.vectors(db, encoder.key)
    rows = np.stack([np.frombuffer(data, "<f4") for _, data in stored])
    owners = np.array([tool for tool, _ in stored])
    whole = MatrixRetriever.from_store(db, encoder.key)
    expected = []
    for place, (_, data) in enumerate(stored):
        best = {}
        for tool, own in whole.own([data])[0].items():
            others = (owners == tool) & (np.arange(len(stored)) != place)
            nearest = float(np.max(rows[others] @ rows[place]))
            best[tool] = own + REQUEST * max(0.0, nearest - own)
        expected.append(max(best.values()))
    assert whole.held_out() == pytest.approx(expected, abs=1e-5)
    monkeypatch.setattr("app.ranking.dense._HELD_OUT", 7)
    assert len(whole.held_out()) == 7


def test_enough_requests_raise_the_floor_over_what_small_talk_sets(store, encoder):
    db, _catalog = store
    floors = []
    for each in (0, LEAST_REQUESTS // len(LISTED) - 1, 5):
        give_requests(db, encoder, each)
        with transaction(db):
            set_scan_floor(db, encoder, lambda: 0.0)
        floors.append(load_floor(db, encoder.key, encoder.dims).plain)
    held = sorted(MatrixRetriever.from_store(db, encoder.key).held_out())
    assert len(held) >= LEAST_REQUESTS
    assert floors[0] <= floors[1] < floors[2] <= held[2]


@pytest.mark.parametrize(
    ("query", "english"),
    [
        ("list open pull requests", True),
        ("SELECT name FROM users", True),
        ("what's the weather in Los Angeles", True),
        ("restart nginx pods", True),
        ("", True),
        ("zeig mir alle offenen Tickets von heute", False),
        ("muestra los errores de la última semana", False),
        ("montre les fichiers qui sont dans le dossier", False),
        ("mostra i file nella cartella dei rapporti", False),
        ("quais são os pedidos para hoje", False),
        ("geef een lijst van alle bestanden", False),
        ("列出所有打开的工单", False),
        ("покажи открытые заявки", False),
        ("開いているチケットを表示", False),
    ],
)
def test_other_languages_are_told_from_english(query, english):
    assert is_english(query) is english


def test_what_can_be_read_is_refused_and_likeness_is_told_apart_from_it(store, encoder):
    db, catalog = store
    with transaction(db):
        queries.save_blob(db, "floor", fingerprint=f"{encoder.key}:x", data=b"0.9", at=0.0)
    router = Router.from_store(db, catalog, None, encoder)
    for query, refused in (
        ("book a train to the zoo", True),
        ("ich möchte mit dem Zug nach Hause", True),  # by its translation
        ("erzähl mir einen Witz vom zoo", True),  # German, of which no word is known
        ("ik wil met de trein naar huis", True),
        ("я хочу поїхати додому", False),
    ):
        for limit in (None, 5):
            found = router.route(query, limit=limit)
            assert bool(found.shown) is not refused
            assert not found.likely
        assert (make_case(router, query, set()).floor > 0) is refused
    sure = router.route("feed tiger gives the tiger its food")
    assert sure.likely and sure.shown
    own = Router.from_store(db, catalog, RoutingSettings(floor=0.9), encoder)
    assert not own.route("я хочу поїхати додому").shown
    words = Router.from_store(db, catalog, None, None)
    assert words.route("feed tiger").shown and not words.route("feed tiger").likely


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("asdkjh qwe", True),
        ("erzähl mir einen Witz", True),
        ("농담 하나", True),
        ("asdkjh tiger", False),  # a word of the catalogue
        ("tigre tiegr", False),  # a slip of one
        ("holiday asdkjh", False),  # a word of the encoder's vocabulary
        ("holidya", False),  # a slip of one
        ("holidaypage", False),  # made of two
        ("4711 https://example.org/x", False),  # literals say what they are
        ("анекдот їжак", False),  # a language without a list: compared as typed
    ],
)
def test_nonsense_is_answered_with_nothing_where_no_floor_is_set_either(tmp_path, query, refused):
    encoder = WordEncoder(words=frozenset(("holiday", "page")))
    db, catalog = filled(tmp_path / "f.db", LISTED, encoder)
    for limit in (None, 5):
        found = Router.from_store(db, catalog, None, encoder).route(query, limit=limit)
        assert bool(found.shown) is not refused
        assert ("No word of the query is known." in found.note) is refused
        silence = suggest(found, small_talk=0.5, tool=lambda _row: None).silence
        assert (silence == NOTHING_FITS) is refused
    assert not Router.from_store(db, catalog, None, None).route("asdkjh qwe").shown
    db.close()


def test_slips_of_a_word_of_thousands_of_letters_are_not_tried() -> None:
    looked_up: list[str] = []

    def knows(word: str) -> bool:
        looked_up.append(word)
        return False

    assert is_nonsense("q" * 8_000, knows)
    assert len(looked_up) == 1
