"""Candidates of a search, by meaning and by words, with what the caller may see inside the SQL.

HNSW finds least for those who may see least, without an error: at 100,000 rows a scope of 1 % gets
3 % of its true neighbours. So visible rows are counted first, and the plan is chosen here, never by
the planner: up to EXACT rows are compared one by one, more go through the organisation's own index
(store.team.upkeep builds it, in parts for a large one).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil

from psycopg import sql

from store.team.connecting import Connection
from store.team.reading import all_of, first_of
from store.team.tools import half

EXACT = 20_000  # visible rows that are compared one by one: 8 ms of a core
# Of an index's rows, at least this share must be visible: below, an index scan reads rows that it
# may not return, and gives up before it has enough.
LEAST_SHARE = 0.4
_EF = 400  # candidates of an index scan: .999 of the nearest among 50,000 rows
_MOST_EF = 1_000  # of pgvector
TOOLS, REQUESTS = "tool_vectors", "request_vectors"  # tables of vectors


@dataclass(frozen=True, slots=True)
class Vectors:
    """Sizes of one table of vectors, which choose the plan."""

    seen: int  # by the caller
    every: int  # of the organisation
    parts: int  # HNSW indexes that the organisation has over them, each over as many rows

    @property
    def indexed(self) -> bool:
        """True if an index scan finds all of them."""
        return self.parts > 0

    @property
    def share(self) -> float:
        """The part of the organisation's vectors that the caller sees."""
        return self.seen / max(1, self.every)


@dataclass(frozen=True, slots=True)
class Visible:
    """Sizes of what the caller may see, which choose the plan."""

    organisation_id: int
    tools: int
    lengths: int  # words in them
    vectors: Vectors
    requests: Vectors


@dataclass(frozen=True, slots=True)
class Limits:
    """Tools that a search leaves out, or is limited to, beside what row-level security hides."""

    apart: tuple[int, ...] = ()  # held, with a problem, off
    only: tuple[int, ...] | None = None  # of an agent's allowlist


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A tool that holds words of a query: each with its positions (store.team.words)."""

    tool_id: int
    length: int
    stems: tuple[str, ...]
    positions: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ServerNearness:
    """Cosines of a query with a server's vectors; None where it has none."""

    server_id: int
    mean: float | None
    alike: float
    described: float | None
    enhanced: float | None


def visible(connection: Connection, organisation_id: int) -> Visible:
    """Count what the caller may see: sums over sets of grants, whatever the number of tools."""
    statement = (
        "SELECT o.id, coalesce(sum(s.tools) FILTER (WHERE v.seen), 0)::bigint,"
        " coalesce(sum(s.lengths) FILTER (WHERE v.seen), 0)::bigint,"
        " coalesce(sum(s.tool_vectors) FILTER (WHERE v.seen), 0)::bigint,"
        f" coalesce(sum(s.tool_vectors), 0)::bigint, {built_parts(TOOLS)},"
        " coalesce(sum(s.request_vectors) FILTER (WHERE v.seen), 0)::bigint,"
        f" coalesce(sum(s.request_vectors), 0)::bigint, {built_parts(REQUESTS)}"
        " FROM organisations o"
        " LEFT JOIN scopes s ON s.organisation_id = o.id"
        " CROSS JOIN LATERAL (SELECT s.id = ANY(toolcrib.scopes()) AS seen) v"
        " WHERE o.id = %(organisation)s GROUP BY o.id"
    )
    row = first_of(connection, _visible, statement, {"organisation": organisation_id})
    return row or _visible(organisation_id, 0, 0, 0, 0, 0, 0, 0, 0)


