"""What each real host sends to its model before and after an export, as a report in JSON.

measure.py [--out FILE] [HOST ...]: without names every host that is installed. One run each; bytes
vary by a few with the length of the throwaway home's path.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from judge.journey import ALL, KEPT, Outcome, travel
from judge.real import HOSTS, RealHost, real_host
from judge.trial import program

from app.hosts.facts import host as facts_of
from store.records import AS_IS, NATIVE, PRUNED, THROUGH
from tests.bench.report import COMPUTED, Cell, Column, Report, Table, label, table

PINS = Path(__file__).with_name("package.json")
MODES = (AS_IS, NATIVE, PRUNED, THROUGH)
Row = dict[str, Outcome]  # mode -> what happened


def main() -> int:
    """Measure, print, and write the report's JSON."""
    parser = argparse.ArgumentParser(description="Request bytes of real hosts.")
    parser.add_argument("hosts", nargs="*")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    hosts = [real_host(name) for name in given.hosts]
    hosts = hosts or [host for host in HOSTS if program(host).is_file()]
    rows = {}
    for host in hosts:
        for variant in ("", *host.variants):
            rows[_label(host, variant)] = measured(host, variant)
    found = report(rows)
    print(found.as_text())
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(found.as_json(), indent=1) + "\n", encoding="utf-8")
    return 0


def measured(host: RealHost, variant: str = "") -> Row:
    """One host in every mode it can be written in."""
    row = {}
    for mode in MODES:
        if mode == NATIVE and facts_of(host.id).native is None:
            continue
        home = Path(tempfile.mkdtemp(prefix="toolcrib-host-"))
        try:
            row[mode] = travel(host, home, mode=mode, variant=variant)
        finally:
            shutil.rmtree(home, ignore_errors=True)
        print(f"{_label(host, variant)}: {mode}", file=sys.stderr)
    return row


def report(rows: dict[str, Row]) -> Report:
    """Bytes, and what reached the model."""
    notes = (
        f"A server with {len(ALL)} tools (49 kB as JSON), {len(KEPT)} of them on; the model"
        " is a fake one on 127.0.0.1. Made by `python tests/hosts/measure.py`.",
        "Each host starts from the file that Toolcrib's export wrote; as is: before it. native: the"
        " host's own switches; pruned: the gateway in front of the one server; through:"
        " search_tools and call_tool.",
        "Claude Code, Qwen Code, Droid and Codex with gpt-5.5 load schemas on demand: the second"
        " table has the request after that, where the fake model can ask for it.",
        "Droid names MCP tools only in the answers of its search; the fake model asks it for all.",
        "CPU: the host, the server and the gateway together, as far as the host waited for them.",
    )
    return Report(
        "Real hosts",
        (
            _bytes("Bytes of the first request", rows, lambda one: one.size),
            _bytes("Bytes of the request in which the tool is called", rows, _loaded),
            _reached(rows),
        ),
        notes,
    )


def _loaded(one: Outcome) -> int | None:
    return one.loaded if one.answered else None


def _bytes(title: str, rows: dict[str, Row], of: Callable[[Outcome], int | None]) -> Table:
    columns = [label("host"), *map(Column, MODES)]
    columns += [Column(f"{mode}, saved %", COMPUTED) for mode in MODES[1:]]
    lines: list[Sequence[Cell]] = []
    for name, row in rows.items():
        sizes = {mode: of(row[mode]) if mode in row else None for mode in MODES}
        if any(sizes.values()):
            saved = [_saved(sizes[AS_IS], sizes[mode]) for mode in MODES[1:]]
            lines.append([name, *sizes.values(), *saved])
    return table(title, columns, lines)


def _saved(before: int | None, after: int | None) -> float | None:
    return round(100 * (1 - after / before), 1) if before and after else None


def _reached(rows: dict[str, Row]) -> Table:
    columns = [label("host")]
    columns += [Column(f"{mode}: tools named") for mode in MODES]
    columns += [label("called in"), Column("CPU s as is"), Column("CPU s through")]
    lines: list[Sequence[Cell]] = []
    for name, row in rows.items():
        named: list[Cell] = [len(row[mode].named) if mode in row else None for mode in MODES]
        called = ", ".join(mode for mode, one in row.items() if one.answered) or "none"
        cpu = [round(row[mode].ended.cpu, 1) for mode in (AS_IS, THROUGH)]
        lines.append([name, *named, called, *cpu])
    return table(f"What reached the model, of {len(ALL)} tools", columns, lines)


def _label(host: RealHost, variant: str) -> str:
    pins = json.loads(PINS.read_text(encoding="utf-8"))["dependencies"]
    name = f"{facts_of(host.id).name} ({host.package} {pins[host.package]})"
    return f"{name}, {variant}" if variant else name


if __name__ == "__main__":
    sys.exit(main())
