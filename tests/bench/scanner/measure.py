"""`bench scanner`: what the scanner holds and warns of, by part of the split.

The parts named `last` and `report` were read by nobody while rules were written, weights fitted or
thresholds set; they are to be measured once and reported as they come out.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from app.safety.patterns import check
from tests.bench.report import Cell, Column, Report, Table, label, table
from tests.bench.scanner.corpus import (
    BENIGN,
    SplitTool,
    own_attacks,
    own_definitions,
    own_tools,
    real_tools,
    specimens,
)
from tests.bench.scanner.split import (
    BLIND,
    DEFINITIONS,
    LAST,
    OPEN,
    REPORT,
    TRAIN,
    TUNING,
    WRITTEN,
)

_PARTS = (OPEN, TRAIN, TUNING, *DEFINITIONS[::2], LAST, REPORT, WRITTEN, *BLIND, *DEFINITIONS[1::2])
_ONCE = (LAST, REPORT, WRITTEN, *BLIND, *DEFINITIONS[1::2])  # to be read at the end


def run(data: Path, *, last: bool = False, own: Path | None = None) -> Report:
    """Specimens and real tools by part; `last` also measures what is to be read once."""
    tools = [*specimens(data / "poison" / "tools.jsonl"), *real_tools(data)]
    tools += [*(own_tools(own) if own is not None else []), *own_attacks()]
    tools += own_definitions()
    chosen = [tool for tool in tools if last or tool.part not in _ONCE]
    start = time.process_time()
    severities = [_severity(tool) for tool in chosen]
    spent = 1000 * (time.process_time() - start) / max(1, len(chosen))
    return Report(
        "scanner", (_by_part(chosen, severities), _cost(len(chosen), spent)), _notes(last)
    )


def _severity(tool: SplitTool) -> str:
    findings = check(tool.tool, tool.others)
    return findings[0].severity if findings else ""


def _by_part(tools: Sequence[SplitTool], severities: Sequence[str]) -> Table:
    groups: dict[tuple[int, str], list[str]] = {}
    for tool, severity in zip(tools, severities, strict=True):
        groups.setdefault((_PARTS.index(tool.part), group_of(tool)), []).append(severity)
    rows: list[tuple[Cell, ...]] = []
    for (_, group), levels in sorted(groups.items()):
        held, warned = levels.count("block"), levels.count("warn")
        shares = (100 * held / len(levels), 100 * (held + warned) / len(levels))
        rows.append((group, len(levels), held, warned, *shares))
    columns = map(Column, ("tools", "held", "warned", "held %", "held or warned %"))
    return table("The scanner by part of the split", [label("what"), *columns], rows)


def group_of(tool: SplitTool) -> str:
    """What a tool is counted as, with the part that it is in."""
    if tool.is_catalogued:
        return f"real tools, {tool.part}"
    is_hard = tool.family == BENIGN and tool.is_hard
    return f"{'hard negatives' if is_hard else tool.family}, {tool.part}"


def _cost(tools: int, spent: float) -> Table:
    columns = [label("what"), Column("tools"), Column("CPU ms a tool")]
    return table("Cost", columns, [("rules and classifier", tools, spent)])


def _notes(last: bool) -> tuple[str, ...]:
    split = (
        "Parts are dealt by SHA-256 of the package or of the specimen's text"
        " (tests/bench/scanner/split.py). Rules were written beside the open specimens and the"
        " training servers; thresholds come from training servers that were left out, fold by fold."
    )
    fresh = (
        "tuning and report are servers of npm and PyPI that are in none of the data and list their"
        " tools without a credential (packaging/fresh_servers.toml, chosen by name); the tuning"
        " half was looked at while features, thresholds and honest wordings were chosen, the report"
        " half was read at the end; one rule (labelled samples) was mended after that and changed"
        " nothing in it."
    )
    attacks = (
        "Our own attacks and honest orders (tests/bench/inputs/attacks.jsonl) were written before"
        " anything scored them; nothing was changed for what they showed. The wordings that are"
        " trained on (tests/bench/inputs/scanner) are by fourteen writers who had not read them,"
        " and two more in other languages. The blind ones are by three authors who had read nothing"
        " of Toolcrib. Blind 3 was first scored by the fit before this one (62 of 100 held, 28"
        " warned of; 2 of 80 honest ones held, 9 warned of); then twelve honest lines came in for"
        " one tool of the tuning half. No blind set chose anything."
    )
    definitions = (
        "definitions are 120 attacks and 120 honest tools by one writer (attack_definitions.jsonl),"
        " put down before any was scored and dealt in turn. The first set scored 40 of 60 and 4 of"
        " 60; then words of ten more languages, lines of a fifteenth writer (the same person), the"
        " normaliser and three rules were mended on it, and the second set was scored once: 51 of"
        " 60 flagged, 2 of 60 honest ones."
    )
    languages = (
        "six languages are 30 attacks and 30 honest tools in Italian, Russian, Korean, Dutch,"
        " Polish and Turkish, put down before any was scored and dealt in turn. Words for them and"
        " weights fitted anew flagged two more of the first 18 attacks and held one less of the"
        " other 12, as of other sets: they were not taken."
    )
    writers = (
        "What the weights make of a writer whom they never read stands in"
        " resources/scanner/report.json (wordings left out): English orders are judged by a model"
        " that saw nothing of their writer, those in other languages by one that saw nothing of"
        " their idea."
    )
    read = (
        "The last half is no longer untouched: it was read with the first weights, with the second"
        " ones, where it showed one honest tool and one hard negative that were held, with the"
        " third and fourth ones, which held one honest tool for what a switch of it decides"
        ' ("Whether ... should forward credentials"), and with those since, which held none.'
    )
    return (
        split,
        fresh,
        attacks,
        definitions,
        languages,
        writers,
        read if last else "The last half was left alone; --last reads it.",
    )
