"""What each host's model gets, by the way the host gets its tools."""

import json

import pytest

from app.catalog.catalog import set_pinned
from app.core.settings import ProfileSettings
from app.export.apply import apply
from app.host_status.overview import survey
from app.host_status.sizes import host_sizes
from app.tokens.menu import menu_tokens
from store import profiles, servers
from store.connection import transaction
from store.records import AS_IS, COULD_NOT_START, NATIVE, PRUNED, THROUGH


@pytest.mark.parametrize(
    ("mode", "tokens", "tools"),
    [
        (AS_IS, 1000, 10),
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
    world.export("cursor", mode)
    (size,) = host_sizes(survey(db, world.places, catalog))
    assert (size.host, size.mode) == ("Cursor", mode)
    menu = menu_tokens(catalog) if mode == THROUGH else 0
    assert (size.verdict.tokens, size.verdict.tools) == (tokens + menu, tools)
    assert size.verdict.budget.max_tools == 40


def test_a_hosts_own_switches_count_as_long_as_its_file_has_them(world, db):
    file = world.write(".codex/config.toml", '[mcp_servers.stub]\ncommand = "x"\n')
    world.learn(tuple(f"tool_{n}" for n in range(10)))
    world.off("stub/tool_1", "stub/tool_2")
    world.export("codex", NATIVE)
    (size,) = host_sizes(survey(db, world.places, world.catalog))
    assert (size.mode, size.sent.tokens) == (NATIVE, 800)
    file.write_text(file.read_text() + "\n[tui]\ntheme = 1\n")
    (size,) = host_sizes(survey(db, world.places, world.catalog))
    assert (size.mode, size.sent.tokens) == (NATIVE, 800)
    file.write_text('[mcp_servers.stub]\ncommand = "x"\n')
    (size,) = host_sizes(survey(db, world.places, world.catalog))
    assert (size.mode, size.sent.tokens) == (AS_IS, 1000)


@pytest.mark.parametrize(("mode", "tokens", "tools"), [(NATIVE, 1100, 11), (THROUGH, 1000, 12)])
def test_a_server_that_the_profile_leaves_out_and_the_file_keeps_is_counted(
    world, db, mode, tokens, tools
):
    two = '[mcp_servers.stub]\ncommand = "x"\n\n[mcp_servers.own]\ncommand = "y"\n'
    world.write(".codex/config.toml", two)
    world.learn(tuple(f"tool_{n}" for n in range(10)))
    world.off("stub")
    world.on("stub/tool_1")
    settings = ProfileSettings(servers=("stub",)).to_json()
    with transaction(db):
        profiles.save_settings(db, world.catalog.profile.id, settings)
    plan = world.plan("codex", mode)
    menu = menu_tokens(world.catalog) if mode == THROUGH else 0
    assert (plan.tokens_before, plan.tokens_after) == (2000, tokens + menu)
    assert plan.unread == ()
    world.export("codex", mode)
    (size,) = host_sizes(survey(db, world.places, world.catalog))
    assert (size.sent.tokens, size.sent.count) == (tokens + menu, tools)
    assert size.behind == (("stub",) if mode == THROUGH else ())


@pytest.mark.parametrize(
    ("change", "is_another"),
    [
        ({"command": "y"}, True),
        ({"args": ["--all"]}, True),
        ({"url": "https://example.com/mcp"}, True),
        ({"env": {"NEW": "1"}}, True),
        ({"env": {"API_KEY": "sk-another-value-12345"}}, False),
        ({"timeout": 5}, False),
    ],
)
def test_tools_of_a_program_that_an_entry_names_no_longer_are_not_counted(
    world, db, change, is_another
):
    stub = {
        "command": "x",
        "args": ["--token=sk-one-value-123456"],
        "env": {"API_KEY": "sk-1-23456789"},
    }
    entries = {"stub": stub, "other": {"command": "y"}}
    file = world.write(".cursor/mcp.json", {"mcpServers": entries})
    world.learn(tuple(f"tool_{n}" for n in range(10)))
    (before,) = host_sizes(survey(db, world.places, world.catalog))
    if "url" in change:
        stub.clear()
    file.write_text(json.dumps({"mcpServers": {**entries, "stub": {**stub, **change}}}))
    (now,) = host_sizes(survey(db, world.places, world.catalog))
    assert (before.sent.count, before.unread) == (20, ())
    assert (now.sent.count, now.unread) == ((10, ("stub",)) if is_another else (20, ()))


def test_a_host_without_servers_of_the_catalogue_is_left_out(world, db):
    world.write(".cursor/mcp.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(("tool_1",))
    sizes = host_sizes(survey(db, world.places, world.catalog))
    assert [size.host for size in sizes] == ["Cursor"]


def test_a_host_whose_own_servers_are_unread_gets_the_menu_through_toolcrib(world, db):
    world.write(".cursor/mcp.json", {"mcpServers": {"other": {"command": "y"}}})
    world.write(".claude.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(tuple(f"tool_{n}" for n in range(10)))
    with transaction(db):
        unread = servers.by_name(db, "other")
        db.execute("DELETE FROM tools WHERE server_id = ?", (unread.id,))
        servers.set_status(db, unread.id, COULD_NOT_START)
    made = world.plan("cursor", THROUGH, also=["stub"])
    menu = menu_tokens(world.catalog.only(["stub"]))
    assert (made.tools_after, made.tokens_after) == (2, menu)
    apply(made, world.ctx, db)
    sizes = {s.facts.id: s for s in host_sizes(survey(db, world.places, world.catalog))}
    assert (sizes["cursor"].sent.count, sizes["cursor"].sent.tokens) == (2, menu)


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
