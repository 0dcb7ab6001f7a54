import pytest

from app.export.snippet import snippet
from app.export.wrapping import GatewayCall
from app.host_status.recommend import recommend
from app.hosts.documents.values import read_values
from app.hosts.facts import host, load_hosts
from app.hosts.importing import read_data

PATHS = {
    "cursor": ".cursor/mcp.json",
    "kiro": ".kiro/settings/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
}


def learned(world, host_id, tools):
    world.write(PATHS[host_id], {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(tuple(f"tool_{n}" for n in range(tools)))


def test_a_host_whose_tools_are_all_on_and_within_its_limits_is_left_alone(world):
    learned(world, "cursor", 10)
    found = recommend(host("cursor"), world.catalog)
    assert (found.mode, found.saving) == ("as-is", 0)


def test_a_host_over_its_limit_goes_through_toolcrib(world):
    learned(world, "cursor", 60)
    found = recommend(host("cursor"), world.catalog)
    assert found.mode == "through" and "takes about 40 tools and 60 are on" in found.reason
    assert 5000 < found.saving < 6000


def test_a_host_with_its_own_switches_is_pruned_natively(world):
    learned(world, "windsurf", 10)
    world.off("stub/tool_1")
    found = recommend(host("windsurf"), world.catalog)
    assert (found.mode, found.saving) == ("native", 100)


def test_a_host_without_switches_is_pruned_by_the_gateway(world):
    learned(world, "claude-desktop", 10)
    world.off("stub/tool_1", "stub/tool_2")
    found = recommend(host("claude-desktop"), world.catalog)
    assert (found.mode, found.saving) == ("pruned", 200)


def test_a_host_that_loads_tools_on_demand_saves_nothing_and_says_so(world):
    learned(world, "claude-code", 10)
    found = recommend(host("claude-code"), world.catalog)
    assert (found.mode, found.saving) == ("as-is", 0)
    assert "on demand" in found.reason and "32 %" in found.saving_note
    world.off("stub/tool_1")
    found = recommend(host("claude-code"), world.catalog)
    assert (found.mode, found.saving) == ("native", 0)
    assert found.reason == "Claude Code can hide the tool that is off by itself."
    assert found.saving_note.count("on demand") == 1, "the note says it, and not the reason too"


def test_a_host_over_the_budget_goes_through_toolcrib(world):
    learned(world, "kiro", 250)
    found = recommend(host("kiro"), world.catalog)
    assert found.mode == "through" and "25,000 tokens" in found.reason


def test_names_that_are_too_long_go_through_toolcrib(world):
    world.write(PATHS["cursor"], {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(("a" * 61,))
    assert recommend(host("cursor"), world.catalog).mode == "through"


def test_a_host_with_no_known_server_is_left_alone(world):
    assert recommend(host("zed"), world.catalog).mode == "as-is"


@pytest.mark.parametrize("host_id", [facts.id for facts in load_hosts()])
def test_every_host_has_a_snippet_that_reads_back_to_toolcribs_entry(host_id):
    facts = host(host_id)
    text = snippet(facts, GatewayCall("/opt/toolcrib-gateway", "lean"))
    kind = next((file.format for file in facts.files if file.role == "servers"), "json")
    assert read_values(text.encode(), kind).value
    suffix = {"toml": ".toml", "yaml": ".yaml"}.get(kind, ".json")
    from pathlib import Path

    assert read_data(text.encode(), Path(f"x{suffix}"), host_id).through == "lean"