def limits(
    connection: Connection,
    organisation_id: int,
    *,
    off: Sequence[str] = (),
    allowlist: bool = False,
) -> Limits:
    """Tools that are held, changed after the review, have a problem, or are off.

    A tool is off because its server is, or by its name (`off` are server/tool of a profile).

    `allowlist` says that the caller has one: its tools are looked up.
    """
    values = {"organisation": organisation_id, "off": list(off)}
    apart = (
        "SELECT id FROM tools WHERE organisation_id = %(organisation)s AND"
        " (held OR problem <> '' OR (trusted_hash <> '' AND trusted_hash <> hash))"
        " UNION SELECT t.id FROM tools t JOIN servers s ON s.id = t.server_id"
        " WHERE s.organisation_id = %(organisation)s AND NOT s.enabled"
        " UNION SELECT id FROM tools WHERE organisation_id = %(organisation)s"
        " AND tool_id = ANY(%(off)s)"
    )
    only = "SELECT id FROM tools WHERE organisation_id = %(organisation)s"
    return Limits(
        tuple(all_of(connection, int, apart, values)),
        tuple(all_of(connection, int, only, values)) if allowlist else None,
    )


def nearest(
    connection: Connection,
    seen: Visible,
    model: str,
    query: bytes,
    *,
    k: int,
    within: Limits = Limits(),
) -> dict[int, float]:
    """Cosines of the k tools nearest to `query` (float32 bytes), best first."""
    wanted = Nearest(TOOLS, seen.organisation_id, model, query, k, within)
    return dict(_near(connection, wanted, seen.vectors))


def nearest_by_request(
    connection: Connection,
    seen: Visible,
    model: str,
    query: bytes,
    *,
    k: int,
    within: Limits = Limits(),
) -> list[int]:
    """The tools of the k requests nearest to `query`."""
    if not seen.requests.seen:
        return []
    wanted = Nearest(REQUESTS, seen.organisation_id, model, query, k, within)
    return list(dict.fromkeys(id_ for id_, _ in _near(connection, wanted, seen.requests)))


def uses_exact(counted: Vectors, within: Limits = Limits()) -> bool:
    """True if visible rows are compared one by one."""
    if within.only is not None or not counted.indexed or counted.seen <= EXACT:
        return True
    return counted.share < LEAST_SHARE


@dataclass(frozen=True, slots=True)
class Nearest:
    """The k rows of a table of vectors that are nearest to a query."""

    table: str
    organisation_id: int
    model: str
    query: bytes
    k: int
    within: Limits = Limits()

    def statement(self, *, parts: int) -> tuple[sql.Composed, dict[str, object]]:
        """SQL with its values: tools and cosines, best first, from so many indexes (0: exact)."""
        conditions = [
            # a literal: the planner takes a partial index for no parameter
            sql.SQL("v.organisation_id = {}").format(sql.Literal(self.organisation_id)),
            sql.SQL("v.model = %(model)s"),
            sql.SQL("v.scope_id = ANY((SELECT toolcrib.scopes())::bigint[])"),
        ]
        values: dict[str, object] = {"model": self.model, "query": half(self.query), "k": self.k}
        if self.within.only is not None:
            conditions.append(sql.SQL("v.tool_id = ANY(%(only)s)"))
            values["only"] = list(self.within.only)
        if self.within.apart:
            conditions.append(sql.SQL("v.tool_id <> ALL(%(apart)s)"))
            values["apart"] = list(self.within.apart)
        # an order that is no operator alone keeps the planner from the index
        order = sql.SQL("v.v <=> %(query)s" if parts else "(v.v <=> %(query)s) + 0")
        lists = [
            sql.SQL(
                "(SELECT v.tool_id, v.v <=> %(query)s AS distance"
                " FROM {} v WHERE {} ORDER BY {} LIMIT %(k)s)"
            ).format(
                sql.Identifier(self.table),
                sql.SQL(" AND ").join([*conditions, *in_part(part, parts)]),
                order,
            )
            for part in range(max(1, parts))
        ]
        statement = sql.SQL(
            # not the lists' own order, which the planner would merge by: it is a relaxed one
            "SELECT tool_id, 1 - distance FROM ({}) n ORDER BY distance + 0, tool_id LIMIT %(k)s"
        ).format(sql.SQL(" UNION ALL ").join(lists))
        return statement, values


