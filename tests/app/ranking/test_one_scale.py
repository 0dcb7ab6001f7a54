"""Scores are measured by the tools that are on, wherever a query is ranked; the rest is named."""

import random

import pytest

from app.catalog.catalog import load_catalog, set_on
from app.gateway.rehearsal import rehearse, rehearse_hook
from app.hooks.small_talk import SmallTalk
from app.ranking import phrases
from app.ranking.ranked import Request
from app.ranking.report import ranked_json
from app.ranking.router import Router
from store import profiles, servers
from store.connection import transaction

VERBS = ("create", "list", "delete", "update", "search", "merge", "export", "open", "send", "read")
NOUNS = ("issue", "file", "branch", "message", "table", "page", "event", "invoice", "user", "chart")
MANY = [
    (f"server{number % 7}", f"{verb}_{noun}", f"{verb.title()} one {noun} of a {other}.")
    for number, (verb, noun, other) in enumerate(
        (verb, noun, other) for verb in VERBS for noun in NOUNS for other in NOUNS[:2]
    )
]
QUERIES = (
    "merge the branch of an issue",
    "send a message to the user",
    "export an invoice and open its page",
    "table",
    "read the file, then create an event for the user and delete the old chart of that page",
)
SMALL = [
    ("files", "read_file", "Read the complete contents of a file from disk."),
    ("github", "list_commits", "List the commits of a branch."),
    ("time", "get_current_time", "Get the current time in a timezone."),
]
TIME = "time/get_current_time"
TOKYO = "get the current time in a timezone"


def off(db, *names):
    set_on(
        db, "default", [t.tool.id for t in load_catalog(db).tools if t.tool.name in names], False
    )


def disabled(db, name):
    with transaction(db):
        server = next(s for s in servers.all_servers(db) if s.name == name)
        servers.set_disabled(db, server.id, True)


def both(db, fakes, query, encoder=True):
    """The ranking that the window shows, and the gateway's."""
    used = fakes.WordEncoder() if encoder else None
    router = Router.from_store(db, load_catalog(db), None, used)
    return router.route(query), router.route(query, limit=20)


@pytest.mark.parametrize("encoder", [True, False], ids=["meaning", "words"])
def test_window_and_gateway_give_the_same_first_ten_whatever_is_ticked(make_router, fakes, encoder):
    _router, db, catalog = make_router(MANY, encoder=encoder)
    ids = [row.tool.id for row in catalog.tools]
    draw = random.Random(4)
    for share in (0.0, 0.2, 0.5, 0.5, 0.8, 0.95, 1.0):
        hidden = set(draw.sample(ids, round(share * len(ids))))
        set_on(db, "default", hidden, False)
        set_on(db, "default", set(ids) - hidden, True)
        for query in QUERIES:
            window, gateway = both(db, fakes, query, encoder)
            # words alone leave tools of score 0, which a search does not look at
            on = [t for t in window.tools if t.gate != "on" and t.score > 0][:10]
            near = gateway.tools[: len(on)]
            assert [t.tool_id for t in on] == [t.tool_id for t in near]
            assert [t.score for t in on] == pytest.approx([t.score for t in near], abs=1e-5)
            assert [t.gate for t in on] == [t.gate for t in near]
            assert phrases.best_off(window) == phrases.best_off(gateway)
            assert all(t.score <= 1 + 1e-9 for t in on)


