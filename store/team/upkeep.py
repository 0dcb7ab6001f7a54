"""Upkeep of the team's database once many rows came: statistics of its tables, HNSW indexes.

Statements here run outside of a transaction: readers and writers go on meanwhile.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from psycopg import sql

from store.errors import StoreError
from store.team import search
from store.team.connecting import PATH, Connection, connect
from store.team.reading import all_of, first_of
from store.team.search import REQUESTS, TOOLS, index_name

_ANALYSED = (
    "organisations", "members", "scopes", "servers", "tools", "tool_vectors", "requests",
    "request_vectors", "vocabulary", "stems", "scope_vocabulary", "scope_stems",
    "findings", "decisions", "profiles", "profile_tools", "labels", "changes",
)  # fmt: skip
_LOCK = 7_305_131_208  # advisory lock of those who build indexes


@contextmanager
def upkeep(dsn: str, *, memory: str = "1GB", workers: int = 1) -> Iterator[Connection]:
    """A connection of the operator for what is below; raises StoreError while another has one.

    An index that fits into `memory` is built several times as fast as one that does not.
    """
    with connect(dsn) as connection:
        connection.autocommit = True
        connection.execute(
            "SELECT set_config('search_path', %s, false),"
            " set_config('maintenance_work_mem', %s, false),"
            " set_config('max_parallel_maintenance_workers', %s, false)",
            (PATH, memory, str(workers)),
        )
        # one that waited for the lock would itself be waited for by what holds it
        held = "SELECT pg_try_advisory_lock(%(lock)s)"
        if not first_of(connection, bool, held, {"lock": _LOCK}):
            raise StoreError("Another process builds indexes.", "Try again once it has ended.")
        yield connection


def analyse(connection: Connection) -> None:
    """Count what the planner goes by; autovacuum does so too, but minutes later."""
    names = sql.SQL(", ").join(map(sql.Identifier, _ANALYSED))
    connection.execute(sql.SQL("ANALYZE {}").format(names))


def build_indexes(
    connection: Connection,
    organisation_id: int,
    *,
    progress: Callable[[str], None] = lambda _line: None,
) -> int:
    """Give an organisation an index over each kind of vectors of which it has more than EXACT.

    One for all organisations would find least for the smallest. One that is not needed any more,
    or was not finished, goes. The number of indexes that it has afterwards.
    """
    present = 0
    for table, word in ((TOOLS, "tools"), (REQUESTS, "requests")):
        statement = (
            f"SELECT coalesce(sum({table}), 0)::bigint FROM scopes WHERE organisation_id = %(id)s"
        )
        (count,) = all_of(connection, int, statement, {"id": organisation_id})
        wanted = count > search.EXACT
        present += wanted
        state = _state(connection, table, organisation_id)
        if state is not None and not (wanted and state):
            _drop(connection, table, organisation_id)
        if wanted and not state:
            progress(f"Indexing the vectors of {count:,} {word}.")
            _create(connection, table, organisation_id)
    return present


def _create(connection: Connection, table: str, organisation_id: int) -> None:
    statement = sql.SQL(
        "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw (v halfvec_cosine_ops)"
        " WHERE organisation_id = {}"
    )
    name = sql.Identifier(index_name(table, organisation_id))
    table_name, id_ = sql.Identifier(table), sql.Literal(organisation_id)
    connection.execute(statement.format(name, table_name, id_))


def _drop(connection: Connection, table: str, organisation_id: int) -> None:
    name = sql.Identifier(index_name(table, organisation_id))
    connection.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(name))


def _state(connection: Connection, table: str, organisation_id: int) -> bool | None:
    """True for an index that can be used, False for one that was not finished, None for none."""
    statement = (
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('toolcrib.' || %(name)s)"
    )
    values = {"name": index_name(table, organisation_id)}
    return first_of(connection, bool, statement, values)
