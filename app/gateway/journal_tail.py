"""Newest calls of a session in a file until the store has them: a kill loses none of them.

Hosts kill gateways right after an answer. A line in a file costs 20 microseconds and outlives the
process; the next reader of the store takes in what a killed one left.
"""

import json
import os
from contextlib import suppress

from app.mcp import jsonrpc
from store.errors import StoreError
from store.files import lock, private_folder
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from store.records import EventRecord

FOLDER = "journal-tails"
_MOST_BYTES = 1_000_000  # of one file; what comes after it only waits for the store
_NEW = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | os.O_APPEND
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)


class JournalTail:
    """The file of one session; made with the first event, gone with the session."""

    def __init__(self, folder: str) -> None:
        """`folder`: where the store is, "" for nowhere."""
        self._folder = os.path.join(folder, FOLDER) if folder else ""
        self._path = ""
        self._handle = -1
        self._size = 0
        self.is_whole = True  # holds every event that came since it was cleared

    def keep(self, event: Json) -> bool:
        """Add an event; False where the folder, the disk or the limit has no room for it."""
        try:
            is_kept = self._keep(jsonrpc.dump(event) + b"\n")
        except OSError:
            is_kept = False
        self.is_whole = self.is_whole and is_kept
        return is_kept

    def _keep(self, line: bytes) -> bool:
        if not self._folder or self._size + len(line) > _MOST_BYTES:
            return False
        if self._handle < 0:
            self._open()
        written = os.write(self._handle, line)
        if written < len(line):  # on a full disk: the next line is not to continue it
            os.ftruncate(self._handle, self._size)
            return False
        self._size += written
        return True

    def _open(self) -> None:
        private_folder(self._folder)
        self._path = os.path.join(self._folder, os.urandom(8).hex())
        self._handle = os.open(self._path, _NEW, 0o600)
        with suppress(OSError):
            lock(self._handle)

    def clear(self) -> None:
        """Forget the events: the store has them."""
        if self._handle >= 0 and self._size:
            os.ftruncate(self._handle, 0)
            self._size = 0
        self.is_whole = True

    def close(self) -> None:
        """Remove the file."""
        if self._handle >= 0:
            self.leave()
            with suppress(OSError):
                os.unlink(self._path)

    def leave(self) -> None:
        """Leave the file to the next reader of the store."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def take_left(db: "apsw.Connection", folder: str) -> int:
    """Take events of killed sessions into the store, each once; how many there were."""
    place = os.path.join(folder, FOLDER)
    if not folder or not os.path.isdir(place):
        return 0
    return sum(_take(db, path) for path in _left(place))


def _left(place: str) -> "Iterator[str]":
    try:
        with os.scandir(place) as entries:
            yield from [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return


def _take(db: "apsw.Connection", path: str) -> int:
    """Take one file in and remove it, unless its session is alive."""
    from store import events
    from store.connection import transaction

    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return 0
    try:
        if not lock(handle):
            return 0
        data = os.read(handle, _MOST_BYTES)
        made = [event for event in map(_event, data.splitlines()) if event is not None]
        with transaction(db):
            missing = [event for event in made if not events.has(db, event)]
            events.add(db, missing)
        os.ftruncate(handle, 0)
    except (OSError, StoreError):  # it waits for a store with room
        return 0
    finally:
        os.close(handle)
    with suppress(OSError):
        os.unlink(path)
    return len(missing)


def _event(line: bytes) -> "EventRecord | None":
    """The event of a line, None for one that is torn or foreign."""
    from store.records import EventRecord

    try:
        fields = json.loads(line)
        return EventRecord(**fields) if isinstance(fields, dict) else None
    except (ValueError, TypeError):
        return None
