"""Facts in the store for the decision on sharing: the user's word, and earlier observations."""

from contextlib import closing, suppress

import apsw

from app.core.changes import Changes
from app.core.errors import ToolcribError
from app.gateway.sharing import Sharing, decide
from store import servers, serving, sharing
from store.connection import open_store, transaction
from store.errors import StoreError
from store.serving import ServerRow


def sharing_in(db: apsw.Connection, row: ServerRow) -> Sharing:
    """Sharing of a server, by the facts in the store."""
    wish, seen = sharing.of_server(db, row.id)
    return decide(row, serving.tool_texts(db, row.id), wish=wish, requests_seen=seen)


def sharing_of(database: str, row: ServerRow) -> Sharing:
    """The same over a file; a server of its own for each session where it cannot be read."""
    try:
        with closing(open_store(database)) as db:
            return sharing_in(db, row)
    except StoreError:
        return decide(row, ())


def choose_sharing(db: apsw.Connection, server: str, choice: str) -> Changes:
    """Keep the user's choice for a server, "" for Toolcrib's own.

    Raises ToolcribError where no server has that name.
    """
    record = servers.by_name(db, server)
    if record is None:
        raise ToolcribError(f"No server is called {server}.", "See toolcrib footprint.")
    with transaction(db):
        sharing.choose(db, record.id, choice)
    return Changes(servers=True)


def note_request(database: str, server: str, method: str) -> None:
    """Remember what a server asked of a host; a store that cannot be written loses it."""
    with suppress(apsw.Error, StoreError), closing(open_store(database)) as db, transaction(db):
        record = servers.by_name(db, server)
        if record is not None:
            sharing.note_requests(db, record.id, [method])


def every_sharing(db: apsw.Connection) -> dict[str, Sharing]:
    """The decision on each server, by name."""
    return {row.name: sharing_in(db, row) for row in serving.server_rows(db)}
