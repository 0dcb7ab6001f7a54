"""Sharing of each server between sessions: the user's choice, and reasons against it."""

import json
from collections.abc import Iterable

import apsw

from store.damage import json_array

NOT_KNOWN = "what is not known any more"  # where the row is damaged, so that it is not shared


def of_server(db: apsw.Connection, server_id: int) -> tuple[str, tuple[str, ...]]:
    """The user's choice ("" for none), and the methods that the server was seen to ask."""
    sql = "SELECT choice, requests FROM server_sharing WHERE server_id = ?"
    row = db.execute(sql, (server_id,)).fetchone()
    if not row:
        return "", ()
    methods = json_array(row[1])
    return row[0], (NOT_KNOWN,) if methods is None else tuple(map(str, methods))


def choose(db: apsw.Connection, server_id: int, choice: str) -> None:
    """Keep the user's choice, "" for Toolcrib's own."""
    db.execute(
        "INSERT INTO server_sharing (server_id, choice) VALUES (?, ?)"
        " ON CONFLICT (server_id) DO UPDATE SET choice = excluded.choice",
        (server_id, choice),
    )


def note_requests(db: apsw.Connection, server_id: int, methods: Iterable[str]) -> None:
    """Add methods to those that the server was seen to ask of hosts."""
    _, seen = of_server(db, server_id)
    every = json.dumps(sorted({*seen, *methods}))
    db.execute(
        "INSERT INTO server_sharing (server_id, requests) VALUES (?, ?)"
        " ON CONFLICT (server_id) DO UPDATE SET requests = excluded.requests",
        (server_id, every),
    )