def in_part(part: int, parts: int) -> list[sql.Composed]:
    """The condition that a row is in this one of several indexes; none for one of one."""
    if parts <= 1:
        return []
    return [sql.SQL("mod(tool_id, {}) = {}").format(sql.Literal(parts), sql.Literal(part))]


def _near(connection: Connection, wanted: Nearest, counted: Vectors) -> list[tuple[int, float]]:
    if uses_exact(counted, wanted.within):
        return _pairs(connection, *wanted.statement(parts=0))
    with index_scan(connection, counted):
        return _pairs(connection, *wanted.statement(parts=counted.parts))


@contextmanager
def index_scan(connection: Connection, counted: Vectors) -> Iterator[None]:
    """Keep the planner on the index, with candidates for a caller who sees a share of it."""
    candidates = min(_MOST_EF, ceil(_EF / max(counted.share, LEAST_SHARE)))
    connection.execute(
        "SELECT set_config('hnsw.ef_search', %s, true),"
        " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
        " set_config('hnsw.max_scan_tuples', '100000', true),"
        " set_config('enable_sort', 'off', true)",  # of two ways to an order, the index's
        (str(candidates),),
    )
    yield
    connection.execute("SELECT set_config('enable_sort', 'on', true)")


def cosines(
    connection: Connection,
    organisation_id: int,
    model: str,
    query: bytes,
    ids: Sequence[int],
    *,
    table: str = TOOLS,
) -> dict[int, float]:
    """The cosine of those of these tools that the caller sees; of REQUESTS, that of the best."""
    statement = sql.SQL(
        "SELECT tool_id, 1 - min(v <=> %(query)s) FROM {}"
        " WHERE organisation_id = %(organisation)s AND model = %(model)s"
        " AND tool_id = ANY(%(ids)s) GROUP BY tool_id"
    ).format(sql.Identifier(table))
    values = {
        "organisation": organisation_id,
        "model": model,
        "query": half(query),
        "ids": list(ids),
    }
    return dict(_pairs(connection, statement, values))


def server_cosines(
    connection: Connection, organisation_id: int, query: bytes, ids: Sequence[int]
) -> list[ServerNearness]:
    """Nearness of those of these servers that the caller sees."""
    statement = (
        "SELECT id, 1 - (mean <=> %(query)s), alike, 1 - (described <=> %(query)s),"
        " 1 - (enhanced <=> %(query)s) FROM servers"
        " WHERE organisation_id = %(organisation)s AND id = ANY(%(ids)s)"
    )
    values = {"organisation": organisation_id, "query": half(query), "ids": list(ids)}
    return all_of(connection, ServerNearness, statement, values)


def matching(
    connection: Connection,
    weights: dict[str, float],
    *,
    named: float,
    mean_length: float,
    most: int,
    apart: Sequence[int] = (),
    finders: Sequence[str] | None = None,
) -> list[WordMatch]:
    """The tools that hold words (with each word's weight), best first as far as counted here.

    Only tools that hold one of the `finders` (None: any word) are looked at.
    `named` is the weight of a name's word, `mean_length` the words of a tool in the mean.
    """
    if not weights:
        return []
    statement = (
        "SELECT t.id, t.length, array_agg(u.lexeme), "
        " array_agg(array_to_string(u.positions, ','))"
        " FROM toolcrib.matching(%(stems)s, %(weights)s, %(finders)s, %(named)s, %(mean)s,"
        # one by one: the planner, which takes scopes for small, would read all tools of the caller
        " %(apart)s, %(most)s) m,"
        " LATERAL (SELECT id, length, words FROM tools WHERE id = m.id OFFSET 0) t,"
        " LATERAL unnest(t.words) u"
        " WHERE u.lexeme = ANY(%(stems)s) GROUP BY t.id, t.length, m.score"
        " ORDER BY m.score DESC, t.id"
    )
    values = {
        "stems": list(weights),
        "weights": list(weights.values()),
        "finders": list(weights if finders is None else finders),
        "named": named,
        "mean": max(mean_length, 1.0),
        "apart": list(apart),
        "most": most,
    }
    return all_of(connection, _match, statement, values)


