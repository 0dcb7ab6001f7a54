"""Literals in a query: what is pasted counts as the kind of thing that it is."""

from pathlib import Path

import pytest

from app.attention.small_talk import SmallTalk
from app.attention.suggestion import COMMAND, silence_of
from app.routing.query.literals import read_literals
from app.routing.router import Router
from app.routing.text import LONGEST_QUERY
from tests.fakes.routing_fakes import WordEncoder, filled

DIGEST, UUID = "5d41402abc4b2a76b9719d911017c592", "550e8400-e29b-41d4-a716-446655440000"
JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wCEAAkGBxISEhUQEBIVFRUVFRUVFRUVFRUVFRUVFRUW"
KINDS = [
    ("sort /data/q3.csv, see https://docs.acme.io/guide", "sort csv file, see acme guide page"),
    ("what is in my /root/music?", "what is in my folder?"),
    ("open ~/Downloads and ../x/y.tsx.", "open folder and typescript file."),
    (r"read C:\Users\me\report.docx", "read word document"),
    (r"copy \\srv\share\a.xlsx here", "copy excel spreadsheet here"),
    (r"clear %TEMP%\old", "clear folder"),
    ("src/components/Button.tsx broke", "typescript file broke"),
    ("restart with /etc/nginx/nginx.conf.", "restart with nginx.conf file."),
    ("review https://github.com/acme/app/pull/17", "review github acme app pull page"),
    ("is https://a.shop.co.uk. up", "is shop page. up"),
    ("is http://127.0.0.1:8080/?a=1 up", "is page up"),
    (f"commit {DIGEST} by {UUID}", "commit   by  "),
    (f"what is {JPEG}", "what is  "),
]
AS_THEY_ARE = [
    *("and/or", "CI/CD", "24/11/2026", "km/h", "TCP/IP", "n/a", "application/json", "/help"),
    *("next.js", "ada@example.com", "localhost:3000", "@scope/pkg/file.js", "owner/repo"),
    "GET /repos/acme/app",
    "mcp__server__some_very_long_tool_name_that_is_over_48_characters_long",
    "getEveryThingThatIsThereAndAlsoWhatIsNotThereAnyMoreByName",
    "фильмы/сериалы",
]


@pytest.mark.parametrize(("query", "read"), KINDS)
def test_a_literal_is_read_as_its_kind(query: str, read: str) -> None:
    assert read_literals(query) == read


@pytest.mark.parametrize("query", AS_THEY_ARE)
def test_words_with_slashes_and_dots_names_and_addresses_of_people_stay(query: str) -> None:
    assert read_literals(f"do {query} now") == f"do {query} now"


@pytest.mark.parametrize("unit", ["a/", "/a", "a.a-", "a+b/", "http://", "~/", "%a%", "1f", "\\"])
def test_a_hostile_text_is_read_to_its_bound(unit: str) -> None:
    assert len(read_literals(unit * 400_000)) <= 2 * LONGEST_QUERY


LISTED = [
    ("files", "list_directory", "Lists the files of a folder"),
    ("music", "root_music", "Plays music of the root collection"),
]


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


def test_a_paths_words_find_nothing_and_its_kind_does(tmp_path: Path, encoder: WordEncoder) -> None:
    db, catalog = filled(tmp_path / "l.db", LISTED, encoder)
    for using in (encoder, None):
        ranked = Router.from_store(db, catalog, None, using).route("what is in /root/music")
        assert ranked.tools[0].name == "list_directory"
        assert ranked.tools[0].matched == ("folder",)
        assert ranked.tools[1].matched == ()
        assert ranked.query == "what is in /root/music"
        assert "count as what they are: “what is in folder”." in ranked.note
        assert "count as what" not in Router.from_store(db, catalog).route("a folder").note
    db.close()


@pytest.mark.parametrize(
    ("prompt", "silence"),
    [
        ("/compact", COMMAND),
        ("/review the last commit", COMMAND),
        ("!ls /srv", COMMAND),
        ("/srv/data/q3.csv sort this", ""),
        ("C:/data/q3.csv sort this", ""),
    ],
)
def test_a_prompt_that_begins_with_a_path_is_no_command_of_the_host(prompt, silence) -> None:
    assert silence_of(prompt) == silence


def test_small_talk_is_compared_as_tools_are(encoder: WordEncoder) -> None:
    small_talk = SmallTalk(encoder)
    assert small_talk.likeness("thanks for /srv/weather/joke.md") == pytest.approx(
        small_talk.likeness("thanks for markdown file")
    )
