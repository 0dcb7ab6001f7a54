"""Pasted traces, logs and code: what is read of them."""

import pytest

from app.ranking.query.reading import read_query
from app.ranking.query.spelling import Speller
from app.ranking.query.traces import read_paste
from app.ranking.ranked import Request
from app.ranking.report import ranked_json
from app.ranking.router import read_request

TRACE = """Traceback (most recent call last):
  File "/srv/app/jobs.py", line 12, in run
    table.insert(rows)
  File "/srv/app/store.py", line 90, in insert
    raise DuplicateRow(key)
store.DuplicateRow: key 4711 is there already
which rows does the table have?"""
LOG = """2026-03-11T09:12:44Z ERROR web-7f9c connection refused
2026-03-11T09:12:49Z ERROR web-8a11 connection refused
2026-03-11T09:12:54Z ERROR web-9b22 connection refused
Mar 11 09:13:00 host kernel: eth0 up"""


def test_a_trace_is_its_question_and_its_error_without_frames():
    paste = read_paste(TRACE)
    assert paste is not None
    assert paste.question == "which rows does the table have?"
    assert paste.failure == "store.DuplicateRow: key is there already"


def test_lines_that_differ_in_times_and_numbers_count_once():
    paste = read_paste(LOG)
    assert paste is not None
    assert paste.question == ""
    assert paste.failure.count("connection refused") <= 3
    assert "2026" not in paste.failure and "09:12" not in paste.failure


@pytest.mark.parametrize(
    "query",
    [
        "list open pull requests",
        "Add a tag to the page.\nThen tell the team about it.",
        "Can you cancel my appointment?\nMy name is Jane.",
        "Can you cancel my appointment?\n56789012",
        "Give me the data of last week.\nA12345\n2023-03-08 00:00:00\n2023-03-15 23:59:59",
        "",
        "\n\n",
    ],
)
def test_what_people_write_is_no_paste(query):
    assert read_paste(query) is None
    assert not read_query(query, lambda _word: True).is_changed


def test_the_question_beside_a_paste_may_be_in_another_language():
    reading = read_query(TRACE.rsplit("\n", 1)[0] + "\nzeig mir die Tabelle", lambda _word: False)
    assert reading.pasted == ("show table", "store.DuplicateRow: key is there already")
    assert reading.translated


def test_a_paste_finds_the_tool_of_its_question_and_says_how_it_was_read(make_router):
    router, _db, _catalog = make_router()
    frames = "\n".join(f'  File "/app/x{i}.py", line {i}, in merge' for i in range(40))
    paste = f"Traceback (most recent call last):\n{frames}\nValueError: no\ncreate an issue for it"
    for limit in (None, 5):
        ranked = router.route(paste, limit=limit)
        assert ranked.tools[0].tool_id == "github/create_issue"
        assert "Read of the paste: “create an issue for it. ValueError: no”." in ranked.note
        assert not ranked.steps


def test_a_paste_whose_parts_want_different_tools_has_no_steps(make_router):
    router, _db, _catalog = make_router()
    paste = (
        "HTTP/1.1 500 Internal Server Error\n2026-01-02 10:11:12 ERROR cannot read the file\n"
        "2026-01-02 10:11:13 ERROR commits of the branch are not listed\ncreate an issue"
    )
    for limit in (None, 10):
        ranked = router.route(paste, limit=limit)
        assert len(read_query(paste, lambda _word: True).pasted) > 1
        assert (
            len(read_request(Request(paste), lambda _word: True, lambda: Speller(()), None).texts)
            == 1
        )
        assert not ranked.steps and {tool.step for tool in ranked.tools} == {-1}
        assert ranked_json(ranked)["steps"] == []


def test_long_pastes_are_read_in_time_that_grows_with_their_length():
    for text in ("a" * 200_000, "{" * 8000 + "\nx", "at " * 4000 + "\n(", "1:" * 5000 + "\n#1 0x"):
        read_paste(text)
