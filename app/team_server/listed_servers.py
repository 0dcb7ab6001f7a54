"""Servers that the operator's registries list and the team has not: the last tier of a search.

The lists are those of the user who serves (`toolcrib registry sync`); they are read, never written.
"""

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import apsw

from app.market.index import MarketIndex
from app.market.seed import SEED_URL
from app.market.suggestion import TEAM_HEAD, suggestion
from store import market
from store.connection import open_store
from store.errors import StoreError
from store.typed import Json

if TYPE_CHECKING:
    from app.ranking.dense import Encoding

_MOST = 100  # servers of one page


class ListedServers:
    """Searches and lists what could be installed; usable from any thread."""

    def __init__(self, database: Path | None) -> None:
        """`database`: the store with the lists, None where the operator allows none."""
        self._database = database
        self._lock = Lock()
        self._db: apsw.Connection | None = None
        self._index: MarketIndex | None = None
        self.allowed = database is not None

    def suggestion(self, encoder: "Encoding | None", query: str) -> str:
        """Lines on listed servers that fit a request, "" for none."""
        with self._lock:
            if encoder is None or (db := self._opened()) is None:
                return ""
            if self._index is None or self._index.encoder is not encoder:
                self._index = MarketIndex(db, encoder)
            return suggestion(self._index, query, TEAM_HEAD)

    def page(self, cursor: int) -> Json:
        """One page of the registry protocol after a row, of what was synchronised: members have
        the list that ships."""
        with self._lock:
            db = self._opened()
            rows = [] if db is None else market.page(db, cursor, SEED_URL, _MOST)
        following = {"nextCursor": str(rows[-1].id)} if len(rows) == _MOST else {}
        return {"servers": [row.entry for row in rows], "metadata": following}

    def _opened(self) -> apsw.Connection | None:
        """The store, None where there is none that can be read."""
        if self._db is None and self._database is not None and self._database.is_file():
            try:
                self._db = open_store(self._database, read_only=True)
            except StoreError:
                return None
        return self._db

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