def word_matches(
    connection: Connection, organisation_id: int, stems: Sequence[str], ids: Sequence[int]
) -> list[WordMatch]:
    """The same of these tools alone."""
    statement = (
        "SELECT t.id, t.length, array_agg(u.lexeme), "
        " array_agg(array_to_string(u.positions, ','))"
        " FROM tools t, LATERAL unnest(t.words) u WHERE t.organisation_id = %(organisation)s"
        " AND t.id = ANY(%(ids)s) AND u.lexeme = ANY(%(stems)s) GROUP BY t.id, t.length"
    )
    values = {"organisation": organisation_id, "stems": list(stems), "ids": list(ids)}
    return all_of(connection, _match, statement, values)


def holders(connection: Connection, organisation_id: int, stems: Sequence[str]) -> dict[str, int]:
    """The number of tools that hold each stem, of those that the caller sees."""
    statement = (
        "SELECT stem, sum(tools)::bigint FROM scope_stems"
        " WHERE organisation_id = %(organisation)s"
        " AND scope_id = ANY((SELECT toolcrib.scopes())::bigint[])"
        " AND stem = ANY(%(stems)s) GROUP BY stem"
    )
    values = {"organisation": organisation_id, "stems": list(stems)}
    return dict(all_of(connection, _count, statement, values))


def like_words(
    connection: Connection, organisation_id: int, word: str, *, least: int, most: int
) -> dict[str, int]:
    """Words with the same first letter and `least` to `most` letters, with the texts that hold
    them."""
    statement = (
        "SELECT word, sum(count)::bigint FROM scope_vocabulary"
        " WHERE organisation_id = %(organisation)s"
        " AND scope_id = ANY((SELECT toolcrib.scopes())::bigint[])"
        " AND word >= %(first)s AND word < %(next)s AND length(word) BETWEEN %(least)s AND %(most)s"
        " GROUP BY word"
    )
    values = {
        "organisation": organisation_id,
        "first": word[0],
        "next": chr(ord(word[0]) + 1),
        "least": least,
        "most": most,
    }
    return dict(all_of(connection, _count, statement, values))


def index_name(table: str, organisation_id: int, part: int, parts: int) -> str:
    """An HNSW index of one organisation's vectors: over one of several parts of them."""
    return f"{table}_near_{organisation_id}_{part}_of_{parts}"


def built_parts(table: str) -> str:
    """SQL of the number of parts of an organisation's index; 0 unless all of them are valid."""
    return (
        "(SELECT coalesce(max(p.parts), 0)::int FROM (SELECT"
        " substring(c.relname from '_of_([0-9]+)$')::int AS parts, count(*) AS valid"
        " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        f" WHERE i.indrelid = 'toolcrib.{table}'::regclass AND i.indisvalid"
        f" AND c.relname ~ ('^{table}_near_' || o.id || '_[0-9]+_of_[0-9]+$')"
        " GROUP BY 1) p WHERE p.valid = p.parts)"
    )


def _pairs(
    connection: Connection, statement: sql.SQL | sql.Composed, values: dict[str, object]
) -> list[tuple[int, float]]:
    rows = connection.execute(statement, values).fetchall()
    return [_pair(*row) for row in rows]


def _pair(id_: object, value: object) -> tuple[int, float]:
    assert isinstance(id_, int) and isinstance(value, float)
    return id_, value


def _visible(
    organisation_id: int,
    tools: int,
    lengths: int,
    vectors: int,
    every_vector: int,
    parts: int,
    requests: int,
    every_request: int,
    request_parts: int,
) -> Visible:
    return Visible(
        organisation_id,
        tools,
        lengths,
        Vectors(vectors, every_vector, parts),
        Vectors(requests, every_request, request_parts),
    )


def _count(word: str, count: int) -> tuple[str, int]:
    return word, count


def _match(
    tool_id: int,
    length: int,
    stems: tuple[str, ...],
    positions: tuple[str, ...],
) -> WordMatch:
    numbers = tuple(tuple(int(at) for at in one.split(",")) for one in positions)
    return WordMatch(tool_id, length, stems, numbers)
