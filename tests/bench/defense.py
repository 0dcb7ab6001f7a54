"""`bench defense`: what mcp-defense-bench measured of the gateway, as a report.

tests/bench/inputs/defense_adapter.py runs it, in an environment of its own.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.core.errors import ToolcribError
from store.typed import Json
from tests.bench.report import Cell, Column, Report, label, table

_NOTES = (
    "mcp-defense-bench (PyPI, Apache-2.0), its stdio adapter: the same traffic with and without the"
    " gateway in front of a fixture's server, in the form of one server's entry, added and read as"
    " a user does it. Stopped: a definition or result was kept from the client or changed, a call"
    " did not reach the tool. Fixtures that are no MCP traffic over stdio do not run.",
    "A control is an attack's benign twin. Changed: the client gets another definition, which the"
    " bench's own figures count as a false alarm. 159 of these lack $schema alone, which the"
    " gateway leaves out where it names the default dialect; 2 changed while the client was"
    " connected and wait for Review. None of the 256 definitions is warned of. Of the 337 benign"
    " items 312 are MCP traffic over stdio.",
    "Benign items share servers: each holds as many as have tools of other names.",
)
_REWRITTEN = "rewrote a tool definition"


def run(files: Sequence[Path]) -> Report:
    """The report of the bench's results: `dev` by kind of attack, `benign` by kind of item."""
    rows: list[tuple[Cell, ...]] = []
    for file in files:
        try:
            result = json.loads(file.read_text(encoding="utf-8"))
            rows += _attacks(result["cases"]) if "cases" in result else _benign(result["items"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ToolcribError(f"{file} is no result of mcp-defense-bench: {error!r}.") from error
    columns = [label("kind"), *map(Column, ("inputs", "stopped", "controls stopped", "changed"))]
    return Report("defense", (table("mcp-defense-bench at the gateway", columns, rows),), _NOTES)


def _attacks(cases: Sequence[Json]) -> list[tuple[Cell, ...]]:
    groups: dict[str, list[Json]] = {}
    for case in cases:
        groups.setdefault(str(case["id"]).partition("/")[0], []).append(case)
    return [
        (
            name,
            len(chosen),
            sum(_stopped(case["mal"]) for case in chosen),
            sum(_stopped(case["benign"]) for case in chosen),
            None,
        )
        for name, chosen in [*sorted(groups.items()), ("every attack", list(cases))]
    ]


def _benign(items: Sequence[Json]) -> list[tuple[Cell, ...]]:
    groups: dict[str, list[Json]] = {}
    for item in items:
        groups.setdefault(f"benign: {item['kind']}", []).append(item)
    return [
        (name, len(chosen), stopped - changed, None, changed)
        for name, chosen in [*sorted(groups.items()), ("every benign item", list(items))]
        for stopped in (sum(_stopped(item["verdict"]) for item in chosen),)
        for changed in (sum(_REWRITTEN in item["verdict"].get("signal", "") for item in chosen),)
    ]


def _stopped(verdict: Mapping[str, object]) -> bool:
    return bool(verdict["enforce"])
