"""Labelled queries as files: JSONL and CSV, read and written."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.core.safe_write import write_file
from store.records import LabelRecord
from store.typed import Json, object_or_empty

_LARGEST = 64 << 20  # bytes
SPLIT = "|"  # between the tools of a CSV cell
_COLUMNS = ("query", "expected")


def read(file: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Queries with their tools, of a JSONL or CSV file; raises ToolcribError with the line."""
    try:
        lines = read_plain(file, _LARGEST).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ToolcribError(f"{file} cannot be read: {error}.", "Use UTF-8 text.") from error
    if file.suffix.lower() == ".csv":
        return list(_from_csv(file, lines))
    return [_row(file, at, _object(file, at, x)) for at, x in enumerate(lines, 1) if x.strip()]


def write(file: Path, rows: Sequence[LabelRecord]) -> None:
    """Write labelled queries as JSONL, or as CSV where the name says so."""
    text = _as_csv(rows) if file.suffix.lower() == ".csv" else _as_jsonl(rows)
    try:
        write_file(file, text.encode())
    except OSError as error:
        raise ToolcribError(f"{file} cannot be written: {error.strerror}.") from error


def _as_jsonl(rows: Sequence[LabelRecord]) -> str:
    entries = ({"query": r.query, "expected": list(r.expected)} for r in rows)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in entries)


def _as_csv(rows: Sequence[LabelRecord]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    # a line break inside a cell would end the row for `read`, which counts lines
    writer.writerows((" ".join(r.query.split()), SPLIT.join(r.expected)) for r in rows)
    return text.getvalue()


def _from_csv(file: Path, lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    rows = csv.DictReader(lines)
    if not set(_COLUMNS) <= set(rows.fieldnames or ()):
        raise ToolcribError(f"{file} lacks a column.", "It needs query and expected.")
    for row in rows:
        names = [name.strip() for name in (row["expected"] or "").split(SPLIT)]
        label = {"query": row["query"], "expected": [name for name in names if name]}
        yield _row(file, rows.line_num, label)


def _object(file: Path, at: int, line: str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ToolcribError(f"Line {at} of {file} is not JSON.", "Mend that line.") from error


def _row(file: Path, at: int, row: object) -> tuple[str, tuple[str, ...]]:
    label: Json = object_or_empty(row)
    query, tools = label.get("query"), label.get("expected")
    has_query = isinstance(query, str) and query.strip()
    if not (has_query and isinstance(tools, list) and all(_is_tool(tool) for tool in tools)):
        raise ToolcribError(
            f"Line {at} of {file} is no labelled query.",
            'It needs a query and its tools: {"query": "...", "expected": ["server/tool"]}.',
        )
    return str(query), tuple(tools)


def _is_tool(name: object) -> bool:
    return isinstance(name, str) and "/" in name
