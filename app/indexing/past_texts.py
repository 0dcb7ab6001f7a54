"""Texts that were typed before the secrets in them were known."""

from collections.abc import Iterable
from dataclasses import replace

import apsw

from app.core.scrubber import Scrubber
from app.hosts.launch import LaunchSpec
from store import requests, tools, typed_texts


def hide_in_past(db: apsw.Connection, launches: Iterable[LaunchSpec]) -> int:
    """Take the secrets of launches that are kept from now on out of what is stored; how many rows.

    A query may have been typed before its server was added.
    """
    scrubber = Scrubber(value for launch in launches for value in launch.secret_values())
    if not scrubber.values:
        return 0
    with typed_texts.zeroing(db):
        return typed_texts.rewrite(db, scrubber.text) + _rewrite_requests(db, scrubber)


def _rewrite_requests(db: apsw.Connection, scrubber: Scrubber) -> int:
    """Requests that a user typed; the words that they are found by follow."""
    before = requests.typed(db)
    after = {
        id_: tuple(replace(row, text=scrubber.text(row.text)) for row in rows)
        for id_, rows in before.items()
    }
    changed = [id_ for id_, rows in after.items() if rows != before[id_]]
    if changed:
        from app.indexing.requests import put  # the safety rules, for which adding need not wait

        for tool in tools.tools(db):
            if tool.id in changed:
                put(db, tool, after[tool.id])
    return len(changed)
