"""The two hooks around a model call, over a real store, with a scripted model."""

import json
from collections.abc import Callable

import pytest

from app.catalog.catalog import load_catalog
from app.catalog.conditions import State
from app.core.settings import ProfileSettings, RoutingSettings
from app.ranking.learning.learn import labels_from_activity
from app.ranking.router import Router
from app.tokens.counters import Counter, counter
from store import events, profiles
from store.connection import transaction
from store.records import EventRecord
from tests.bench.attention import NOT_AVAILABLE, Attention, Turn, hashed, visible_name

TIGHT = RoutingSettings(k=2)


@pytest.fixture(scope="module")
def tokens() -> Counter:
    return counter("cl100k_base")


@pytest.fixture
def attend(make_router: Callable, tokens: Counter) -> Callable:
    """Build (attention, list of its events) over the small store."""

    def build(settings: RoutingSettings = TIGHT, **options: object) -> tuple:
        router, db, catalog = make_router(settings=settings, **options)
        seen: list[EventRecord] = []
        made = Attention(
            router, catalog, counter=tokens, session="s", on_event=seen.append, clock=lambda: 7.0
        )
        return made, seen, db

    return build


def call_of(turn: Turn, name: str) -> str | None:
    """What a scripted model calls: the named tool, as the turn's prompt spells it."""
    return next((s["name"] for s in turn.schemas if s["name"].endswith(name)), None)


def test_the_pool_is_the_same_in_every_turn_and_names_every_tool(attend: Callable) -> None:
    attention, _seen, _db = attend()
    first = attention.before_model("create an issue in the repository")
    second = attention.before_model("what time is it in Tokyo")
    assert first.pool == second.pool
    assert first.phase1_tokens == second.phase1_tokens > 0
    lines = first.pool.splitlines()[1:]
    assert len(lines) == 8
    assert all(line.split(": ")[0] in attention.names.values() for line in lines)


def test_promoted_schemas_come_last_and_are_what_is_counted(
    attend: Callable, tokens: Counter
) -> None:
    attention, _seen, _db = attend()
    turn = attention.before_model("merge the pull request into its base branch")
    assert turn.active[0] == "github/merge_pull_request"
    assert len(turn.schemas) == len(turn.active) <= 2
    history = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    system, *middle, last = turn.messages("Be brief.", history)
    assert system["content"] == f"Be brief.\n\n{turn.pool}"
    assert middle == history
    assert last["content"].endswith(turn.query)
    sent = last["content"].splitlines()[: len(turn.schemas)]
    assert [json.loads(line) for line in sent] == list(turn.schemas)
    assert turn.phase2_tokens == sum(tokens.count(line) for line in sent)
    assert turn.tokens == turn.phase1_tokens + turn.phase2_tokens


def test_a_call_outside_the_active_set_is_refused_with_what_is_available(
    attend: Callable,
) -> None:
    attention, seen, _db = attend()
    turn = attention.before_model("create a new issue")
    allowed = call_of(turn, "create_issue")
    assert attention.after_model(turn, allowed) is None
    assert attention.after_model(turn, "github/create_issue") is None
    assert attention.after_model(turn, None) is None
    assert attention.after_model(turn, "slack__post_message") == {
        "error": NOT_AVAILABLE,
        "available": [schema["name"] for schema in turn.schemas],
    }
    assert attention.after_model(["time/get_current_time"], "time__get_current_time") is None
    assert [(e.kind, e.tool) for e in seen[1:4]] == [
        ("call", "github/create_issue"),
        ("call", "github/create_issue"),
        ("miss", "slack__post_message"),
    ]
    assert all(e.detail["turn_id"] == turn.id for e in seen[1:4])


def test_a_decision_says_what_a_state_kept_out(attend: Callable) -> None:
    def guard(db: object) -> None:
        record = profiles.by_name(db, "default")
        settings = ProfileSettings(
            preconditions={"github/merge_*": ["authenticated(github:write)"]}
        )
        with transaction(db):
            profiles.save_settings(db, record.id, settings.to_json())

    attention, seen, _db = attend(change=guard)
    query = "merge a pull request into its base branch"
    refused = attention.before_model(query)
    merging = "github/merge_pull_request"
    assert merging not in refused.active
    allowed = attention.before_model(query, State(scopes=frozenset({"github:write"})))
    assert allowed.active[0] == merging
    told = seen[0].detail
    assert told["gated_out_by_state"] == [merging]
    assert told["candidates"][0] == merging
    assert len(told["scores"]) == len(told["candidates"])
    assert told["active_set"] == list(refused.active)
    assert (told["phase1_tokens"], told["phase2_tokens"]) == (
        refused.phase1_tokens,
        refused.phase2_tokens,
    )
    assert told["turn_id"] == refused.id != allowed.id
    assert told["query_hash"] == seen[1].detail["query_hash"]
    assert query not in json.dumps(told)
    assert told["latency_ms"] > 0
    assert (seen[0].at, seen[0].session, seen[0].tokens) == (7.0, "s", refused.tokens)
    assert seen[1].detail["gated_out_by_state"] == []


def test_an_agent_loop_finds_the_next_steps_tool_after_an_observation(attend: Callable) -> None:
    """A scripted model does a two-step task; the second tool is promoted by what it saw."""
    attention, seen, db = attend(RoutingSettings(k=1))
    script = ["read_file", "post_message", None]
    observations: list[str] = []
    called: list[str] = []
    for wanted in script:
        turn = attention.before_model("read the file from disk", observations=observations)
        call = call_of(turn, wanted) if wanted else None
        assert attention.after_model(turn, call) is None
        if call is None:
            break
        called.append(call)
        # no order: those of a request are answered in order, the first one first
        observations.append(
            "This is a message to post: it goes to a channel, posted as a message. " * 4
        )
    assert called == ["files__read_file", "slack__post_message"]
    with transaction(db):
        events.add(db, seen)
    stored = events.recent(db, 10)
    assert [e.kind for e in reversed(stored)] == ["search", "call", "search", "call", "search"]
    taught = labels_from_activity(stored)
    assert {label.expected for label in taught} == {
        ("files/read_file",),
        ("slack/post_message",),
    }


def test_tools_that_are_off_are_neither_in_the_pool_nor_promoted(attend: Callable) -> None:
    def turn_off(db: object) -> None:
        catalog = load_catalog(db)
        row = catalog.find("files/read_file")
        with transaction(db):
            profiles.set_on(db, catalog.profile.id, [row.tool.id], False)

    attention, _seen, _db = attend(change=turn_off)
    turn = attention.before_model("read the complete contents of a file from disk")
    assert "read_file" not in turn.pool
    assert "files/read_file" not in turn.active


def test_names_are_what_models_accept_and_stay_apart(
    make_router: Callable, tokens: Counter
) -> None:
    long = "x" * 80
    listed = [("a.b", "c", "One."), ("a_b", "c", "Two."), ("s", long, "Three.")]
    router, _db, catalog = make_router(listed)
    names = Attention(router, catalog, counter=tokens).names
    assert len(set(names.values())) == 3
    assert all(len(name) <= 64 and "/" not in name for name in names.values())
    assert names["a_b/c"] == hashed("a_b__c", "a_b/c")
    assert visible_name("files/read_file") == "files__read_file"


def test_an_empty_catalogue_and_an_empty_query_answer(
    make_router: Callable, tokens: Counter
) -> None:
    router, db, catalog = make_router([])
    turn = Attention(router, catalog, counter=tokens).before_model("")
    assert (turn.active, turn.schemas, turn.phase2_tokens) == ((), (), 0)
    assert Router.from_store(db, catalog).route("").tools == ()
