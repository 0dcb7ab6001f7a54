"""The sample servers that Toolcrib brings along, read by the probe and called by a client."""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from app.hosts.launch import STDIO, LaunchSpec
from app.registry.probe import probe
from app.safety.patterns import check_all
from app.safety.server_texts import judge_server
from resources.sample.config import sample_config, write_sample_config, write_sample_home
from store.records import ToolRecord

CALLS = [
    ("files", "search_files", {"pattern": "*.md", "contains": "Lisbon"}, "plans/trip.md"),
    ("notes", "create_note", {"title": "Tea", "body": "Green."}, '"id": 3'),
    ("calendar", "find_free_slots", {"date": "2026-12-02"}, "09:00 to 12:00"),
    ("tracker", "list_issues", {"label": "bug"}, "Crash when a file is empty"),
    ("mail", "reply_to_message", {"message_id": 3, "body": "Fine."}, "Re: Meeting moved"),
    ("weather", "daily_forecast", {"city": "Oslo", "days": 2}, '"rain_mm"'),
    ("database", "run_query", {"sql": "SELECT count(*) AS n FROM orders"}, '"n": 3'),
]


def launch(name: str, state: Path) -> LaunchSpec:
    entry = sample_config(state)["mcpServers"][name]
    return LaunchSpec(STDIO, entry["command"], tuple(entry["args"]), env=entry["env"])


def test_seven_servers_offer_more_than_sixty_good_tools(tmp_path: Path) -> None:
    readings = {name: probe(launch(name, tmp_path)) for name, *_ in CALLS}
    assert all(reading.read for reading in readings.values())
    tools = [tool for reading in readings.values() for tool in reading.tools]
    assert len(tools) > 60
    assert not any(tool.problem for tool in tools)
    assert all(len(tool.raw["description"]) > 15 for tool in tools)
    assert all(reading.instructions for reading in readings.values())


@pytest.mark.parametrize(("name", "tool", "arguments", "expected"), CALLS)
def test_a_sample_server_really_works(
    name: str, tool: str, arguments: dict[str, object], expected: str, tmp_path: Path
) -> None:
    spec = launch(name, tmp_path)
    parameters = StdioServerParameters(
        command=spec.command, args=list(spec.args), env=dict(spec.env)
    )

    async def call() -> tuple[str, bool, bool]:
        async with Client(parameters) as client:
            result = await client.call_tool(tool, arguments)
            wrong = await client.call_tool(tool, {"no-such-argument": 1})
            said = result.content[0]
            assert isinstance(said, TextContent)
            return said.text, bool(result.is_error), bool(wrong.is_error)

    text, failed, refused = anyio.run(call)
    assert expected in text
    assert not failed
    assert refused


def test_the_sample_home_names_them_for_two_hosts(tmp_path: Path) -> None:
    from app.hosts.places import Places
    from app.hosts.reading import read_hosts

    home = write_sample_home(tmp_path / "home")
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")
    readings = read_hosts(Places(home, {}, system))
    found = {reading.host.id: len(reading.entries) for reading in readings}
    assert found == {"claude-desktop": 7, "cursor": 3}


def test_the_sample_config_can_be_imported(tmp_path: Path) -> None:
    from app.registry.importing import preview

    file = write_sample_config(tmp_path / "sample" / "config.json", tmp_path)
    assert [name for name, _ in preview(file)][:2] == ["files", "notes"]


def test_the_samples_warn_of_nothing(tmp_path: Path) -> None:
    readings = {name: probe(launch(name, tmp_path)) for name, *_ in CALLS}
    records = [
        ToolRecord(n, place, name, tool.name, tool.raw, tool.hash, tool.hash)
        for place, (name, reading) in enumerate(readings.items())
        for n, tool in enumerate(reading.tools, 1_000 * place)
    ]
    details = [one.detail for many in check_all(records).values() for one in many]
    for reading in readings.values():
        details += [str(one) for one in judge_server(reading)]
    assert details == []
