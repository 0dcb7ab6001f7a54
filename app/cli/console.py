"""What verbs write to: results on stdout (text or JSON), everything else on stderr."""

import getpass
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO


class Console:
    """One command's output; with `as_json` exactly one JSON document reaches stdout."""

    def __init__(self, *, as_json: bool, out: TextIO, err: TextIO, asked: TextIO) -> None:
        self.as_json = as_json
        self._out = out
        self._err = err
        self._asked = asked

    def result(self, value: Any, text: Callable[[], str]) -> None:
        """The command's answer: `value` as JSON, or what `text` gives."""
        shown = json.dumps(value, ensure_ascii=False, indent=2) if self.as_json else text()
        if shown:
            print(shown, file=self._out, flush=True)

    def note(self, text: str) -> None:
        """A remark beside the answer."""
        print(text, file=self._err, flush=True)

    def progress(self, text: str) -> None:
        """A line that the next one replaces on a terminal, and that is left out elsewhere."""
        if self._err.isatty():
            print(f"\r\x1b[2K{text}", end="", file=self._err, flush=True)

    def progress_done(self) -> None:
        """Clear the progress line."""
        self.progress("")

    @property
    def can_ask(self) -> bool:
        """Whether somebody is there to answer."""
        return self._asked.isatty() and self._err.isatty()

    def ask(self, question: str) -> bool:
        """A question with yes or no; no is the answer to everything but y and yes."""
        print(f"{question} [y/N] ", end="", file=self._err, flush=True)
        return self._asked.readline().strip().lower() in ("y", "yes")

    def ask_secret(self, question: str) -> str:
        """A line that is not shown as it is typed; from a pipe, its first line."""
        if not self.can_ask:
            return self._asked.readline().strip()
        return getpass.getpass(f"{question}: ", stream=self._err).strip()


def standard_console(*, as_json: bool) -> Console:
    """The console of this process."""
    return Console(as_json=as_json, out=sys.stdout, err=sys.stderr, asked=sys.stdin)


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> str:
    """Rows in aligned columns, the first row being the header; `right` columns hold numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def number(value: int) -> str:
    """An integer with thousands separated."""
    return f"{value:,}"
