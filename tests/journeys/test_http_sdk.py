"""The official SDK's client at the backend's own URL, in all its modes; nothing of ours there."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402
import web_client  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no backend")
MODES = ("legacy", "auto", "2026-07-28")


@pytest.fixture
def url(tmp_path, monkeypatch):
    """url("") of the profile, url("/probe") of its one server; and the token."""
    home, port = tmp_path / "home", web_client.free_port()
    probe = {"command": sys.executable, "args": [str(FAKES / "probe_upstream.py")]}
    gateway_store.stock(home, {"probe": {**probe, "env": {"PROBE_NAME": "probe"}}})
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    monkeypatch.setenv("TOOLCRIB_HOME", str(home))
    monkeypatch.setenv("TOOLCRIB_MODELS", str(tmp_path / "no-models"))

    def backend(*words):
        command = [sys.executable, "-m", "ui.main", "backend", *words]
        given = {"cwd": ROOT, "env": dict(os.environ), "capture_output": True, "text": True}
        done = subprocess.run(command, timeout=60, check=True, **given)
        return done.stdout.strip()

    backend("http", "on", "--port", str(port))
    token = backend("http", "token")
    yield lambda server: (f"http://127.0.0.1:{port}/mcp/default{server}", token)
    backend("stop")


def talk(url, token, mode, conversation):
    """What a conversation with that client gives."""

    async def run():
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=60) as client:
                return await conversation(client)

    return anyio.run(run)


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_searches_and_calls_over_http(url, mode):
    async def conversation(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        rows = await client.call_tool("search_tools", {"query": "return the given text"})
        arguments = {"name": "probe/echo", "arguments": {"text": "hello"}}
        called = await client.call_tool("call_tool", arguments)
        return names, rows.content[0].text, called.content[0].text

    names, rows, called = talk(*url(""), mode, conversation)
    assert names == ["search_tools", "call_tool"]
    assert rows.startswith("probe/echo: Return the given text")
    assert called == "hello"


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_uses_one_server_as_the_server_itself(url, mode):
    seen = []

    async def progressed(progress, total, _message):
        seen.append((progress, total))

    async def conversation(client):
        names = {tool.name for tool in (await client.list_tools()).tools}
        called = await client.call_tool("progress", {}, progress_callback=progressed)
        read = await client.read_resource("probe://item/7")
        return names, called.content[0].text, read.contents[0].text

    names, called, read = talk(*url("/probe"), mode, conversation)
    assert {"echo", "crash", "update", "pid"} <= names and "search_tools" not in names
    assert called == "progressed" and read == "probe has probe://item/7"
    assert seen == [(1, 3), (2, 3), (3, 3)]
