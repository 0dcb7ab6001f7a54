"""Who waits for a server's list, and for how long."""

import pytest

from app.core.scrubber import Scrubber
from app.gateway.live_tools import LiveTools
from app.gateway.profile_view import ProfileView

pytestmark = pytest.mark.usefixtures("encoderless")


def tool(name):
    return {"name": name, "description": f"The {name}", "inputSchema": {"type": "object"}}


@pytest.fixture
def lists(stocked):
    """The lists of one running server, and what ends the check of each, in their order."""
    view = ProfileView(str(stocked({"probe": "ok"})), "default")
    view.open()
    checks = []
    live = LiveTools(view, lambda _row, _items, done: checks.append(done), Scrubber())
    yield live, checks
    view.close()


def test_who_waits_for_a_list_does_not_wait_for_those_that_follow_it(lists):
    live, checks = lists
    settled = []
    live.take("probe", [tool("first")], lambda: settled.append("first"))
    live.take("probe", [tool("second")], lambda: settled.append("second"))
    assert settled == []
    checks[0]()
    assert settled == ["first"]
    live.take("probe", [tool("third")], lambda: settled.append("third"))
    checks[1]()
    assert settled == ["first", "second"]


def test_one_who_waited_and_breaks_keeps_nobody_else_waiting(lists):
    live, checks = lists
    settled = []
    live.take("probe", [tool("first")], lambda: settled.append("before"))
    live.take("probe", [tool("second")], lambda: [][1])
    live.take("probe", [tool("third")], lambda: settled.append("behind"))
    checks[2]()
    checks[1]()
    checks[0]()
    assert settled == ["before", "behind"]


def test_a_newer_list_that_was_checked_first_settles_nothing_before_the_older(lists):
    live, checks = lists
    settled = []
    for name in ("first", "second"):
        live.take("probe", [tool(name)], lambda name=name: settled.append(name))
    checks[1]()
    assert settled == []
    checks[0]()
    assert settled == ["first", "second"]


def test_a_list_that_is_the_same_as_before_settles_at_once(lists):
    live, checks = lists
    settled = []
    live.take("probe", [tool("first")])
    checks[0]()
    live.take("probe", [tool("first")], lambda: settled.append("same"))
    assert settled == ["same"] and len(checks) == 1


def test_a_view_that_fails_keeps_nobody_waiting(lists, monkeypatch):
    live, checks = lists
    settled = []

    def fail(**_options):
        raise RuntimeError("the store is gone")

    live.take("probe", [tool("first")], lambda: settled.append("first"))
    monkeypatch.setattr(live._view, "refresh", fail)
    with pytest.raises(RuntimeError):
        checks[0]()
    assert settled == ["first"]
