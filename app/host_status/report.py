"""Report on the tools that hosts' models get: Markdown, CSV or JSON."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from app.host_status.sizes import HostSize
from app.host_status.tool_list import ListedTool, listed_tools
from store.typed import Json

_COLUMNS = ("host", "mode", "name", "tool", "tokens", "later", "state", "why")


@dataclass(frozen=True, slots=True)
class HostReport:
    """One host's number and its tools."""

    size: HostSize
    tools: tuple[ListedTool, ...]


def report_of(sizes: Sequence[HostSize]) -> tuple[HostReport, ...]:
    """A report on each of these hosts."""
    return tuple(HostReport(size, listed_tools(size)) for size in sizes)


def written(reports: Sequence[HostReport], form: str, encoding: str) -> str:
    """The reports as `md`, `csv` or `json`; the tokens' encoding is named where there is room."""
    return FORMS[form](reports, encoding)


def _markdown(reports: Sequence[HostReport], encoding: str) -> str:
    lines = ["# Tools that each host's model gets", ""]
    lines += [f"Tokens counted with {encoding}, at the first request of a session.", ""]
    for report in reports:
        size = report.size
        lines += [f"## {size.host}", "", f"{_headline(size)}.", ""]
        lines += [
            "| name | tool | tokens | on demand | state | why |",
            "|---|---|---:|---:|---|---|",
        ]
        lines += [
            f"| {_cell(t.name)} | {_cell(t.tool_id)} | {t.tokens:,} | {t.later:,} | {t.state} |"
            f" {_cell(t.why)} |"
            for t in report.tools
        ]
        lines.append("")
    return "\n".join(lines)


def _headline(size: HostSize) -> str:
    later = f", {size.sent.later:,} more on demand" if size.sent.later else ""
    words = f"{size.mode}: {size.sent.count} tools, {size.sent.tokens:,} tokens{later}"
    return f"{words}; {size.verdict.word}"


def _cell(text: str) -> str:
    """Text of a server inside a table: no bar, no line break, no markup."""
    clean = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\|`*_[]<>" else c for c in clean)


def _csv(reports: Sequence[HostReport], _encoding: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for report in reports:
        for t in report.tools:
            row = (t.name, t.tool_id, t.tokens, t.later, t.state, t.why)
            writer.writerow([_plain(v) for v in (report.size.facts.id, report.size.mode, *row)])
    return out.getvalue()


def _plain(value: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    risky = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if risky else value


def _json(reports: Sequence[HostReport], encoding: str) -> str:
    value: Json = {
        "tokenizer": encoding,
        "hosts": [
            {
                "id": r.size.facts.id,
                "name": r.size.host,
                "mode": r.size.mode,
                "profile": r.size.profile,
                "tools": r.size.sent.count,
                "tokens": r.size.sent.tokens,
                "later": r.size.sent.later,
                "verdict": r.size.verdict.word,
                "list": [asdict(tool) for tool in r.tools],
            }
            for r in reports
        ],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


FORMS: Mapping[str, Callable[[Sequence[HostReport], str], str]] = {
    "md": _markdown,
    "csv": _csv,
    "json": _json,
}
