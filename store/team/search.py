"""Candidates of a search, by meaning and by words, with what the caller may see inside the SQL.

HNSW finds least for those who may see least, without an error: at 100,000 rows a scope of 1 % gets
3 % of its true neighbours. So visible rows are counted first, and the plan is chosen here, never by
the planner: up to EXACT rows are compared one by one, more go through the organisation's own index.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from store.team.connecting import Connection
from store.team.reading import all_of, changed, first_of
from store.team.tools import half

EXACT = 20_000  # visible rows that are compared one by one: 8 ms of a core
# Of an index's rows, at least this share must be visible: below, an index scan reads rows that it
# may not return, and gives up before it has enough.
LEAST_SHARE = 0.2
_EF = 400  # candidates of an index scan: 200 find 98.7 to 99.2 % at 50,000 rows


@dataclass(frozen=True, slots=True)
class Visible:
    """Sizes of what the caller may see, which choose the plan."""

    organisation_id: int
    indexed: bool  # the organisation has an HNSW index
    tools: int
    lengths: int  # words in them
    vectors: int
    request_vectors: int
    all_vectors: int  # of the organisation


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
        "SELECT o.id, o.indexed, coalesce(sum(s.tools) FILTER (WHERE v.seen), 0)::bigint,"
        " coalesce(sum(s.lengths) FILTER (WHERE v.seen), 0)::bigint,"
        " coalesce(sum(s.tool_vectors) FILTER (WHERE v.seen), 0)::bigint,"
        " coalesce(sum(s.request_vectors) FILTER (WHERE v.seen), 0)::bigint,"
        " coalesce(sum(s.tool_vectors), 0)::bigint FROM organisations o"
        " LEFT JOIN scopes s ON s.organisation_id = o.id"
        " CROSS JOIN LATERAL (SELECT s.id = ANY(toolcrib.scopes()) AS seen) v"
        " WHERE o.id = %(organisation)s GROUP BY o.id"
    )
    row = first_of(connection, Visible, statement, {"organisation": organisation_id})
    return row or Visible(organisation_id, False, 0, 0, 0, 0, 0)


def limits(
    connection: Connection,
    organisation_id: int,
    *,
    off: Sequence[str] = (),
    installed: bool = True,
    allowlist: bool = False,
) -> Limits:
    """Tools that are held, changed after the review, have a problem, or are off.

    A tool is off because its server is, or by its name (`off` are server/tool of a profile).

    `installed` False turns to the marketplace's entries instead of the team's own tools.
    `allowlist` says that the caller has one: its tools are looked up.
    """
    values = {"organisation": organisation_id, "off": list(off), "installed": installed}
    apart = (
        "SELECT id FROM tools WHERE organisation_id = %(organisation)s AND"
        " (held OR problem <> '' OR NOT installed OR (trusted_hash <> '' AND trusted_hash <> hash))"
        " AND (held OR problem <> '' OR installed <> %(installed)s"
        " OR (trusted_hash <> '' AND trusted_hash <> hash))"
        " UNION SELECT t.id FROM tools t JOIN servers s ON s.id = t.server_id"
        " WHERE s.organisation_id = %(organisation)s AND NOT s.enabled"
        " UNION SELECT id FROM tools WHERE organisation_id = %(organisation)s"
        " AND tool_id = ANY(%(off)s)"
    )
    only = "SELECT id FROM tools WHERE organisation_id = %(organisation)s"
    if not installed:
        only += " AND NOT installed"
    narrowed = allowlist or not installed
    return Limits(
        tuple(all_of(connection, int, apart, values)),
        tuple(all_of(connection, int, only, values)) if narrowed else None,
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
    exact = uses_exact(seen, within)
    conditions = [
        sql.SQL("v.organisation_id = {}").format(sql.Literal(seen.organisation_id)),
        sql.SQL("v.model = %(model)s"),
        sql.SQL("v.scope_id = ANY((SELECT toolcrib.scopes())::bigint[])"),
    ]
    values: dict[str, object] = {"model": model, "query": half(query), "k": k}
    if within.only is not None:
        conditions.append(sql.SQL("v.tool_id = ANY(%(only)s)"))
        values["only"] = list(within.only)
    if within.apart:
        conditions.append(sql.SQL("v.tool_id <> ALL(%(apart)s)"))
        values["apart"] = list(within.apart)
    if not exact:
        _prepare_index_scan(connection)
    # an order that is no operator alone keeps the planner from the index
    order = sql.SQL("(v.v <=> %(query)s) + 0" if exact else "v.v <=> %(query)s")
    statement = sql.SQL(
        "SELECT tool_id, 1 - distance FROM (SELECT v.tool_id, v.v <=> %(query)s AS distance"
        " FROM tool_vectors v WHERE {} ORDER BY {} LIMIT %(k)s) n ORDER BY distance, tool_id"
    ).format(sql.SQL(" AND ").join(conditions), order)
    return dict(_pairs(connection, statement, values))


def uses_exact(seen: Visible, within: Limits) -> bool:
    """True if visible rows are compared one by one."""
    if within.only is not None or not seen.indexed or seen.vectors <= EXACT:
        return True
    return seen.vectors < LEAST_SHARE * seen.all_vectors


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
    if not seen.request_vectors:
        return []
    statement = (
        "SELECT v.tool_id FROM request_vectors v WHERE v.organisation_id = %(organisation)s"
        " AND v.scope_id = ANY((SELECT toolcrib.scopes())::bigint[]) AND v.model = %(model)s"
        " AND v.tool_id <> ALL(%(apart)s)"
        " AND (%(only)s::bigint[] IS NULL OR v.tool_id = ANY(%(only)s))"
        " ORDER BY (v.v <=> %(query)s) + 0 LIMIT %(k)s"
    )
    values = {
        "organisation": seen.organisation_id,
        "model": model,
        "query": half(query),
        "apart": list(within.apart),
        "only": None if within.only is None else list(within.only),
        "k": k,
    }
    return list(dict.fromkeys(all_of(connection, int, statement, values)))


def cosines(
    connection: Connection, organisation_id: int, model: str, query: bytes, ids: Sequence[int]
) -> dict[int, float]:
    """The cosine of those of these tools that the caller sees."""
    statement = sql.SQL(
        "SELECT tool_id, 1 - (v <=> %(query)s) FROM tool_vectors"
        " WHERE organisation_id = %(organisation)s AND model = %(model)s AND tool_id = ANY(%(ids)s)"
    )
    values = {
        "organisation": organisation_id,
        "model": model,
        "query": half(query),
        "ids": list(ids),
    }
    return dict(_pairs(connection, statement, values))


def request_cosines(
    connection: Connection, organisation_id: int, model: str, query: bytes, ids: Sequence[int]
) -> dict[int, float]:
    """The best cosine of a request of each of these tools that has any."""
    statement = sql.SQL(
        "SELECT tool_id, 1 - min(v <=> %(query)s) FROM request_vectors"
        " WHERE organisation_id = %(organisation)s AND model = %(model)s"
        " AND tool_id = ANY(%(ids)s) GROUP BY tool_id"
    )
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
        " %(apart)s, %(most)s) m JOIN tools t ON t.id = m.id, LATERAL unnest(t.words) u"
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
        "SELECT stem, sum(tools)::bigint FROM stems WHERE organisation_id = %(organisation)s"
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
        "SELECT word, sum(count)::bigint FROM vocabulary WHERE organisation_id = %(organisation)s"
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


def index_name(organisation_id: int) -> str:
    """The HNSW index of one organisation's vectors."""
    return f"tool_vectors_near_{organisation_id}"


