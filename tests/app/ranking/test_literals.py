"""Literals in a query: what is pasted counts as the kind of thing that it is."""

from pathlib import Path

import pytest

from app.hooks.small_talk import SmallTalk
from app.hooks.suggestion import COMMAND, silence_of
from app.ranking.query.literals import read_literals, read_steps
from app.ranking.router import Router
from app.ranking.text import LONGEST_QUERY
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
    ("删除 /data/q3.csv里的重复行", "删除 csv file里的重复行"),
    ("列出/root/music的文件", "列出folder的文件"),
    ("./report.pdfを英語に翻訳して", "pdf fileを英語に翻訳して"),
    ("总结 https://example.com的内容", "总结 example page的内容"),
    ("see HTTPS://user:pw@Acme.io:8443/a?b=c#d, now", "see Acme a page, now"),
    ("in /home/josé/fotos/été.png", "in image file"),
    ("list /home/user1/Documents/projects/clientwork/invoices/january/all", "list folder"),
    ("fix src2/components/dashboard/widgets/charts/LineChart.tsx", "fix typescript file"),
    ("open src/App.js", "open javascript file"),
]
AS_THEY_ARE = [
    *("and/or", "CI/CD", "24/11/2026", "km/h", "TCP/IP", "n/a", "application/json", "/help"),
    *("next.js", "ada@example.com", "localhost:3000", "@scope/pkg/file.js", "owner/repo"),
    "GET /repos/acme/app",
    "mcp__server__some_very_long_tool_name_that_is_over_48_characters_long",
    "getEveryThingThatIsThereAndAlsoWhatIsNotThereAnyMoreByName",
    "фильмы/сериалы",
    *("React/Next.js", "client/server.The", "e.g./i.e.", "Washington/D.C", "domain\\user.name"),
    *("application/vnd.ms-excel", "acme/app.web", "io.github.acme/weather.now", "$20/month"),
    *(
        r"\r\n\t",
        r"\d\w\s",
        "1234567890123456789",
        "getToolNumber2ThatHasALongNameWithOneDigitOnly",
    ),
    *("postgresql://localhost/shop", "mongodb://localhost:27017/shop", "s3://bucket/key"),
    *("mysql+pymysql://root@localhost/db", "git@github.com:o/r.git", "postgres://u:p@db.h:5432/n"),
]


@pytest.mark.parametrize(("query", "read"), KINDS)
def test_a_literal_is_read_as_its_kind(query: str, read: str) -> None:
    assert read_literals(query) == read


@pytest.mark.parametrize("query", AS_THEY_ARE)
def test_words_with_slashes_and_dots_names_and_addresses_of_people_stay(query: str) -> None:
    assert read_literals(f"do {query} now") == f"do {query} now"


@pytest.mark.parametrize("query", [DIGEST, UUID, f" {DIGEST} "])
def test_an_id_alone_is_asked_as_it_is(query: str) -> None:
    assert read_literals(query) == query


def test_lines_that_are_ids_only_are_no_steps() -> None:
    assert read_steps(f"Look up these users:\n{UUID}\n{UUID}") == []
    assert read_steps(f"Look up the users:\n{UUID}\nthen send them mail") == [
        "Look up the users:",
        "then send them mail",
    ]


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


def test_a_kind_is_no_slip_of_a_catalogues_word(tmp_path: Path, encoder: WordEncoder) -> None:
    listed = [("files", "show_foldor", "Shows what is there"), *LISTED[1:]]
    db, catalog = filled(tmp_path / "k.db", listed, encoder)
    note = Router.from_store(db, catalog, None, encoder).route("list what is in /root/music").note
    assert "foldor" not in note
    db.close()


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
