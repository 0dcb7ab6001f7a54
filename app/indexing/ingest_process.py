"""Ingestion in a process of its own, for the gateway: `python -c "... main()"`.

Tokenizers and checks take 110 MB and seconds of CPU; a gateway that serves must pay for neither,
and a definition that breaks one of them must not stop it.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.core.scrubber import Scrubber
from app.indexing.list_changes import ListChanges
from store.typed import Json

_SECONDS = 90.0  # for all of it
_ENCODE_SECONDS = 20.0
# neither this folder nor the working directory may be on its path: a project could shadow modules
_CHILD = (
    "import sys; sys.path.append(sys.argv[1]); from app.indexing.ingest_process import main; main()"
)


def ingest_apart(server_id: int, entries: Sequence[Any], secrets: Iterable[str]) -> ListChanges:
    """What `app.indexing.ingest.ingest` does, elsewhere; nothing where that fails or takes long.

    `secrets` reach the other process on its stdin only.
    """
    request = {"server": server_id, "tools": list(entries), "secrets": list(secrets)}
    if getattr(sys, "frozen", False):  # a bundle has no interpreter to start
        return _ingest(request)
    command = [sys.executable, "-P", "-c", _CHILD, str(Path(__file__).resolve().parents[2])]
    try:
        result = subprocess.run(
            command,
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=True,
        )
        return ListChanges.from_json(result.stdout.decode())
    except (OSError, ValueError, TypeError, RecursionError, subprocess.SubprocessError):
        return ListChanges()  # the tools stay unknown, and so held, until the next scan


def main() -> None:
    """Read the request on stdin, write the changes to stdout."""
    sys.stdout.write(_ingest(json.load(sys.stdin.buffer)).to_json())


def _ingest(request: Json) -> ListChanges:
    from app.core.context import AppContext
    from app.indexing.indexer import Indexer
    from app.indexing.ingest import ingest

    ctx = AppContext.default()
    db = ctx.open_store()
    try:
        scrubber = Scrubber(request["secrets"])
        changes = ingest(ctx, db, request["server"], request["tools"], scrubber=scrubber)
        if changes:
            end = time.monotonic() + _ENCODE_SECONDS
            try:
                Indexer(ctx, db).vectors(keep_going=lambda: time.monotonic() < end, prepare=False)
            except ToolcribError:
                return changes  # words are searched until the window encodes them
        return changes
    finally:
        db.close()
