"""What a host's model gets of a server that the host names twice is counted twice, and listed."""

from app.host_status.sizes import measure
from app.host_status.tool_list import GIVEN, listed_tools

ONE = {"command": "uvx", "args": ["mcp-server-time"]}


def size(world, host="cursor"):
    sizes = measure(world.db, world.places, world.catalog)
    return next(one for one in sizes if one.facts.id == host)


def test_two_names_send_each_tool_twice_and_one_name_in_two_files_once(world):
    world.write(".cursor/mcp.json", {"mcpServers": {"time": ONE}})
    world.learn()
    once = size(world)
    world.write(".cursor/mcp.json", {"mcpServers": {"time": ONE, "clock": ONE}})
    world.learn()
    twice = size(world)
    assert twice.sent.count == 2 * once.sent.count
    assert twice.sent.tokens == twice.verdict.tokens == 2 * once.sent.tokens
    given = [tool for tool in listed_tools(twice) if tool.state == GIVEN]
    assert (
        len(given) == twice.sent.count and sum(tool.tokens for tool in given) == twice.sent.tokens
    )
    assert sum("twice, here as clock" in tool.why for tool in given) == once.sent.count


def test_through_toolcrib_they_are_one(world):
    world.write(".cursor/mcp.json", {"mcpServers": {"time": ONE, "clock": ONE}})
    world.learn()
    world.export("cursor", "through")
    assert size(world).sent.count == 2, "the menu"
