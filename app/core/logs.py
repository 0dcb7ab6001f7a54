"""Logging to a file of Toolcrib's own, without secrets."""

import logging
import re
from collections.abc import Iterable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from app.core.scrubber import HIDDEN, Scrubber
from store.files import private_folder

_LIKELY = re.compile(
    r"(?i)\b(?:gh[pousr]_|github_pat_|glpat[-_]|xox[abprs]-|sk-|ntn_|AKIA)[\w-]{8,}"
    r"|(?<=bearer )[\w.~+/-]{8,}=*"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without known secret values in any encoding, and without what looks like one."""
    return _LIKELY.sub(HIDDEN, Scrubber(secrets).text(text))


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def log_tail(file: Path, *, most: int = 200_000) -> str:
    """The newest whole lines of a log, at most that many bytes; "" where there is none."""
    try:
        if not file.is_file():  # a planted pipe would never be read to its end
            return ""
        with file.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(0, size - most))
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return text if size <= most else text.partition("\n")[2]


def configure(folder: Path) -> logging.Handler:
    """Send the logs of `toolcrib` to a rotating file (1 MB, 3 copies); the handler to close."""
    private_folder(folder)
    handler = RotatingFileHandler(
        folder / "toolcrib.log", maxBytes=1_000_000, backupCount=3, encoding="utf-8"
    )
    handler.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("toolcrib")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return handler
