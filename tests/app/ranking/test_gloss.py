"""Queries in other languages: read in English, by words, in every path that ranks."""

import pytest

from app.ranking.query.gloss import _rows, _words_of, gloss
from app.ranking.query.language import ENGLISH, GLOSSED, OTHER, language_of
from app.ranking.query.reading import read_query
from app.ranking.router import Router
from app.ranking.text import content_words
from store import search
from store.connection import transaction


def nothing(_word):
    return False


@pytest.mark.parametrize(
    ("query", "language", "english"),
    [
        ("Erstelle eine neue Aufgabe für das Team", "de", "create new task team"),
        ("Rechnungsnummer ändern", "de", "invoice number change"),
        ("borra la rama antigua del repositorio", "es", "delete branch old repository"),
        ("quels fichiers sont dans le dossier", "fr", "file folder"),
        ("Quero ver as mensagens antigas do canal", "pt", "show message old channel"),
        ("把文件移到文件夹", "zh", "file move folder"),
        ("このページのエラーを見せて", "ja", "page error show"),
        ("lösche den Kartenstapel der Kampagne", "de", "delete deck campaign"),
        ("todavía no están las cámaras en la nube", "es", "camera cloud"),
        ("Pausa todas as campanhas", "pt", "pause campaign"),
        ("开始直播", "zh", "start live"),
        ("Cancella i vecchi file dalla cartella", "it", "delete old file folder"),
        ("Удали все старые папки из проекта", "ru", "delete old folder project"),
        ("몇 시인지 알려줘", "ko", "time"),
        ("몇 개인지 알려주세요", "ko", "count"),
        ("프로젝트의 새로운 브랜치를 만들어줘", "ko", "project new branch create"),
        ("Verwijder de oude mappen uit het project", "nl", "delete old folder project"),
        ("Zet de melding van gisteren uit", "nl", "turn off issue yesterday"),
        ("Schalte die Lampe aus", "de", "turn off light"),
        ("Nodig het team uit voor het project", "nl", "invite team project"),
        ("Usuń stare pliki z kolejki", "pl", "delete old file queue"),
        ("Projedeki açık hataları göster", "tr", "project open error show"),
    ],
)
def test_a_query_of_each_language_is_read_in_english(query, language, english):
    made = gloss(query, nothing)
    assert made is not None
    assert (made.language, made.text) == (language, english)
    assert made.known == 1.0


@pytest.mark.parametrize(
    "query",
    [
        "list open pull requests",
        "what's the weather in São Paulo",
        "restart nginx pods",
        "deploy Müller GmbH site",
        "SELECT name FROM users",
        "zqx",
        "",
        "покажи відкриті заявки",
        "delete SQL server",
        "order me a pizza",  # only words left out: no translation
        "hail a taxi",
    ],
)
def test_english_and_languages_without_a_list_stay_as_they_are(query):
    reading = read_query(query, nothing)
    assert not reading.translated
    assert reading.text == query


def test_names_and_borrowed_words_stay():
    made = gloss("Zeig mir die offenen Merge Requests von Anna", nothing)
    assert made is not None
    assert made.text == "show open Merge Requests Anna"
    assert 0 < made.known < 1


def test_every_line_of_the_list_has_every_language():
    for language in GLOSSED:
        pairs = list(_rows(language))
        assert len(pairs) > 1_000
        assert all(english and word for english, word in pairs)


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("列出所有打开的工单", "zh"),
        ("このページのエラーを見せて", "ja"),
        ("열려 있는 이슈 목록", "ko"),
        ("покажи открытые заявки", "ru"),
        ("покажи відкриті заявки", OTHER),
        ("pokaż wszystkie zgłoszenia", "pl"),
        ("bana açık hataları göster", "tr"),
        ("geef een lijst van alle bestanden", "nl"),
        ("mostra tutti i file della cartella", "it"),
        ("deploy the Żabka site in Łódź", ENGLISH),
        ("ask Paolo della Rovere for the report", ENGLISH),
    ],
)
def test_languages_are_told_apart(query, language):
    assert language_of(query) == language


def test_a_german_query_finds_the_english_tool_and_says_how_it_was_read(make_router):
    router, _db, _catalog = make_router(encoder=False)
    for limit in (None, 5):
        ranked = router.route("lege eine neue Datei an und lies sie", limit=limit)
        assert "Read in English as “new file read" in ranked.note
        assert ranked.tools[0].server == "files"


def test_words_that_tools_have_in_the_query_s_language_count_beside_the_translation(make_router):
    _router, db, catalog = make_router(encoder=False)
    row = catalog.tools[3].tool
    with transaction(db):
        search.save_keywords(db, [(row.id, "x", " ".join(content_words("查询火车票")), "", "", "")])
    found = Router.from_store(db, catalog, None, None).route("帮我查询火车票")
    assert found.tools[0].id == row.id


def test_chinese_is_cut_into_pairs_and_the_rest_as_before():
    assert content_words("查询火车票 via API2") == ["查询", "询火", "火车", "车票", "via", "api2"]
    assert content_words("naïve Café") == ["naïve", "café"]


def test_a_process_that_meets_english_only_reads_no_list() -> None:
    _words_of.cache_clear()
    for query in ("read a file", "open an issue on GitHub", "what's the weather in São Paulo?"):
        assert gloss(query) is None
    assert _words_of.cache_info().currsize == 0
    assert gloss("lösche die Datei auf der Festplatte") is not None
    assert _words_of.cache_info().currsize
