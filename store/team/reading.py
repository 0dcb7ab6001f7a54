"""Rows of a query as records."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from store.team.connecting import Connection

Record = TypeVar("Record")
Parameters = Mapping[str, object]


def all_of(
    connection: Connection, kind: Callable[..., Record], sql: str, values: Parameters | None = None
) -> list[Record]:
    """Every row as a record; columns come in the order of its fields, arrays become tuples."""
    rows = connection.execute(sql.encode(), values).fetchall()
    return [kind(*(tuple(x) if isinstance(x, list) else x for x in row)) for row in rows]


def first_of(
    connection: Connection, kind: Callable[..., Record], sql: str, values: Parameters | None = None
) -> Record | None:
    """The first row as a record, None without any."""
    return next(iter(all_of(connection, kind, sql, values)), None)


def number_of(connection: Connection, sql: str, values: Parameters | None = None) -> int:
    """The one number of a row; raises LookupError without a row."""
    row = connection.execute(sql.encode(), values).fetchone()
    if row is None or not isinstance(row[0], int):
        raise LookupError(sql)
    return row[0]


def changed(connection: Connection, sql: str, values: Parameters | None = None) -> int:
    """The number of rows that a statement changed."""
    count: int = connection.execute(sql.encode(), values).rowcount
    return count
