"""Ticks for one server that stay inside the budget."""

from collections.abc import Callable

import apsw
import pytest

from app.catalog.catalog import Catalog, load_catalog, set_on, set_pinned, trust_server
from app.core.errors import ToolcribError
from app.policy.fitting import fit
from store import profiles, tools
from store.connection import transaction

AddServer = Callable[..., int]


def budget(db: apsw.Connection, tokens: int) -> Catalog:
    with transaction(db):
        record = profiles.by_name(db, "default")
        assert record
        profiles.save_settings(db, record.id, {"budget": {"tokens": tokens}})
    return load_catalog(db)


def ids(db: apsw.Connection) -> dict[str, int]:
    return {tool.tool_id: tool.id for tool in tools.tools(db)}


def test_all_are_ticked_where_all_fit_in(db: apsw.Connection, add_server: AddServer) -> None:
    add_server("a", "one", "two")
    made = fit(budget(db, 1_000), "a")
    assert [t.tool.name for t in made.on] == ["one", "two"] and made.off == () == made.doubles
    assert made.text == "All 2 tools of a fit in: PASS, 200 of 1,000 tokens."


def test_those_that_fit_the_request_come_first_and_pass_holds(
    db: apsw.Connection, add_server: AddServer
) -> None:
    add_server("mine", "read", "list")
    add_server("pdf", "draw", "read", "text", "turn", "zoom")
    known = ids(db)
    made = fit(budget(db, 600), "pdf", [known["pdf/zoom"], known["pdf/text"]])
    assert [t.tool.name for t in made.on] == ["zoom", "text"]  # PASS is below 480
    assert (made.all_on.word, made.proposed.word) == ("BLOCK", "PASS")
    assert made.doubles == (("read", "mine/read"),)
    assert made.off[-1].tool.name == "read"  # the one that is there already comes last
    assert "With 2 of them: PASS, 400 of 600 tokens." in made.text


def test_a_pinned_tool_stays_and_held_ones_count_as_approved(
    db: apsw.Connection, add_server: AddServer
) -> None:
    server = add_server("pdf", "a", "b", "c", trusted=False)
    set_pinned(db, "default", [ids(db)["pdf/c"]], True)
    made = fit(budget(db, 300), "pdf")
    assert [t.tool.name for t in made.on] == ["c", "a"] and made.changes == 1
    trust_server(db, server, 1.0)
    set_on(db, "default", [one.tool.id for one in made.off], False)
    assert fit(load_catalog(db), "pdf").changes == 0


def test_no_room_is_a_sentence_that_says_what_to_do(
    db: apsw.Connection, add_server: AddServer
) -> None:
    add_server("mine", "a", "b", "c")
    add_server("pdf", "text")
    made = fit(budget(db, 300), "pdf")
    assert made.on == () and made.text == (
        "WARN, 300 of 300 tokens without pdf: no tool of it fits in. Turn off others first."
    )


def test_a_server_that_is_not_there_or_was_not_read_is_an_error(
    db: apsw.Connection, add_server: AddServer
) -> None:
    add_server("empty")
    with pytest.raises(ToolcribError, match="no server called nothing"):
        fit(load_catalog(db), "nothing")
    with pytest.raises(ToolcribError, match="no tool that could be ticked"):
        fit(load_catalog(db), "empty")
