"""Questions: tools that change something are below those that only look."""

import pytest

from app.ranking.query.asking import is_change, is_question
from app.ranking.query.reading import read_query
from app.ranking.ranked import QUESTION


@pytest.mark.parametrize(
    "query",
    [
        "which jobs failed last night",
        "any builds red right now",
        "so, is the queue empty",
        "the balance of the account?",
        "¿Cuánto dinero tengo en la cuenta?",
        "Quels clients ont un abonnement actif ?",
        "队列里还有多少条消息？",
    ],
)
def test_what_only_asks_is_a_question(query):
    assert read_query(query, lambda _word: True).question


@pytest.mark.parametrize(
    "query",
    [
        "list the jobs that failed",
        "how can I delete the old branch",
        "can you create an issue?",
        "Kannst du die Datei löschen?",  # its gloss has the verb
        "My visit has to move. What is the best way?",
        "",
    ],
)
def test_orders_stories_and_what_names_a_change_are_none(query):
    assert not read_query(query, lambda _word: True).question


def test_the_question_beside_a_paste_counts():
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in run\nValueError: no\n'
    assert read_query(f"{trace}how did we get here", lambda _word: True).question
    assert not read_query(f"{trace}run it again", lambda _word: True).question


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("create_issue", True),
        ("domains_purchaseNewDomainV1", True),
        ("get_update_log", False),
        ("search_and_replace", False),
        ("daily_sleep", False),
    ],
)
def test_the_first_verb_of_a_name_tells_whether_a_tool_changes_something(name, changes):
    assert is_change(name) is changes


def test_a_long_story_with_a_mark_at_its_end_is_read_once():
    assert not is_question("a. " * 3000 + "?", "")


LISTED = [
    ("board", "create_issues", "Issues of the repository, with title and state."),
    ("board", "list_issues", "Issues of the repository, with title and state."),
]


def test_a_question_has_the_tool_that_looks_first(make_router):
    router, _db, _catalog = make_router(LISTED)
    assert router.route("issues of the repository").tools[0].tool_id == "board/create_issues"
    for limit in (None, 5):
        first, second = router.route("which issues has the repository", limit=limit).tools
        assert (first.name, second.name) == ("list_issues", "create_issues")
        assert dict(second.parts)[QUESTION] == pytest.approx(-0.1)
        assert sum(part for _name, part in second.parts) == pytest.approx(second.score)


def test_a_catalogue_s_names_are_read_at_its_first_question_alone(make_router, monkeypatch):
    many = [("board", f"create_issue_{n}", "Issues of the repository.") for n in range(300)]
    router, _db, _catalog = make_router(many)
    read = []
    monkeypatch.setattr("app.ranking.router.is_change", lambda name: bool(read.append(name)))
    router.route("list the issues")
    assert not read
    router.route("which issues has the repository", limit=5)
    assert 0 < len(read) < 300  # those that words or meaning make candidates
    for _ in range(3):
        router.route("which issues has the repository")
    assert len(read) == len(set(read)) == 300
