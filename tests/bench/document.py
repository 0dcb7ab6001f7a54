"""tests/bench/RESULTS.md, put together from the JSON that the experiments wrote."""

import json
import os
import platform
import re
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

from store.typed import JsonMapping
from tests.bench import host_search

_PACKAGES = ("apsw", "sqlite-vec", "onnxruntime", "mcp", "tiktoken", "PySide6-Essentials")
_METRICS = ("hit1", "r5", "r10", "ndcg10", "mrr", "active", "empty", "cpu_ms")


def document(folder: Path, clock: float, before: str = "") -> str:
    """The document from every *.json below `folder`, in the order of their names.

    Sections of the document before that no file is about stay, with their head and their place.
    """
    sections: dict[str, str] = {}
    for file in sorted(folder.glob("*.json")):
        value = json.loads(file.read_text(encoding="utf-8"))
        parts = _retrieval(file.stem, value) if "macro" in value else _report(value)
        sections[parts[0]] = "\n\n".join(parts)
    head, *old = re.split(r"\n\n(?=## )", before.rstrip("\n"))
    earlier = {section.partition("\n")[0]: section for section in old}
    if earlier.keys() <= sections.keys():
        head, earlier = _head(clock), {}
    return "\n\n".join([head, *{**earlier, **sections}.values()]) + "\n"


def _head(clock: float) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    day = time.strftime("%Y-%m-%d", time.gmtime(clock))
    return (
        "# Benchmarks\n\nMade by `make bench` (each section names its command); not edited by"
        " hand. Every column is marked: [m] measured in the run, [c] computed from measured"
        " figures, [p] projected on assumptions, [published] somebody else's figure.\n\n"
        f"{day} · {_processor()}, {os.cpu_count()} cores · {platform.system()}"
        f" {platform.release()} · Python {platform.python_version()} · {packages}.\n"
        "The machine is shared: trust CPU time and ratios, not wall time."
    )


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _report(value: JsonMapping) -> list[str]:
    """A report of tests.bench.report as markdown."""
    parts = [f"## {value['experiment']}"]
    for table in value["tables"]:
        parts.append(f"### {table['title']}")
        if table["rows"]:
            parts.append(_table(table["rows"], table.get("kinds", {})))
    if value.get("notes"):
        parts.append("\n".join(f"- {note}" for note in value["notes"]))
    return parts


_MARKS = {"measured": "m", "computed": "c", "projected": "p", "published": "published"}


def _table(rows: list[JsonMapping], kinds: Mapping[str, str]) -> str:
    names = list(rows[0])
    heads = [f"{n} [{_MARKS[kinds[n]]}]" if kinds.get(n) in _MARKS else n for n in names]
    lines = [heads, ["---"] + ["--:"] * (len(names) - 1)]
    lines += [[_cell(row[name]) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def _retrieval(stem: str, value: JsonMapping) -> list[str]:
    """The retrieval JSON (macro and sets) as markdown."""
    known = ("paper", *host_search.WAYS, "ours", "cold", "learned", "shipped", "left_out")
    ways = [way for way in known if way in value["macro"]]
    rows: list[JsonMapping] = [
        {"set": name, "method": way} | _metrics(block[way])
        for name, block in [*value["sets"].items(), ("**macro**", value["macro"])]
        for way in ways
        if way in block
    ]
    kinds = dict.fromkeys(_METRICS, "measured")
    notes = [f"Left out: {', '.join(value['left_out'])}."] if value.get("left_out") else []
    if "gain" in value["macro"]:
        gain, never = value["macro"]["gain"], value["macro"]["never_gain"]
        notes.append(f"nDCG@10 gained by learning: {gain:+.2f}; tools never logged: {never:+.2f}.")
    if len(value.get("logs", ())) > 1:
        gains, nevers = ([log[key] for log in value["logs"]] for key in ("gain", "never_gain"))
        notes.append(
            f"Over {len(gains)} logs, this one the first: {fmean(gains):+.2f} ({min(gains):+.2f} to"
            f" {max(gains):+.2f}); tools never logged: {fmean(nevers):+.2f} ({min(nevers):+.2f} to"
            f" {max(nevers):+.2f})."
        )
    if host_search.AS_TYPED in value["macro"]:
        notes.append(host_search.NOTE)
    if value.get("leave_one_out"):
        notes.append(
            f"left_out: for each set, the constants of {value['grid']} that are best on all other"
            " sets; shipped: the same constants for all. A sample of each set's queries."
        )
    return [
        f"## `python -m tests.bench retrieval` ({stem.split('-', 1)[-1]})",
        _table(rows, kinds),
        *notes,
    ]


def _metrics(block: Mapping[str, float]) -> dict[str, float | None]:
    return {name: round(float(block[name]), 2) if name in block else None for name in _METRICS}
