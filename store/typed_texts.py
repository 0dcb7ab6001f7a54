"""Texts that people and models typed, wherever they are stored."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import apsw

from store.connection import transaction

_TEXTS = (  # table, its texts, and the rows that have them
    ("events", ("host", "query", "problem", "detail"), "true"),
    ("events", ("tool",), "kind = 'miss'"),
    ("labels", ("query",), "true"),
    ("runs", ("settings", "result"), "true"),
    ("approvals", ("arguments",), "true"),
)


@contextmanager
def zeroing(db: apsw.Connection) -> Iterator[None]:
    """Zero the rows that are freed meanwhile; later deletions of the connection cost no more."""
    before = db.pragma("secure_delete")
    db.pragma("secure_delete", 1)
    try:
        yield
    finally:
        db.pragma("secure_delete", before)


def rewrite(db: apsw.Connection, hide: Callable[[str], str]) -> int:
    """Put hide(text) in the place of every text; how many rows changed.

    One pass over the texts, in which others may write: some seconds for 100,000 events.
    """
    changed = {one: _changed(db, hide, *one) for one in _TEXTS}
    if any(changed.values()):
        with transaction(db):
            for (table, columns, _), rows in changed.items():
                places = ", ".join(f"{column} = ?" for column in columns)
                same = " AND ".join(f"{column} = ?" for column in columns)  # an id may be another's
                # of two labels that become the same, one stays
                sql = f"UPDATE OR REPLACE {table} SET {places} WHERE id = ? AND {same}"
                db.executemany(sql, rows)
    return sum(map(len, changed.values()))


def _changed(
    db: apsw.Connection, hide: Callable[[str], str], table: str, columns: Sequence[str], rows: str
) -> list[tuple[object, ...]]:
    """The hidden texts, the id and the present texts of each row that has something to hide."""
    matches: list[tuple[object, ...]] = []
    for id_, *texts in db.execute(f"SELECT id, {', '.join(columns)} FROM {table} WHERE {rows}"):
        every = "\n".join(texts)
        if hide(every) != every:  # one look for most rows
            matches.append((*map(hide, texts), id_, *texts))
    return matches
