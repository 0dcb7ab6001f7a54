"""Servers that were added to Toolcrib itself (by hand, pasted, from a file, samples): removal.

A server that was read keeps its tools and ticks, as when a host's file loses it; it comes back with
them when it is added again, or when the removal is undone.
"""

from collections.abc import Sequence

import apsw

from app.core.changes import Changes
from store import servers
from store.connection import transaction
from store.records import MANUAL, ServerRecord


def is_own(server: ServerRecord) -> bool:
    """True if no host's file names the server: Toolcrib may remove it."""
    return bool(server.entries) and all(entry.host == MANUAL for entry in server.entries)


def given_with(server: ServerRecord, others: Sequence[ServerRecord]) -> tuple[ServerRecord, ...]:
    """The own servers that came in the same file, such as all samples; alone when typed in."""
    files = {entry.file for entry in server.entries if entry.file}
    return tuple(
        one
        for one in others
        if one.id == server.id or (is_own(one) and files & {entry.file for entry in one.entries})
    )


def remove_own(db: apsw.Connection, gone: Sequence[ServerRecord]) -> Changes:
    """Take these servers out of the catalog; no host's file changes."""
    ids = {server.id for server in gone}
    with transaction(db):
        entries = servers.all_entries(db)
        for host, file in {(e.host, e.file) for s in gone for e in s.entries}:
            beside = [e for e in entries if (e.host, e.file) == (host, file)]
            keep = [e.name for e in beside if e.server_id not in ids]
            servers.drop_missing_entries(db, host, file, keep)
        servers.retire_unnamed(db)
    return Changes(servers=True, tools=True)


def bring_back(db: apsw.Connection, gone: Sequence[ServerRecord]) -> Changes:
    """Undo a removal: the same entries, with the tools, the ticks and the trust there were."""
    with transaction(db):
        for server in gone:
            for entry in server.entries:
                servers.place(db, entry, server.spec, name=server.name, trusted=server.trusted)
    return Changes(servers=True, tools=True)
