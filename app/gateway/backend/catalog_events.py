"""Windows that want to hear when the catalogue changes, whoever changed it: no file is polled."""

import _socket
import threading
from contextlib import suppress

from app.core.home import DATABASE
from store.typed import Any

CHANGED = b"changed\n"


class CatalogEvents:
    """Belongs to the backend's clock; windows come on other threads. They do not keep it alive."""

    def __init__(self, home: str) -> None:
        self._file = f"{home}/{DATABASE}"
        self._lock = threading.Lock()
        self._links: list[_socket.socket] = []
        self._new: list[_socket.socket] = []  # that have heard nothing yet
        self._db: Any = None
        self._version = 0
        self._state: object = None

    def add(self, link: "_socket.socket") -> None:
        """A window listens; it hears at the next tick, for it may have missed something."""
        link.setblocking(False)
        link.sendall(b"ok 0\n")
        with self._lock:
            self._links.append(link)
            self._new.append(link)

    def tick(self) -> None:
        """Once a second: tell of changes; who went away is let go."""
        with self._lock:
            links, new = list(self._links), self._new
            self._new = []
        if not links:
            self._forget()
            return
        changed = self._is_changed()
        for link in links:
            if _is_gone(link) or ((changed or link in new) and not _tell(link)):
                self._drop(link)

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            links, self._links = self._links, []
        for link in links:
            link.close()
        self._forget()

    def _drop(self, link: "_socket.socket") -> None:
        with self._lock, suppress(ValueError):
            self._links.remove(link)
        link.close()

    def _is_changed(self) -> bool:
        import apsw

        from store.connection import data_version, open_store
        from store.errors import StoreError
        from store.serving import catalog_state

        try:
            if self._db is None:
                self._db = open_store(self._file, read_only=True)
                self._version, self._state = 0, catalog_state(self._db)
            version = data_version(self._db)
            if version == self._version:  # which nearly always holds, and costs 10 us
                return False
            self._version, before = version, self._state
            self._state = catalog_state(self._db)
            return self._state != before
        except (StoreError, apsw.Error):
            self._forget()
            return False

    def _forget(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()


def _is_gone(link: "_socket.socket") -> bool:
    try:
        return not link.recv(1, _socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _tell(link: "_socket.socket") -> bool:
    """Say that something changed; whether anybody is there."""
    try:
        link.send(CHANGED)
    except BlockingIOError:  # it has enough unread news
        return True
    except OSError:
        return False
    return True
