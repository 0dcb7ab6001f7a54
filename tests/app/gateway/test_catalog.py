"""What the gateway knows of a catalogue that changes while it is being read."""

import pytest

from app.core.paths import Paths
from app.core.scrubber import Scrubber
from app.gateway.live_tools import LiveTools
from app.gateway.menu.access import Access
from app.gateway.profile_view import ProfileView
from store import profiles, tools
from store.connection import open_store, transaction


@pytest.fixture
def view(stocked, home):
    """A view that looks at the store at every turn, and what switches a tool off meanwhile."""
    stocked({"probe": "ok"})
    path = Paths(home, home / "models").database
    view = ProfileView(str(path), "default", clock=iter(range(1, 1000)).__next__)
    view.open()

    def switch_off(name: str) -> None:
        db = open_store(path)
        (tool,) = [t for t in tools.tools(db) if t.name == name]
        profile = profiles.by_name(db, "default")
        with transaction(db):
            profiles.set_on(db, profile.id, [tool.id], on=False)
        db.close()

    yield view, switch_off
    view.close()


def test_a_tool_switched_off_while_it_was_looked_up_is_not_remembered_as_on(view, monkeypatch):
    view, switch_off = view
    access = Access(view, LiveTools(view, lambda _row, _items: None, Scrubber()))
    read = view.tools

    def late(**which):
        rows = read(**which)
        switch_off("echo")
        assert view.refresh()  # another thread takes the change in
        return rows

    monkeypatch.setattr(view, "tools", late)
    assert access.find("probe/echo").tool.shown
    monkeypatch.setattr(view, "tools", read)
    assert not access.find("probe/echo").tool.shown
    assert access.find("probe/echo").refusal == "it is turned off in this profile"
