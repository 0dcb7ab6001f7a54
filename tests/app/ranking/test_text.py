"""Words, clauses and summaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ranking.keyword import keyword_row, matched_words, stem, stems
from app.ranking.summary import MOST_TOKENS, embedded_text, summarise
from app.ranking.text import MOST_CLAUSES, clauses, content_words, split_name
from app.tokens.counters import counter
from store.records import ToolRecord


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("getUserToken", "get user token"),
        ("get_user_token", "get user token"),
        ("API-post-search", "api post search"),
        ("HTTPServerList", "http server list"),
        ("Songkick concert", "songkick concert"),
        ("__", ""),
    ],
)
def test_names_are_taken_apart(name, said):
    assert split_name(name) == said


def test_stop_words_do_not_count():
    assert content_words("Can you list the open issues for me, please?") == [
        "list", "open", "issues",
    ]  # fmt: skip


def test_steps_are_cut_where_one_ends():
    query = (
        "Check what I changed, and stage all files; then go. Post it to Slack and then wait there."
    )
    assert clauses(query) == ["Check what I changed", "stage all files", "Post it to Slack"]
    assert clauses("Rename the file") == []
    assert clauses("find the failing test, then file a bug") == [
        "find the failing test",
        "file a bug",
    ]


@given(st.text(max_size=400))
def test_there_are_never_more_steps_than_allowed(text):
    assert len(clauses(text)) <= MOST_CLAUSES


@pytest.mark.parametrize(
    "description",
    [
        "Create a new issue in a repository. " * 20,
        "supercalifragilistic" * 40,
        "创建一个新的问题并把它分配给某人。" * 20,
        "🎉" * 100,
        "GET /repos/{owner}/{repo}/issues?state=open&labels=a,b,c&per_page=100 " * 10,
        "0x1f8b0800 1234567890123 3.14159 [[[{{{}}}]]] ~~~ ### " * 10,
        "",
    ],
)
def test_a_summary_has_at_most_sixty_tokens(description):
    for name in ("create_issue", "x" * 300):
        text = summarise(name, description)
        assert counter("cl100k_base").count(text) <= MOST_TOKENS, text


def test_a_summary_keeps_whole_sentences():
    text = summarise("readFile", "Reads a file. " + "It does many other things as well. " * 30)
    assert text.startswith("read file: Reads a file. It does")
    assert text.endswith("as well.")


def test_what_is_embedded_names_the_server():
    tool = ToolRecord(1, 1, "my-github", "create_issue", {}, "", "")
    assert embedded_text(tool, "create issue: New issue") == "my github create issue: New issue"


def test_a_keyword_row_survives_a_broken_schema():
    for schema in (
        None,
        [],
        {"properties": 3},
        {"properties": {"a": None, "b": {"description": 1}}},
    ):
        row = keyword_row(ToolRecord(1, 1, "s", "t", {"inputSchema": schema}, "", ""))
        assert row[0] == 1


def test_matched_words_share_a_stem():
    known = stems(("create issues", "creates a commit"))
    assert list(matched_words({w: stem(w) for w in ("creating", "issue", "branch")}, known)) == [
        "creating",
        "issue",
    ]
    assert stem("is") == "is"
