"""What the window shows of a gateway's answers is what a real gateway answers, byte for byte."""

import json

import pytest

from app.catalog.catalog import load_catalog, match_tools, set_on, set_pinned
from app.gateway.rehearsal import rehearse
from store import events
from store.connection import open_store

pytestmark = pytest.mark.usefixtures("encoderless")
QUERY = "read a note"


@pytest.fixture
def database(stocked):
    """Two servers; a tool of one is pinned, one is off."""
    path = stocked({"alpha": "ok", "beta": "ok"})
    db = open_store(path)
    pinned, off = match_tools(load_catalog(db), ["alpha/read_note", "beta/read_note"])
    set_pinned(db, "default", [pinned.tool.id], True)
    set_on(db, "default", [off.tool.id], False)
    db.close()
    return path


def line_of(host, start):
    """The line that the gateway answered which holds this."""
    return next(line for line in host.lines if start in line).rstrip(b"\n").decode()


def test_the_list_and_a_searchs_answer_through_toolcrib_are_the_gateways(database, gateway):
    heard = rehearse(str(database), "default", query=QUERY)
    host = gateway()
    host.initialize()
    assert [tool["name"] for tool in host.tools()][:2] == ["search_tools", "call_tool"]
    assert f'"result":{heard.tools}}}' in line_of(host, b'"tools":[')
    assert "alpha__read_note" in heard.tools
    first = host.search(QUERY)
    loading = "(Words only: the encoder is still loading.)"
    unprepared = "(Words only: open the Playground in Toolcrib to prepare the encoder.)"
    assert heard.search == first.replace(loading, unprepared)


def test_the_list_of_one_pruned_server_is_the_gateways(database, gateway):
    heard = rehearse(str(database), "default", server="beta")
    host = gateway("--server", "beta")
    host.initialize()
    names = [tool["name"] for tool in host.tools()]
    assert "read_note" not in names and names
    assert f'"result":{heard.tools}}}' in line_of(host, b'"tools":[')
    assert [tool["name"] for tool in json.loads(heard.tools)["tools"]] == names


def test_nothing_is_started_and_nothing_is_noted(stocked, log):
    path = stocked({"alpha": "ok"}, settings={"gateway": {"start_ahead": True}})
    before = len(log("alpha"))
    rehearse(str(path), "default", query=QUERY)
    rehearse(str(path), "default", server="alpha")
    assert len(log("alpha")) == before
    db = open_store(path)
    assert events.recent(db, 10) == []
    db.close()
