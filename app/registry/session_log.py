"""Log of one reading of a server."""

from collections.abc import Iterator
from datetime import datetime

from app.core.text import plural, visible
from app.indexing.reading import Reading

SENT, RECEIVED, PRINTED, NOTED = "->", "<-", "stderr", "--"


def log_lines(reading: Reading, at: float) -> Iterator[str]:
    """Messages with their times, then what it printed, then how it ended (`at`)."""
    for when, sent, text in reading.messages:
        yield _line(when, SENT if sent else RECEIVED, text)
    for text in reading.stderr.splitlines():
        yield _line(at, PRINTED, text)
    outcome = f"read, {plural(len(reading.tools), 'tool')}" if reading.read else reading.status
    yield _line(at, NOTED, f"{outcome}. {reading.problem}".strip())


def _line(at: float, kind: str, text: str) -> str:
    stamp = datetime.fromtimestamp(at).isoformat(sep=" ", timespec="milliseconds")
    return f"{stamp} {kind} {visible(text, chr(9))}"
