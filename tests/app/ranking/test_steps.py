"""Requests of several steps: which tool is for which, in rankings, search answers and hooks."""

import time

import pytest

from app.catalog.conditions import State
from app.gateway.environment import GatewayEnvironment
from app.gateway.menu.search import ToolSearch
from app.hooks.suggestion import MOST_TOKENS, suggest, tokens_at_most
from app.ranking import phrases
from app.ranking.query.steps import orders
from app.ranking.ranked import first_of_steps
from app.ranking.report import ranked_json

READ = "Read the complete contents of the file from the disk"
CREATE = "create a new issue in the repository of the team"
LONG = f"{READ}, and then {CREATE}"
SHORT = "create an issue"


def test_each_tool_of_a_long_request_knows_the_step_that_it_serves(make_router):
    router, _db, _catalog = make_router()
    ranked = router.route(LONG)
    assert ranked.steps == (READ, CREATE)
    first = first_of_steps(ranked.shown)
    assert {step: tool.tool_id for step, tool in first.items()} == {
        0: "files/read_file",
        1: "github/create_issue",
    }
    assert phrases.steps(ranked) == (
        f"For “{READ}”: files/read_file. For “{CREATE}”: github/create_issue."
    )
    assert ranked_json(ranked)["steps"] == [
        {"step": READ, "tool": "files/read_file"},
        {"step": CREATE, "tool": "github/create_issue"},
    ]


def test_steps_of_a_short_request_group_its_answer_and_change_no_score(make_router):
    router, _db, _catalog = make_router()
    ranked = router.route("a merge of a pull request, then a post of a message to a channel")
    first = first_of_steps(ranked.shown)
    assert [tool.tool_id for tool in first.values()] == [
        "github/merge_pull_request",
        "slack/post_message",
    ]
    whole = router.route("a merge of a pull request a post of a message to a channel")
    assert not whole.steps
    assert [one.tool_id for one in ranked.tools] == [one.tool_id for one in whole.tools]
    scores = [one.score for one in whole.tools]
    assert [one.score for one in ranked.tools] == pytest.approx(scores, abs=1e-6)


def test_a_request_of_one_step_has_no_groups(make_router):
    router, _db, _catalog = make_router()
    for query in (SHORT, "zebra", ""):
        ranked = router.route(query)
        assert not first_of_steps(ranked.shown)
        assert phrases.steps(ranked) == ""
        assert ranked_json(ranked)["steps"] == []


def test_long_steps_are_shortened_in_words(make_router):
    router, _db, _catalog = make_router()
    ranked = router.route(
        f"{READ} with all that it says in each of its many lines, and then {CREATE}"
    )
    assert f"For “{READ} with ...”: files/read_file." in phrases.steps(ranked)


class Encoders(GatewayEnvironment):
    """An encoder of words, at hand."""

    def __init__(self, encoder):
        super().__init__()
        self._encoder = encoder

    def load_encoder(self):
        return self._encoder


def searched(fakes, db, query, tokens=500, limit=8):
    finder = ToolSearch(Encoders(fakes.WordEncoder()), "default", db.filename)
    finder.warm(0)
    finder.wait(20)
    try:
        return finder.search(
            {"query": query, "limit": limit},
            State(),
            generation=0,
            tokens=tokens,
            level="lossless",
            note="",
        )
    finally:
        finder.close()


def test_a_search_answers_with_a_group_a_step_and_the_rest_behind(make_router, fakes):
    _router, db, _catalog = make_router()
    answer = searched(fakes, db, LONG)
    lines = answer.text.splitlines()
    assert lines[0] == f"For “{READ}”:"
    assert lines[1].startswith("files/read_file(")
    assert lines[2] == f"For “{CREATE}”:"
    assert lines[3].startswith("github/create_issue(")
    assert lines[4] == "Also:"
    assert len(answer.listed) == len(set(answer.listed)) == 8
    assert answer.listed[:2] == ("files/read_file", "github/create_issue")
    assert "For “" not in searched(fakes, db, SHORT).text


