from collections.abc import Callable

import apsw
import pytest

from app.catalog import catalog, reasons
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings
from store import findings, profiles, tools
from store.connection import transaction
from store.records import Finding
from store.search import Scope
from store.serving import tool_rows

Add = Callable[..., int]


def test_tools_are_on_until_ticked_off(db: apsw.Connection, add_server: Add) -> None:
    add_server("github", "a", "b")
    seen = catalog.load_catalog(db)
    assert [t.tool.tool_id for t in seen.shown] == ["github/a", "github/b"]
    changes = catalog.set_on(db, "default", [seen.tools[0].tool.id], False)
    assert changes.profile
    assert [t.tool.name for t in catalog.load_catalog(db).shown] == ["b"]


def test_an_untrusted_server_is_held_until_trusted(db: apsw.Connection, add_server: Add) -> None:
    server_id = add_server("stranger", "a", trusted=False)
    assert catalog.load_catalog(db).tools[0].held == reasons.UNTRUSTED
    catalog.trust_server(db, server_id, 5.0)
    assert catalog.load_catalog(db).tools[0].shown


def test_a_changed_tool_is_held_until_trusted_again(db: apsw.Connection, add_server: Add) -> None:
    server_id = add_server("s", "a")
    with transaction(db):
        db.execute("UPDATE tools SET hash = 'other'")
    assert catalog.load_catalog(db).tools[0].held == reasons.CHANGED
    catalog.trust_server(db, server_id, 5.0)
    assert catalog.load_catalog(db).tools[0].held == ""


def test_a_profile_may_be_limited_to_some_servers(db: apsw.Connection, add_server: Add) -> None:
    add_server("one", "a")
    add_server("two", "b")
    with transaction(db):
        profiles.create(db, "p", settings=ProfileSettings(servers=("two",)).to_json())
    seen = catalog.load_catalog(db, "p")
    assert [s.name for s in seen.servers] == ["two"]
    assert [t.tool.tool_id for t in seen.tools] == ["two/b"]


def test_patterns_name_servers_and_tools(db: apsw.Connection, add_server: Add) -> None:
    add_server("one", "get_a", "set_a")
    add_server("two", "get_b")
    seen = catalog.load_catalog(db)

    def names(*patterns: str) -> list[str]:
        return [t.tool.tool_id for t in catalog.match_tools(seen, patterns)]

    assert names("one") == ["one/get_a", "one/set_a"]
    assert names("*/get_*") == ["one/get_a", "two/get_b"]
    with pytest.raises(ToolcribError, match="No server or tool is called three"):
        names("three")
    add_server("empty")
    seen = catalog.load_catalog(db)
    with pytest.raises(ToolcribError, match="No tools of empty are known") as unread:
        names("empty")
    assert unread.value.hint == "Read them with: toolcrib scan"


def test_an_unknown_profile_names_the_known_ones(db: apsw.Connection) -> None:
    with pytest.raises(ToolcribError) as caught:
        catalog.load_catalog(db, "nope")
    assert "default" in caught.value.hint


def test_the_cost_is_of_the_encoding_asked_for(db: apsw.Connection, add_server: Add) -> None:
    add_server("s", "a")
    assert catalog.load_catalog(db).tools[0].cost == 100
    assert catalog.load_catalog(db, encoding="cl100k_base").tools[0].tokens is None
    assert [t.name for t in tools.tools(db)] == ["a"]


def test_a_suspect_tool_is_held_everywhere_until_somebody_decides(
    db: apsw.Connection, add_server: Add
) -> None:
    server_id = add_server("s", "a", "b")
    first = tools.tools(db)[0]
    found = Finding(0, first.id, "poison", "block", "do not tell the user", first.hash)
    with transaction(db):
        findings.save(db, first.id, [found], 1.0)
    seen = catalog.load_catalog(db)
    assert [t.tool.name for t in seen.shown] == ["b"]
    assert seen.tools[0].held == reasons.BLOCKED
    in_scope = db.execute(Scope(profile_id=1, only_on=True).condition()).fetchall()
    assert in_scope == [(seen.tools[1].tool.id,)]
    assert [row.reason for row in tool_rows(db, 1)] == [reasons.BLOCKED, ""]
    catalog.trust_server(db, server_id, 5.0)
    assert len(catalog.load_catalog(db).shown) == 2


def test_trusting_lets_new_tools_go(db: apsw.Connection, add_server: Add) -> None:
    server_id = add_server("s", "a")
    with transaction(db):
        profiles.set_held(db, 1, [tools.tools(db)[0].id], "it is new")
    assert catalog.load_catalog(db).shown == ()
    catalog.trust_server(db, server_id, 5.0)
    assert len(catalog.load_catalog(db).shown) == 1
