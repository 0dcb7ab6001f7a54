"""Run mcp-defense-bench in front of the real gateway, by the bench's own stdio adapter.

It needs FastMCP 4, which cannot be installed beside Toolcrib's SDK. In an environment with
`mcp-defense-bench[fastmcp]`, from Toolcrib's checkout:

    python tests/bench/inputs/defense_adapter.py TOOLCRIB_PYTHON dev|benign OUT.json

Each fixture's server is added, read and exported as a user does it, in a home of its own; then a
client talks to it through the gateway, and without. Nothing is trusted in Review.

The benign items share servers: each holds the tools of as many items as have other names, and one
gateway is in front of it. The bench asks for a verdict an item and says nothing of processes, so
its own traffic, comparison and verdicts stay. A definition that changes needs a server of its own.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastmcp import Client, FastMCP  # type: ignore[import-not-found]
from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from mcp_defense_bench import run  # type: ignore[import-not-found]
from mcp_defense_bench.adapters import Verdict  # type: ignore[import-not-found]
from mcp_defense_bench.adapters import _fixture as bench
from mcp_defense_bench.adapters.stdio import (  # type: ignore[import-not-found]
    StdioProxyAdapter,
    _invocations,
)
from mcp_defense_bench.bench import Bench  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from store.typed import Json  # this environment has no Toolcrib

    Wrap = Callable[[list[str], Path], tuple[list[str], dict[str, str]]]
    Steps = dict[str, list[Json]]

_ROOT = Path(__file__).parents[3]
_MODELS = Path.home() / ".local" / "share" / "toolcrib" / "models"  # exported once before
_SECONDS = 600
_SERVE = "serve"  # the server of many fixtures: this file itself
_ALONE = ("definition-change",)


def wrapper(python: str) -> "Wrap":
    """The gateway in the form that one server's entry has."""

    def wrap(server: list[str], work: Path) -> tuple[list[str], dict[str, str]]:
        env = {
            "TOOLCRIB_HOME": str(work / "home"),
            "TOOLCRIB_MODELS": os.environ.get("TOOLCRIB_MODELS", str(_MODELS)),
            "TOOLCRIB_STANDALONE": "1",
            "HOME": str(work),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(_ROOT),
        }
        file = work / "servers.json"
        entry = {"command": server[0], "args": server[1:]}
        file.write_text(json.dumps({"mcpServers": {"fixture": entry}}), encoding="utf-8")
        add = [python, "-m", "ui.main", "import", str(file), "--scan", "--yes"]
        subprocess.run(add, env=env, cwd=work, capture_output=True, timeout=_SECONDS, check=True)
        words = ["-m", "app.gateway.main", "--profile", "default", "--server", "fixture"]
        return [python, *words], env

    return wrap


class SharedServers(StdioProxyAdapter):  # type: ignore[misc]
    """The same with one server and one gateway for many fixtures."""

    def __init__(self, python: str, cases: "Sequence[Json]") -> None:
        super().__init__("toolcrib", wrapper(python), timeout=_SECONDS)
        self._verdicts: dict[str, Verdict] = {}
        self._parts = _parts([c for c in cases if c["fixture"]["type"] in bench.FIXTURE_TYPES])

    async def assess(self, fixture: "Json", testcase: "Json") -> Verdict:
        if fixture["type"] in _ALONE:
            return await super().assess(fixture, testcase)
        if testcase["id"] not in self._verdicts:
            (part,) = (p for p in self._parts if any(c["id"] == testcase["id"] for c in p))
            direct, guarded = await self._steps(part, proxied=False), await self._steps(part)
            for case in part:
                pairs = zip(direct[case["id"]], guarded[case["id"]], strict=True)
                why = next((bench.diff(b, g) for b, g in pairs if b != g), "")
                self._verdicts[case["id"]] = Verdict(bool(why), bool(why), why[:200])
            print(len(self._verdicts), "items", file=sys.stderr, flush=True)
        return self._verdicts[testcase["id"]]

    async def _steps(self, part: "Sequence[Json]", *, proxied: bool = True) -> "Steps":
        """What each fixture's traffic gives."""
        with tempfile.TemporaryDirectory(prefix="mdb-") as folder:
            work = Path(folder)
            packet, calls = work / "fixtures.json", work / "invocations.jsonl"
            packet.write_text(json.dumps([case["fixture"] for case in part]), encoding="utf-8")
            calls.touch()
            command, env = [sys.executable, __file__, _SERVE, str(packet), str(calls)], {}
            if proxied:
                command, env = self.wrap(command, work)
            with (work / "stderr.log").open("w") as err:
                words = {"env": env or None, "cwd": folder, "keep_alive": False, "log_file": err}
                transport = StdioTransport(command[0], command[1:], **words)
                return await asyncio.wait_for(_traffic(part, Client(transport), calls), _SECONDS)


async def _traffic(part: "Sequence[Json]", client: Client, log: Path) -> "Steps":
    steps: Steps = {}
    async with client:
        listed = bench.listing(await client.list_tools())
        for case in part:
            fixture = case["fixture"]
            if fixture["type"].endswith("definition"):
                own = [tool for tool in listed if tool["name"] in _names(fixture)]
                steps[case["id"]] = [{"op": "tools/list", "tools": own}]
                continue
            steps[case["id"]] = made = []
            for call in bench.calls(fixture):
                before = len(_invocations(log))
                result = await client.call_tool(
                    call["name"], call["arguments"], raise_on_error=False
                )
                made.append(bench.call_outcome(result, _invocations(log)[before:]))
    return steps


def _names(fixture: "Json") -> set[str]:
    if fixture["type"] == "tool-call-sequence":
        return {str(call["name"]) for call in fixture["calls"]}
    return {str(fixture["tool"]["name"])}


def _parts(cases: "Iterable[Json]") -> "list[Sequence[Json]]":
    """The items by server: each goes to the first that has none of its tools' names."""
    parts: list[tuple[list[Json], set[str]]] = []
    for case in cases:
        if case["fixture"]["type"] in _ALONE:
            continue
        names = _names(case["fixture"])
        part = next((p for p in parts if not p[1] & names), None)
        if part is None:
            parts.append(part := ([], set()))
        part[0].append(case)
        part[1].update(names)
    return [items for items, _ in parts]


def serve(packet: str, log: str) -> None:
    """A server of many fixtures, as the bench's serves one."""
    server = FastMCP("mcp-defense-bench-fixture")
    for fixture in json.loads(Path(packet).read_text(encoding="utf-8")):
        reply = bench.fixture_reply(fixture)
        tools = [fixture["tool"]] if "tool" in fixture else [{"name": n} for n in _names(fixture)]
        for tool in tools:
            server.add_tool(bench.fixture_tool(tool, reply, log_path=log))
    server.run(transport="stdio", show_banner=False)


if __name__ == "__main__":
    if sys.argv[1] == _SERVE:
        serve(*sys.argv[2:])
    else:
        toolcrib_python, corpus, out = sys.argv[1:]
        benign = corpus == "benign"
        adapter = (
            SharedServers(toolcrib_python, Bench.vendored_snapshot().load_cases(corpus))
            if benign
            else StdioProxyAdapter("toolcrib", wrapper(toolcrib_python), timeout=_SECONDS)
        )
        result = run(adapter, corpus)
        Path(out).write_text(json.dumps(result, indent=1), encoding="utf-8")
