"""What a conversation remembers, and what it forgets."""

from app.gateway.menu.loop_guard import LoopGuard, Rules, guidance, normalised
from app.gateway.menu.session import Limits, LoadedSet, Session, Sessions


def test_idle_tools_leave_before_the_least_recently_used():
    loaded = LoadedSet(Limits(tools=2, tokens=1000, idle_seconds=60))
    loaded.load("a", 10, 0)
    loaded.load("b", 10, 50)
    loaded.touch("a", 55)
    assert loaded.load("c", 10, 100) == ["b"]  # a was used later
    assert loaded.load("d", 10, 118) == ["a"]  # idle since 55
    assert loaded.ids == ("c", "d")


def test_tokens_count_as_well_and_the_newest_always_stays():
    loaded = LoadedSet(Limits(tools=10, tokens=100, idle_seconds=60))
    loaded.load("a", 60, 0)
    assert loaded.load("b", 60, 1) == ["a"]
    assert loaded.load("huge", 500, 2) == ["b"]
    assert loaded.ids == ("huge",) and loaded.tokens == 500


def test_a_tool_is_taken_away_once():
    loaded = LoadedSet(Limits())
    loaded.load("a", 5, 100)
    assert loaded.evict("a") and not loaded.evict("a")
    assert len(loaded) == 0


def test_a_loop_is_seen_in_time_and_in_a_row():
    guard = LoopGuard(Rules(calls=3, window_calls=4, window_seconds=10))
    assert [guard.note("s/t", {"a": 1}, at) for at in (0, 1, 2)] == [0, 0, 3]
    slow = LoopGuard(Rules(calls=3, window_calls=4, window_seconds=10))
    assert [slow.note("s/t", {}, at) for at in (0, 100, 200)] == [0, 0, 3]  # in a row
    mixed = LoopGuard(Rules(calls=3, window_calls=2, window_seconds=10))
    for at, name in ((0, "a"), (1, "b"), (2, "a"), (3, "b")):
        assert mixed.note(name, {}, at) == 0
    assert mixed.note("a", {}, 4) == 3  # three within ten seconds, though never in a row
    assert mixed.note("b", {}, 40) == 0
    timed = LoopGuard(Rules(calls=2, window_calls=0, window_seconds=10))
    assert [timed.note("s/t", {}, at) for at in (0, 100, 101)] == [0, 0, 2]


def test_equal_arguments_in_another_form_are_equal():
    assert normalised({"b": 1.0, "a": " x  y "}) == normalised({"a": "x y", "b": 1, "c": None})
    guard = LoopGuard(Rules(calls=2))
    guard.note("s/t", {"q": "a b"}, 0)
    assert guard.note("s/t", {"q": "a  b", "n": None}, 1) == 2
    guard.clear()
    assert guard.note("s/t", {"q": "a b"}, 2) == 0
    assert guard.note("s/u", {"q": "a b"}, 2) == 0


def test_old_calls_are_forgotten():
    guard = LoopGuard(Rules(calls=2, window_calls=3, window_seconds=1e9))
    guard.note("s/t", 0, 0)
    for number in range(40):
        guard.note("s/t", number + 1, 0)
    assert guard.note("s/t", 0, 0) == 0


def test_arguments_nested_too_deeply_to_compare_are_no_loop():
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    guard = LoopGuard(Rules(calls=1))
    assert guard.note("s/t", deep, 0) == 0


def test_a_guard_can_be_switched_off():
    guard = LoopGuard(Rules(calls=0))
    assert [guard.note("a", 1, 0) for _ in range(5)] == [0] * 5


def test_guidance_knows_some_kinds_of_tools():
    assert "Use what was returned" in guidance("fs/read_file", 3)
    assert guidance("x/frobnicate", 4).endswith("answer with what you have.")


def session() -> Session:
    return Session(LoadedSet(Limits()), LoopGuard(Rules()))


def test_a_search_with_much_the_same_answer_is_noticed():
    one = session()
    assert one.redundant("first", ["a", "b", "c"]) == ""
    assert one.redundant("second", ["a", "b", "d"]) == ""
    assert one.redundant("third", ["c", "b", "a"]) == "first"
    assert one.redundant("nothing", []) == ""


def test_only_successful_calls_are_remembered():
    one = session()
    one.note_call("a/b", succeeded=False)
    one.note_call("a/c", succeeded=True)
    one.note_call("a/c", succeeded=True)
    assert list(one.called) == ["a/c"]


def test_conversations_are_bounded_in_number_and_age():
    now = [0.0]
    sessions = Sessions(session, most=2, clock=lambda: now[0])
    first = sessions.get("a")
    sessions.get("b")
    assert sessions.get("a") is first
    sessions.get("c")  # b was the longest unused
    assert len(sessions) == 2 and sessions.get("a") is first
    now[0] = 100.0
    sessions.get("c")
    sessions.expire(50)
    assert len(sessions) == 1
