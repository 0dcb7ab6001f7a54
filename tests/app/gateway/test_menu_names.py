"""The menu names servers of which something can be called, and no others."""

from contextlib import closing

import pytest

from store.connection import open_store

pytestmark = pytest.mark.usefixtures("encoderless")
_ALL_OFF = (
    "INSERT OR REPLACE INTO profile_tools (profile_id, tool_id, is_on, pinned, held)"
    " SELECT p.id, t.id, 0, 0, '' FROM profiles p, tools t JOIN servers s ON s.id = t.server_id"
    " WHERE p.name = 'default' AND s.name = 'silent'"
)
_FAILED = "UPDATE servers SET status = 'could not start' WHERE name = 'broken'"


def test_the_menu_names_no_server_that_cannot_start_or_has_every_tool_off(stocked, gateway):
    database = stocked({"probe": "ok", "silent": "ok", "broken": "ok"}, {"new_tools": "on"})
    with closing(open_store(str(database))) as db:
        db.execute(_ALL_OFF)
        db.execute(_FAILED)
    host = gateway()
    words = host.initialize()["instructions"]
    assert "keeps 1 servers" in words or "keeps 1 server" in words
    assert "silent" not in words and "broken" not in words
    assert "Servers: probe." in host.tools()[0]["description"]


def test_a_server_that_starts_again_is_named_again(stocked, gateway):
    database = stocked({"probe": "ok", "broken": "ok"}, {"new_tools": "on"})
    with closing(open_store(str(database))) as db:
        db.execute(_FAILED)
        host = gateway()
        host.initialize()
        assert "broken" not in host.tools()[0]["description"]
        db.execute("UPDATE servers SET status = 'ok' WHERE name = 'broken'")
        host.until(lambda: "broken" in host.tools()[0]["description"], 10)