def test_no_answer_lists_more_tools_than_were_wanted(make_router, fakes):
    _router, db, _catalog = make_router()
    for limit in (1, 2, 3, 8):
        assert len(searched(fakes, db, LONG, limit=limit).listed) == limit


def test_groups_keep_the_size_of_an_answer(make_router, fakes):
    _router, db, _catalog = make_router()
    small = searched(fakes, db, LONG, tokens=60).text
    assert len(small) < len(searched(fakes, db, LONG).text)
    assert "files/read_file" in small
    assert "github/create_issue" in small


def test_a_hook_says_which_tool_is_for_which_step(make_router):
    router, _db, catalog = make_router()
    rows = {row.tool.id: row for row in catalog.tools}
    made = suggest(router.route(LONG, limit=10), small_talk=-1.0, tool=rows.get)
    lines = made.text.splitlines()
    assert lines[1] == f"For “{READ}”:"
    assert lines[2].startswith("- files/read_file(")
    assert f"For “{CREATE}”:" in lines
    assert lines[lines.index(f"For “{CREATE}”:") + 1].startswith("- github/create_issue(")
    assert tokens_at_most(made.text) <= MOST_TOKENS
    assert set(made.tools) == {
        line[2:].partition("(")[0] for line in lines if line.startswith("- ")
    }
    alone = suggest(router.route(SHORT, limit=10), small_talk=-1.0, tool=rows.get)
    assert alone.text
    assert "For “" not in alone.text


def test_what_a_search_needs_is_ready_once_it_is_warm(make_router, fakes):
    """A hook has 100 ms, and a session of 4,000 tools took more for its first ranking."""
    _router, db, _catalog = make_router()
    finder = ToolSearch(Encoders(fakes.WordEncoder()), "default", db.filename)
    try:
        finder.warm(3)
        finder.wait(20)
        limit = time.monotonic() + 20
        while finder._router is None and time.monotonic() < limit:
            time.sleep(0.01)
        ready = finder._router
        assert ready is not None and ready.encoder is not None
        finder.rank({"query": SHORT}, State(), 3, 5)
        assert finder._router is ready, "nothing was loaded anew"
    finally:
        finder.close()


@pytest.mark.parametrize(
    ("query", "steps"),
    [
        ("create a branch, push the files, then open a merge request", 3),
        ("Please resize the image and send it to Anna", 2),
        ("find the log; delete it", 2),
        ("get the last failed job's log, then retry it", 2),
        ("rent a machine and tail its logs", 2),
        ("show the code of the graph and which tasks it has", 2),
        ("look up who bob is and what he has written lately", 2),
        ("search and replace in the file", 0),
        ("show issues and pull requests", 0),
        ("I have a date tonight, and want to look good", 0),
        ("list open issues", 0),
        ("show the status of node 5, pod 1", 0),
        ("find emails and messages my boss sent", 0),
        ("find plays in Seattle, WA on the 7th", 0),
        ("let us play a game, where the others guess", 0),
    ],
)
def test_orders_of_a_request_begin_with_a_verb_or_ask(query, steps):
    assert len(orders(query)) == steps


def test_the_first_order_s_tool_is_first_and_the_others_follow_in_order(make_router):
    router, _db, _catalog = make_router()
    for limit in (None, 5):
        ranked = router.route("read the file, post a message to the channel", limit=limit)
        assert [tool.tool_id for tool in ranked.tools[:2]] == [
            "files/read_file",
            "slack/post_message",
        ]
        turned = router.route("post a message to the channel, read the file", limit=limit)
        assert [tool.tool_id for tool in turned.tools[:2]] == [
            "slack/post_message",
            "files/read_file",
        ]
        for tool in turned.tools[:3]:
            assert sum(part for _name, part in tool.parts) == pytest.approx(tool.score, abs=1e-9)
            assert tool.score <= 1
