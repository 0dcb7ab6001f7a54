"""What the gateway knows of a catalogue that changes while it is being read."""

import pytest

from app.gateway.access import Access
from app.gateway.catalog import Shelf
from app.paths import Paths
from store import profiles, tools
from store.connection import open_store, transaction


@pytest.fixture
def shelf(stocked, home):
    """A shelf that looks at the store at every turn, and what switches a tool off meanwhile."""
    stocked({"probe": "ok"})
    path = Paths(home, home / "models").database
    shelf = Shelf(str(path), "default", clock=iter(range(1, 1000)).__next__)
    shelf.open()

    def switch_off(name: str) -> None:
        db = open_store(path)
        (tool,) = [t for t in tools.tools(db) if t.name == name]
        profile = profiles.by_name(db, "default")
        with transaction(db):
            profiles.set_on(db, profile.id, [tool.id], on=False)
        db.close()

    yield shelf, switch_off
    shelf.close()


def test_a_tool_switched_off_while_it_was_looked_up_is_not_remembered_as_on(shelf, monkeypatch):
    shelf, switch_off = shelf
    access = Access(shelf)
    read = shelf.tools

    def late(**which):
        rows = read(**which)
        switch_off("echo")
        assert shelf.refresh()  # another thread takes the change in
        return rows

    monkeypatch.setattr(shelf, "tools", late)
    assert access.find("probe/echo").tool.on
    monkeypatch.setattr(shelf, "tools", read)
    assert not access.find("probe/echo").tool.on
    assert access.find("probe/echo").refusal == "it is switched off in this profile"
