"""One log a server: the messages of its reading, and its own output; without secret values."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from app.core.logs import log_tail
from app.core.safe_write import write_file
from store.files import private_folder

FOLDER = "servers"
MOST_BYTES = 500_000  # of one server's log; older lines go
_ODD = re.compile(r"[^A-Za-z0-9._-]")


def server_log(logs: Path, server: str) -> Path:
    """The log of the server of that name."""
    plain = _ODD.sub("_", server)[:80]
    if plain != server or plain.startswith("."):
        plain = f"{plain.lstrip('.')}-{hashlib.sha256(server.encode()).hexdigest()[:8]}"
    return logs / FOLDER / f"{plain}.log"


def add_lines(logs: Path, server: str, lines: Iterable[str]) -> None:
    """Append lines, which hold no secret value any more. Raises OSError or ToolcribError."""
    file = server_log(logs, server)
    private_folder(logs)
    private_folder(file.parent)
    new = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    kept = log_tail(file, most=max(0, MOST_BYTES - len(new))).encode("utf-8", "replace")
    write_file(file, (kept + new)[-MOST_BYTES:], mode=0o600)
