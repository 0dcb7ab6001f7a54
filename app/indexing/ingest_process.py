"""Ingestion in a process of its own, for the gateway: `python -c "... main()"`.

Tokenizers and checks take 110 MB and seconds of CPU; a gateway that serves must pay for neither,
and a definition that breaks one of them must not stop it.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from app.core.errors import ToolcribError
from app.core.own_code import own_python
from app.core.scrubber import Scrubber
from app.indexing.list_changes import ListChanges
from store.errors import StoreError
from store.typed import Json

_SECONDS = 90.0  # for all of it
_ENCODE_SECONDS = 20.0


Stored = Callable[[ListChanges], None]


def ingest_apart(
    server_id: int, entries: Sequence[Any], secrets: Iterable[str], *, stored: Stored
) -> None:
    """Run `app.indexing.ingest.ingest` in another process; returns when the vectors are made too.

    `stored` is called once, when the tools are in the store with their findings: with nothing
    where that fails or takes long. `secrets` reach the other process on its stdin only.
    """
    request = {"server": server_id, "tools": list(entries), "secrets": list(secrets)}
    if getattr(sys, "frozen", False):  # a bundle has no interpreter to start
        try:
            _ingest(request, stored)
        except (ToolcribError, StoreError, ValueError, RecursionError):
            stored(ListChanges())
        return
    command = own_python("from app.indexing.ingest_process import main; main()")
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        stored(ListChanges())  # the tools stay unknown, and so held, until the next scan
        return
    end = threading.Timer(_SECONDS, child.kill)
    end.daemon = True
    end.start()
    with child:
        stored(_changes(child, request))
    end.cancel()


def _changes(child: "subprocess.Popen[bytes]", request: Json) -> ListChanges:
    """Changes that the other process stored; none where it failed or was killed."""
    assert child.stdin is not None and child.stdout is not None
    try:
        with child.stdin as stdin:
            stdin.write(json.dumps(request).encode())
        return ListChanges.from_json(child.stdout.read().decode())
    except (OSError, ValueError, TypeError, RecursionError):
        return ListChanges()


def main() -> None:
    """Read the request on stdin, write the changes to stdout and close it, then encode."""
    _ingest(json.load(sys.stdin.buffer), _write)


def _write(changes: ListChanges) -> None:
    sys.stdout.write(changes.to_json())
    sys.stdout.flush()
    # who reads waits for the end; a descriptor of its own keeps later prints from another file
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _ingest(request: Json, stored: Stored) -> None:
    from app.core.context import AppContext
    from app.indexing.indexer import Indexer
    from app.indexing.ingest import ingest

    ctx = AppContext.default()
    with ctx.store() as db:
        scrubber = Scrubber(request["secrets"])
        changes = ingest(ctx, db, request["server"], request["tools"], scrubber=scrubber)
        stored(changes)
        if changes:
            end = time.monotonic() + _ENCODE_SECONDS
            # words are searched until the window encodes them
            with suppress(ToolcribError):
                Indexer(ctx, db).vectors(keep_going=lambda: time.monotonic() < end, prepare=False)
