"""Connections to the team's database, and transactions bound to one member."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import psycopg
from pgvector.psycopg import register_vector
from psycopg_pool import ConnectionPool

from store.errors import StoreError
from store.team.records import Member

PATH = "toolcrib, public"
Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]
_ENTER = (
    "SELECT set_config('search_path', %(path)s, true),"
    " toolcrib.enter(%(organisation)s, %(member)s, %(allow)s::text[])"
)
_LEAVE_OWNER = "SET LOCAL ROLE toolcrib_member"


class NoAccessError(StoreError):
    """The member is not in the organisation, or not any more."""


def connect(dsn: str) -> Connection:
    """One connection of its own, as the role of the address."""
    made: Connection = psycopg.connect(dsn, connect_timeout=10)
    return made


def open_pool(dsn: str, *, most: int = 10, timeout: float = 10.0) -> ConnectionPool[Connection]:
    """A pool of connections; those that died are replaced. Close it with `close()`.

    A database that is not there yet is no error here: as_member() raises psycopg_pool.PoolTimeout
    after `timeout` seconds until it is.
    """
    pool: ConnectionPool[Connection] = ConnectionPool(
        dsn,
        min_size=1,
        max_size=most,
        timeout=timeout,
        kwargs={"connect_timeout": 10},
        configure=_configure,
        check=ConnectionPool.check_connection,
        open=False,
        name="team",
    )
    pool.open(wait=False)
    return pool


@contextmanager
def as_member(pool: ConnectionPool[Connection], member: Member) -> Iterator[Connection]:
    """A transaction that sees what the member may see, and nothing else (row-level security).

    Raises NoAccessError if the member was removed, so access ends with the next transaction.
    """
    with pool.connection() as connection, connection.transaction():
        enter(connection, member)
        yield connection


@contextmanager
def as_owner(pool: ConnectionPool[Connection]) -> Iterator[Connection]:
    """A transaction of the operator: no row is hidden. For set-up and sign-in alone."""
    with pool.connection() as connection, connection.transaction():
        connection.execute("SELECT set_config('search_path', %s, true)", (PATH,))
        yield connection


@contextmanager
def as_operator(dsn: str) -> Iterator[Connection]:
    """A transaction of the operator on a connection of its own; the schema is there."""
    with connect(dsn) as connection, connection.transaction():
        register_vector(connection)
        connection.execute("SELECT set_config('search_path', %s, true)", (PATH,))
        yield connection


def enter(connection: Connection, member: Member) -> None:
    """Bind the running transaction to the member; raises NoAccessError."""
    allow = None if member.allow is None else [_like(pattern) for pattern in member.allow]
    row = connection.execute(
        _ENTER,
        {
            "path": PATH,
            "organisation": member.organisation_id,
            "member": member.member_id,
            "allow": allow,
        },
    ).fetchone()
    if row is None or not row[1]:
        raise NoAccessError("This member has no access.", "Ask an admin of the team.")
    connection.execute(_LEAVE_OWNER)


def is_ready(pool: ConnectionPool[Connection]) -> bool:
    """True if the database answers."""
    try:
        with pool.connection() as connection:
            return connection.execute("SELECT 1").fetchone() is not None
    except psycopg.Error:  # PoolTimeout is one
        return False


def _configure(connection: Connection) -> None:
    register_vector(connection)
    connection.commit()


def _like(pattern: str) -> str:
    """A pattern with * as one of LIKE."""
    plain = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return plain.replace("*", "%")
