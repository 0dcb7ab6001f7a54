"""Runs Cisco's YARA rules over the rows of `bench scanner` and prints an experiment's JSON.

Usage: python -m tests.bench.scanner.peers PYTHON DATA [FRESH]

PYTHON is that of an environment with cisco-ai-mcp-scanner.

The peer reads each tool as its own scanner does, the description and the rest apart; any
finding counts as flagged, since it holds nothing back. FRESH is the file of fresh_servers.py.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from app.safety.patterns import check
from tests.bench.scanner.corpus import own_tools, real_tools, specimens
from tests.bench.scanner.measure import group_of

COLUMNS = ("tools", "peer flagged %", "ours flagged %", "ours held %")
PEER = """
import asyncio, json, sys
from importlib.metadata import version
from mcpscanner.core.analyzers.yara_analyzer import YaraAnalyzer

async def main():
    analyzer = YaraAnalyzer()
    print(json.dumps(version("cisco-ai-mcp-scanner")))
    for line in sys.stdin:
        row = json.loads(line)
        context = {"tool_name": row["name"]}
        texts = [row["description"], json.dumps(row["rest"])]
        findings = [f for text in texts for f in await analyzer.analyze(text, context)]
        print(json.dumps(bool(findings)))

asyncio.run(main())
"""


def main(python: str, data: Path, fresh: Path | None) -> int:
    """Print the report."""
    tools = [*specimens(data / "poison" / "tools.jsonl"), *real_tools(data)]
    tools += own_tools(fresh) if fresh else []
    rows: list[dict[str, object]] = [
        {
            "name": tool.tool.name,
            "description": tool.tool.description,
            "rest": {key: part for key, part in tool.tool.raw.items() if key != "description"},
        }
        for tool in tools
    ]
    version, flagged = peer(python, rows)
    groups: dict[str, list[tuple[bool, str]]] = {}
    for tool, flag in zip(tools, flagged, strict=True):
        findings = check(tool.tool, tool.others)
        ours = findings[0].severity if findings else ""
        groups.setdefault(group_of(tool), []).append((flag, ours))
    table = {
        "title": "Flagged beside a peer, on the same rows",
        "rows": [line(name, results) for name, results in sorted(groups.items())],
        "kinds": dict.fromkeys(COLUMNS, "measured"),
    }
    notes = [
        f"The peer is cisco-ai-mcp-scanner {version}, its YARA rules alone (offline, no model)."
        " mcpproxy-go was not run: it is a Go module, and no Go proxy was in reach.",
    ]
    report = {"experiment": "scanner peers", "tables": [table], "notes": notes}
    print(json.dumps(report, indent=2))
    return 0


def peer(python: str, rows: Sequence[dict[str, object]]) -> tuple[str, list[bool]]:
    """The peer's version, and whether it flags each row."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    command = [python, "-c", PEER]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    version, *flagged = map(json.loads, done.stdout.splitlines())
    return version, flagged


def line(name: str, results: Sequence[tuple[bool, str]]) -> dict[str, object]:
    """One row of the table."""

    def share(count: int) -> float:
        return 100 * count / len(results)

    return {
        "what": name,
        "tools": len(results),
        "peer flagged %": share(sum(flag for flag, _ in results)),
        "ours flagged %": share(sum(ours in ("block", "warn") for _, ours in results)),
        "ours held %": share(sum(ours == "block" for _, ours in results)),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None))
