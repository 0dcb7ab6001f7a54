"""The gateway judge's raw figures (a program outside this project) as a report."""

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from app.core.errors import ToolcribError
from store.typed import Json
from tests.bench.report import Column, Report, Table, label, table

_LATENCIES = ("direct_p50", "p50", "added_p50", "ratio_med")
# rows of the pass-through checks that tell times, not behaviour
_TIMES = frozenset({"ready_s", "conc20x500ms", "load", "took_s", "stop", "junk"})
_NOTE = (
    "Measured from outside by a raw JSON-RPC client that starts the gateway as a host does, in"
    " front of real servers; cl100k tokens of compact {name, description, input_schema}. Wall"
    " times are of the machine's load at that moment: compare within one run."
)


def run(raw: Path) -> Report:
    """The report of what the judge left in its raw folder; what is missing is left out."""
    if not raw.is_dir():
        raise ToolcribError(f"There is no folder {raw}.", "Run the gateway judge first.")
    makers = (_menus, _latency, _starts, _first_search, _faults, _passing)
    tables = tuple(made for maker in makers if (made := maker(raw)) and made.rows)
    return Report("Gateway, judged from outside", tables, (_NOTE,))


def _menus(raw: Path) -> Table:
    columns = [
        label("gateway"),
        *map(Column, ("menu tokens", "instructions tokens", "search hit@1")),
    ]
    columns += map(Column, ("hit@3 (of 10)", "answer tokens, median", "ms a search", "MB"))
    rows = []
    for name, figures in _each(raw, "perf"):
        search = figures.get("search_sum") or {}
        rows.append(
            (
                name,
                figures.get("host_tokens"),
                figures.get("instr_tokens"),
                search.get("hit1"),
                search.get("hit3"),
                search.get("tokens_med"),
                search.get("ms_med"),
                figures.get("rss_gw_after_mb"),
            )
        )
    return table("Menu and search over ten real servers (145 tools, 30,553 tokens)", columns, rows)


def _latency(raw: Path) -> Table:
    """Medians over the runs: calls.json, and calls.N.json where there were several."""
    columns = [label("gateway"), Column("runs"), *map(Column, ("direct p50 ms", "p50 ms"))]
    columns += map(Column, ("added p50 ms", "ratio", "50 at once, ms", "CPU ms a call"))
    runs: dict[str, list[tuple[float, ...]]] = {}
    for file in raw.glob("calls*.json"):
        for name, figures in _read(file).items():
            if "p50" in figures:
                figure = (*(figures[key] for key in _LATENCIES), figures["conc"][1])
                runs.setdefault(name, []).append((*figure, figures["gw_cpu_ms"]))
    rows = [
        (name, len(figures), *map(median, zip(*figures, strict=True)))
        for name, figures in sorted(runs.items())
    ]
    return table("Added latency of a call, alternating blocks, medians of runs", columns, rows)


def _starts(raw: Path) -> Table:
    names = ("init_s", "list_s", "ready_s", "gw_cpu_s", "rss_gw_mb", "exit_s")
    columns = [label("gateway"), *map(Column, names), Column("orphans")]
    rows = [
        (name, *(figures.get(f"{key}_med") for key in names), figures.get("orphans"))
        for name, figures in _read(raw / "light.json").items()
    ]
    return table("Cold start with ten light servers, medians", columns, rows)


def _first_search(raw: Path) -> Table:
    columns = [label("gateway"), label("start"), Column("s to the first right search, median")]
    rows = []
    for name, figures in _read(raw / "firstsearch.json").items():
        for kind in ("cold", "warm"):
            times = sorted(row[0] for row in figures.get(kind, ()) if row[0] is not None)
            if times:
                rows.append((name, kind, times[len(times) // 2]))
    return table("Spawn to the first search that finds the right tool", columns, rows)


def _faults(raw: Path) -> Table:
    columns = [label("gateway"), label("bad server"), Column("init s"), label("other answered")]
    columns += [label("what the model is told"), Column("exit s"), Column("orphans")]
    rows = []
    for name, cases in _each(raw, "fault"):
        for mode, case in cases.items():
            if not isinstance(case, Mapping):
                continue
            answer = case.get("bad_call")
            text = answer.get("text") if isinstance(answer, Mapping) else answer
            stop = case.get("stop", {})
            answered = "yes" if case.get("ready_s") else "no"
            rows.append(
                (
                    name,
                    mode,
                    case.get("init_s"),
                    answered,
                    str(text),
                    stop.get("exit_s"),
                    stop.get("orphans"),
                )
            )
    return table("Five bad servers beside a good one", columns, rows)


def _passing(raw: Path) -> Table | None:
    control = _read(raw / "direct.pass.json")
    if not control:
        return None
    columns = [label("gateway"), Column("checks equal to no gateway"), Column("of")]
    columns.append(label("different"))
    rows = []
    for name, outcome in _each(raw, "pass"):
        if name == "direct":
            continue
        checks = [key for key in control if key not in _TIMES]
        other = [key for key in checks if outcome.get(key) != control[key]]
        rows.append((name, len(checks) - len(other), len(checks), ", ".join(other)))
    return table("Pass-through checks", columns, rows)


def _each(raw: Path, kind: str) -> list[tuple[str, Json]]:
    files = sorted(raw.glob(f"*.{kind}.json"))
    return [(file.name.removesuffix(f".{kind}.json"), _read(file)) for file in files]


def _read(file: Path) -> Json:
    try:
        content: Json = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ToolcribError(f"{file} is no JSON: {error}.") from error
    return content
