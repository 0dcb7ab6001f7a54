"""Upkeep of the team's database once many rows came: statistics of its tables, HNSW indexes.

Statements here run outside of a transaction: readers and writers go on meanwhile.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil

from psycopg import sql

from store.errors import StoreError
from store.team import search
from store.team.connecting import PATH, Connection, connect
from store.team.reading import first_of
from store.team.search import REQUESTS, TOOLS, in_part, index_name

_ANALYSED = (
    "organisations", "members", "scopes", "servers", "tools", "tool_vectors", "requests",
    "request_vectors", "vocabulary", "stems", "scope_vocabulary", "scope_stems",
    "findings", "decisions", "profiles", "profile_tools", "labels", "changes",
)  # fmt: skip
PART = 50_000  # rows of one of several indexes
_EF_CONSTRUCTION = 128  # of pgvector's 64 the same search misses ten times as many
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

    One for all organisations would find least for the smallest. One over 500,000 rows misses whole
    groups of like tools, whose links lead to each other alone: a large one is built in parts. What
    is not needed any more, or was not finished, goes. The number of kinds that have an index.
    """
    present = 0
    for table, word in ((TOOLS, "tools"), (REQUESTS, "requests")):
        statement = (
            f"SELECT coalesce(sum(s.{table}), 0)::bigint, {search.built_parts(table)}"
            " FROM organisations o LEFT JOIN scopes s ON s.organisation_id = o.id"
            " WHERE o.id = %(id)s GROUP BY o.id"
        )
        row = first_of(connection, _Size, statement, {"id": organisation_id})
        size = row or _Size(0, 0)
        parts = _parts_wanted(size)
        names = [index_name(table, organisation_id, part, parts) for part in range(parts)]
        present += bool(names)
        built = _built(connection, table, organisation_id)
        lacking = [(part, name) for part, name in enumerate(names) if not built.get(name)]
        if lacking:
            progress(f"Indexing the vectors of {size.rows:,} {word}.")
        for part, name in lacking:
            if name in built:
                _drop(connection, name)
            _create(connection, table, organisation_id, name, in_part(part, parts))
        for name in built.keys() - set(names):
            _drop(connection, name)
    return present


@dataclass(frozen=True, slots=True)
class _Size:
    """Vectors of an organisation, and the parts of the index that it has."""

    rows: int
    parts: int


def _parts_wanted(size: _Size) -> int:
    """Indexes that so many rows need; as many as there are while they are not far from right."""
    if size.rows <= search.EXACT:
        return 0
    wanted = ceil(size.rows / PART)
    return size.parts if wanted <= 1.5 * size.parts and size.parts <= 2 * wanted else wanted


def _create(
    connection: Connection,
    table: str,
    organisation_id: int,
    name: str,
    of_part: Sequence[sql.Composed],
) -> None:
    rows = [sql.SQL("organisation_id = {}").format(sql.Literal(organisation_id)), *of_part]
    statement = sql.SQL(
        "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw (v halfvec_cosine_ops)"
        " WITH (ef_construction = {}) WHERE {}"
    ).format(
        sql.Identifier(name),
        sql.Identifier(table),
        sql.Literal(_EF_CONSTRUCTION),
        sql.SQL(" AND ").join(rows),
    )
    connection.execute(statement)


def _drop(connection: Connection, name: str) -> None:
    connection.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(name)))


def _built(connection: Connection, table: str, organisation_id: int) -> dict[str, bool]:
    """The organisation's indexes; True for those that can be used, False for unfinished ones."""
    statement = (
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE i.indrelid = %(table)s::regclass AND c.relname ~ %(names)s"
    )
    # one over all rows is of the version before
    values = {"table": f"toolcrib.{table}", "names": f"^{table}_near_{organisation_id}(_|$)"}
    rows = connection.execute(statement, values).fetchall()
    return {str(name): bool(valid) for name, valid in rows}
