"""The official SDK's client as the host, in all its modes; nothing of ours on that side."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402


@pytest.fixture
def command(tmp_path, monkeypatch):
    """How a host's config starts the gateway over one probe server."""
    monkeypatch.setenv("TOOLCRIB_MODELS", str(tmp_path / "no-models"))
    launch = {
        "command": sys.executable,
        "args": [str(FAKES / "probe_upstream.py")],
        "env": {"PROBE_NAME": "probe"},
    }
    gateway_store.stock(tmp_path / "home", {"probe": launch})
    env = {
        **os.environ,
        "TOOLCRIB_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
    }

    def make(*args):
        given = ["-m", "app.gateway.main", "--profile", "default", *args]
        return StdioServerParameters(command=sys.executable, args=given, env=env)

    return make


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_official_client_searches_and_calls(command, mode):
    async def talk():
        async with Client(command(), mode=mode, read_timeout_seconds=60) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("search_tools", {"query": "return the given text"})
            arguments = {"name": "probe/echo", "arguments": {"text": "hello"}}
            called = await client.call_tool("call_tool", arguments)
            return names, found.content[0].text, called.content[0].text

    names, found, called = anyio.run(talk)
    assert names == ["search_tools", "call_tool"]
    assert found.startswith("probe/echo: Return the given text")
    assert called == "hello"


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_official_client_uses_a_pruned_server_as_the_server_itself(command, mode):
    seen = []

    async def progressed(progress, total, _message):
        seen.append((progress, total))

    async def talk():
        params = command("--server", "probe")
        async with Client(params, mode=mode, read_timeout_seconds=60) as client:
            tools = (await client.list_tools()).tools
            prompts = (await client.list_prompts()).prompts
            called = await client.call_tool("progress", {}, progress_callback=progressed)
            read = await client.read_resource("probe://item/7")
            names = {tool.name for tool in tools}
            return names, prompts[0].name, called.content[0].text, read.contents[0].text

    tools, prompt, called, read = anyio.run(talk)
    assert {"echo", "crash", "update", "pid"} <= tools and "search_tools" not in tools
    assert prompt == "greet" and called == "progressed"
    assert read == "probe has probe://item/7"
    assert seen == [(1, 3), (2, 3), (3, 3)]