def test_a_tool_that_is_off_changes_no_score_of_those_that_are_on(make_router, fakes):
    _router, with_time, _catalog = make_router(SMALL, change=lambda db: off(db, "get_current_time"))
    rest = [row for row in SMALL if row[0] != "time"]
    _router, without, _catalog = make_router(rest)
    query = "read the current file of a branch"
    one, _ = both(with_time, fakes, query)
    other, _ = both(without, fakes, query)
    kept = {t.tool_id: dict(t.parts)["Meaning"] for t in one.tools if t.tool_id != TIME}
    assert kept == pytest.approx({t.tool_id: dict(t.parts)["Meaning"] for t in other.tools})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda db: off(db, "get_current_time"), "it is turned off in this profile"),
        (lambda db: disabled(db, "time"), "its server is disabled in Toolcrib"),
    ],
    ids=["off", "disabled"],
)
@pytest.mark.parametrize("encoder", [True, False], ids=["meaning", "words"])
def test_the_best_match_that_is_off_is_named_first_and_brings_no_others(
    make_router, fakes, change, why, encoder
):
    _router, db, _catalog = make_router(encoder=encoder, change=change)
    sentence = f"The best match is off: {TIME} ({why}). It can be switched on in Toolcrib."
    for ranked in both(db, fakes, TOKYO, encoder):
        assert phrases.best_off(ranked) == sentence
        assert not ranked.shown
        assert ranked.tokens == 0
        assert ranked_json(ranked)["best_off"] == sentence
    used = fakes.WordEncoder() if encoder else None
    answer = rehearse(db.filename, "default", query=TOKYO, encoder=used).search
    assert answer.splitlines()[0] == sentence
    assert answer.splitlines()[1] == "No other tool fits."


def test_tools_that_are_nearly_as_good_as_the_one_that_is_off_stay(make_router, fakes):
    listed = [*MANY, ("clock", "get_current_time", "Get the current time in a timezone, now.")]
    listed.append(("time", "get_current_time", "Get the current time in a timezone."))
    _router, db, catalog = make_router(listed)
    mine = [row.tool.id for row in catalog.tools if row.tool.server == "time"]
    set_on(db, "default", mine, False)
    for ranked in both(db, fakes, TOKYO):
        assert [t.tool_id for t in ranked.shown] == ["clock/get_current_time"]


def test_nothing_is_said_where_the_best_match_is_on_or_nothing_fits(make_router, fakes):
    _router, db, _catalog = make_router(change=lambda db: off(db, "get_current_time"))
    for ranked in both(db, fakes, "create an issue in the repository"):
        assert phrases.best_off(ranked) == ""
        assert ranked.shown[0].tool_id == "github/create_issue"
    with transaction(db):
        profiles.save_settings(db, 1, {"routing": {"floor": 0.99}})
    for ranked in both(db, fakes, "the time of a walrus in the garden"):
        assert phrases.best_off(ranked) == ""


def test_a_tool_that_is_held_back_is_not_named_to_a_model(make_router, fakes):
    def change(db):
        off(db, "get_current_time")
        with transaction(db):
            (row,) = db.execute("SELECT id FROM tools WHERE name = 'get_current_time'")
            profiles.set_held(db, 1, [row[0]], "held")

    _router, db, _catalog = make_router(change=change)
    for ranked in both(db, fakes, TOKYO):
        assert phrases.best_off(ranked) == ""


def test_a_request_that_names_another_server_gets_that_servers_tools(make_router, fakes):
    _router, db, _catalog = make_router(change=lambda db: off(db, "get_current_time"))
    request = Request("list the current commits of a branch in time", server="github")
    for ranked in both(db, fakes, request):
        assert phrases.best_off(ranked) == ""
        assert ranked.shown[0].server == "github"


def test_a_request_of_several_steps_keeps_the_tools_of_the_others(make_router, fakes):
    _router, db, _catalog = make_router(change=lambda db: off(db, "get_current_time"))
    query = "Get the current time in a timezone, then post a message to a channel."
    for ranked in both(db, fakes, query):
        assert phrases.best_off(ranked).startswith(f"The best match is off: {TIME}")
        assert ranked.shown[0].tool_id == "slack/post_message"


def test_the_hook_says_that_the_best_match_is_off(make_router, fakes):
    _router, db, _catalog = make_router(change=lambda db: off(db, "get_current_time"))
    encoder = fakes.WordEncoder()
    talk = SmallTalk(encoder)
    made = rehearse_hook(
        db.filename, "default", host="", prompt=TOKYO, encoder=encoder, small_talk=talk
    )
    assert made.text.splitlines()[0].startswith(f"Toolcrib: The best match is off: {TIME} (")
    assert made.tools == ()
    assert made.off == TIME
    on = rehearse_hook(
        db.filename,
        "default",
        host="",
        prompt="create a new issue in a repository",
        encoder=encoder,
        small_talk=talk,
    )
    assert "off" not in on.text.splitlines()[0]
    assert on.tools[0] == "github/create_issue"
