"""What each host's model gets, by the way the host gets its tools."""

from dataclasses import replace

import pytest

from app.catalog.catalog import set_pinned
from app.host_status.overview import survey
from app.host_status.sizes import host_sizes
from app.tokens.menu import menu_tokens
from store.records import AS_IS, NATIVE, PRUNED, THROUGH


@pytest.mark.parametrize(
    ("mode", "tokens", "tools"),
    [
        (AS_IS, 1000, 10),
        (NATIVE, 800, 8),
        (PRUNED, 800, 8),
        (THROUGH, 100, 3),
    ],
)
def test_each_mode_sends_its_part_of_the_tools(world, db, mode, tokens, tools):
    world.write(".cursor/mcp.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(tuple(f"tool_{n}" for n in range(10)))
    world.off("stub/tool_1", "stub/tool_2")
    pinned = world.catalog.find("stub/tool_3").tool.id
    set_pinned(db, "default", [pinned], True)
    catalog = world.catalog
    statuses = survey(db, world.places, catalog)
    (status,) = [s for s in statuses if s.host.id == "cursor"]
    (size,) = host_sizes([replace(status, mode=mode)])
    assert (size.host, size.mode) == ("Cursor", mode)
    menu = menu_tokens(catalog) if mode == THROUGH else 0
    assert (size.verdict.tokens, size.verdict.tools) == (tokens + menu, tools)
    assert size.verdict.budget.max_tools == 40


def test_a_host_without_servers_of_the_catalogue_is_left_out(world, db):
    world.write(".cursor/mcp.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(("tool_1",))
    sizes = host_sizes(survey(db, world.places, world.catalog))
    assert [size.host for size in sizes] == ["Cursor"]


def test_a_host_whose_own_servers_are_unread_gets_the_menu_through_toolcrib(world, db):
    world.write(".cursor/mcp.json", {"mcpServers": {"other": {"command": "y"}}})
    world.write(".claude.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(tuple(f"tool_{n}" for n in range(10)))
    made = world.plan("cursor", THROUGH)
    assert (made.tools_after, made.tokens_after) == (2, menu_tokens(world.catalog))
    statuses = survey(db, world.places, world.catalog)
    (status,) = [s for s in statuses if s.host.id == "cursor"]
    (size,) = host_sizes([replace(status, mode=THROUGH)])
    assert (size.sent.count, size.sent.tokens) == (2, menu_tokens(world.catalog))


def test_an_entry_that_was_removed_outside_no_longer_counts_as_through_toolcrib(world, db):
    stub = {"stub": {"command": "x"}}
    file = world.write(".cursor/mcp.json", {"mcpServers": stub})
    world.learn(tuple(f"tool_{n}" for n in range(10)))
    world.export("cursor", THROUGH)
    (size,) = host_sizes(survey(db, world.places, world.catalog))
    assert size.mode == THROUGH and size.sent.tokens < 1000
    file.write_text('{"mcpServers": {"stub": {"command": "x"}}}')
    (size,) = host_sizes(survey(db, world.places, world.catalog))
    assert (size.mode, size.sent.tokens) == (AS_IS, 1000)


def test_a_tool_set_that_narrows_nothing_by_itself_claims_nothing(world):
    world.write(".config/Code/User/mcp.json", {"servers": {"stub": {"command": "x"}}})
    world.learn()
    world.off("stub/alpha_get")
    made = world.plan("vscode", NATIVE)
    assert made.tokens_after == made.tokens_before == 400
