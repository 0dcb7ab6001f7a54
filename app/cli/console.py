"""Output of verbs: results on stdout (text or JSON), everything else on stderr.

The border to the terminal: whatever servers, files and repositories put into a text, no control
or invisible character leaves through here (escape sequences repaint a screen or write a clipboard).
"""

import contextlib
import getpass
import io
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from app.core.errors import ToolcribError
from app.core.output import write_out
from app.core.text import visible

_KEPT = "\n\t"
_LONGEST_CELL = 160
_UNPRINTED = re.compile(r"[^\x20-\x7e\n]")


class Console:
    """One command's output; with `as_json` exactly one JSON document reaches stdout."""

    def __init__(self, *, as_json: bool, out: TextIO, err: TextIO, answers: TextIO) -> None:
        self.as_json = as_json
        self._out = out
        self._err = err
        self._answers = answers
        self._passing = False  # a line of progress is on the terminal

    def result(self, value: object, text: Callable[[], str]) -> None:
        """The command's answer: `value` as JSON, or what `text` gives."""
        shown = _json(value) if self.as_json else visible(text(), _KEPT)
        self.progress_done()
        try:
            if shown:
                write_out(f"{shown}\n", self._out)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._out.close()  # or Python tries again at its end
            reason = error.strerror or str(error)
            raise ToolcribError(f"The answer could not be written: {reason}.") from error

    def note(self, text: str) -> None:
        """A remark beside the answer."""
        self.progress_done()
        write_out(f"{visible(text, _KEPT)}\n", self._err)

    def progress(self, text: str) -> None:
        """A line that what comes next replaces on a terminal, and that is left out elsewhere."""
        if self._err.isatty():
            self._passing = bool(text)
            write_out(f"\r\x1b[2K{visible(text)}", self._err)

    def progress_done(self) -> None:
        """Clear the progress line, if there is one."""
        if self._passing:
            self.progress("")

    @property
    def can_ask(self) -> bool:
        """True if a person can answer a question."""
        return self._answers.isatty() and self._err.isatty()

    def confirm(self, question: str) -> bool:
        """A question with yes or no; no is everything but y and yes, and where no person is."""
        if not self.can_ask:
            return False
        self.progress_done()
        write_out(f"{visible(question)} [y/N] ", self._err)
        return self._answers.readline().strip().lower() in ("y", "yes")

    def agrees(self, question: str, otherwise: str, *, yes: bool = False) -> bool:
        """True after a yes, given before by `yes` or now; else `otherwise` is noted."""
        if yes or self.confirm(question):
            return True
        self.note(otherwise)
        return False

    def ask_secret(self, question: str) -> str:
        """A line that is not shown as it is typed; from a pipe, its first line."""
        if not self.can_ask:
            return self._answers.readline().strip()
        return getpass.getpass(f"{question}: ", stream=self._err).strip()


def mend_streams() -> None:
    """Let this process print what its terminal's encoding lacks, and run without a stream."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed by who started us
            nothing = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, name, nothing)
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def standard_console(*, as_json: bool) -> Console:
    """The console of this process."""
    return Console(as_json=as_json, out=sys.stdout, err=sys.stderr, answers=sys.stdin)


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> str:
    """Rows in aligned columns, the first row being the header; `right` columns hold numbers.

    A longer cell is cut, for a server may name a tool as it likes; the last, which widens no
    other, is whole.
    """
    shown = [[*(_cut(visible(cell)) for cell in row[:-1]), visible(row[-1])] for row in rows]
    widths = [max(len(row[i]) for row in shown) for i in range(len(rows[0]))]
    lines = []
    for row in shown:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _cut(cell: str) -> str:
    return cell if len(cell) <= _LONGEST_CELL else f"{cell[: _LONGEST_CELL - 1]}…"


def _json(value: object) -> str:
    """One JSON document, in which what is not drawn is escaped; it means the same."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _UNPRINTED.sub(lambda match: _escaped(match[0]), text)


def _escaped(char: str) -> str:
    return char if visible(char) == char else json.dumps(char)[1:-1]


def number(value: int) -> str:
    """An integer with thousands separated."""
    return f"{value:,}"
