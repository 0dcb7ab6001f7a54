"""Logging to a file of Toolcrib's own, without secrets."""

import logging
import re
from collections.abc import Iterable
from logging.handlers import RotatingFileHandler
from pathlib import Path

HIDDEN = "••••"
_SHORTEST = 4  # shorter values would blot out ordinary words
_LIKELY = re.compile(
    r"(?i)\b(?:gh[pousr]_|github_pat_|glpat[-_]|xox[abprs]-|sk-|ntn_|AKIA)[\w-]{8,}"
    r"|(?<=bearer )[\w.~+/-]{8,}=*"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with known secret values, and what looks like a credential, blotted out."""
    for value in sorted(set(secrets), key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
    return _LIKELY.sub(HIDDEN, text)


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def configure(folder: Path, *, level: int = logging.INFO) -> logging.Handler:
    """Send the logs of `toolcrib` to a rotating file (1 MB, 3 copies); the handler to close."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = RotatingFileHandler(
        folder / "toolcrib.log", maxBytes=1_000_000, backupCount=3, encoding="utf-8"
    )
    handler.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("toolcrib")
    logger.setLevel(level)
    logger.addHandler(handler)
    return handler