def build_index(connection: Connection, organisation_id: int) -> bool:
    """Give an organisation of more than EXACT vectors its own index (as the operator).

    One for all would find least for the smallest. True if there is one afterwards.
    """
    statement = (
        "SELECT coalesce(sum(tool_vectors), 0)::bigint FROM scopes WHERE organisation_id = %(id)s"
    )
    (count,) = all_of(connection, int, statement, {"id": organisation_id})
    wanted = count > EXACT
    name = sql.Identifier("toolcrib", index_name(organisation_id))
    if wanted:
        connection.execute(
            sql.SQL(
                "CREATE INDEX IF NOT EXISTS {} ON tool_vectors USING hnsw (v halfvec_cosine_ops)"
                " WHERE organisation_id = {}"
            ).format(sql.Identifier(index_name(organisation_id)), sql.Literal(organisation_id))
        )
    else:
        connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(name))
    changed(
        connection,
        "UPDATE organisations SET indexed = %(indexed)s WHERE id = %(id)s",
        {"indexed": wanted, "id": organisation_id},
    )
    return wanted


def _prepare_index_scan(connection: Connection) -> None:
    connection.execute(
        "SELECT set_config('hnsw.ef_search', %s, true),"
        " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
        " set_config('hnsw.max_scan_tuples', '100000', true)",
        (str(_EF),),
    )


def _pairs(
    connection: Connection, statement: sql.SQL | sql.Composed, values: dict[str, object]
) -> list[tuple[int, float]]:
    rows = connection.execute(statement, values).fetchall()
    return [_pair(*row) for row in rows]


def _pair(id_: object, value: object) -> tuple[int, float]:
    assert isinstance(id_, int) and isinstance(value, float)
    return id_, value


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
