"""Keyword search (FTS5 bm25), and the conditions that both searches apply inside the SQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from store.records import Hit

# bm25 weights of name, description, parameters, server
WEIGHTS = (2.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which tools a search may find; None means no limit."""

    profile_id: int | None = None  # with only_on: the profile whose ticks count
    only_on: bool = False
    server_ids: frozenset[int] | None = None
    tool_ids: frozenset[int] | None = None

    def condition(self) -> str:
        """A subquery of tool ids, safe to paste: every value in it is an integer."""
        where = ["t.gone = 0", "t.problem = ''"]
        if self.server_ids is not None:
            where.append(f"t.server_id IN ({_numbers(self.server_ids)})")
        if self.tool_ids is not None:
            where.append(f"t.id IN ({_numbers(self.tool_ids)})")
        if self.only_on:
            where.append(_SHOWN.format(profile=int(self.profile_id or 0)))
        return f"SELECT t.id FROM tools t WHERE {' AND '.join(where)}"


_SHOWN = (
    "t.hash = t.trusted_hash AND t.server_id IN (SELECT id FROM servers WHERE trusted = 1)"
    " AND t.id NOT IN (SELECT tool_id FROM blocked)"
    " AND t.id NOT IN (SELECT tool_id FROM profile_tools WHERE profile_id = {profile}"
    " AND (is_on = 0 OR held != ''))"
)


def _numbers(ids: Iterable[int]) -> str:
    return ",".join(str(int(i)) for i in sorted(ids))


def save_keywords(db: apsw.Connection, rows: Iterable[tuple[int, str, str, str, str]]) -> None:
    """Index (tool id, name, description, parameters, server), replacing what was there."""
    rows = list(rows)
    db.executemany("DELETE FROM keywords WHERE rowid = ?", [(row[0],) for row in rows])
    db.executemany(
        "INSERT INTO keywords (rowid, name, description, parameters, server)"
        " VALUES (?, ?, ?, ?, ?)",
        rows,
    )


def keyword(
    db: apsw.Connection,
    words: Sequence[str],
    *,
    limit: int,
    scope: Scope | None = None,
    weights: Sequence[float] = WEIGHTS,
) -> list[Hit]:
    """Tools that hold any of the words, best first; the score is bm25 with its sign turned."""
    if not words or limit <= 0:
        return []
    match = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
    within = f" AND +rowid IN ({scope.condition()})" if scope else ""
    shares = ", ".join(str(float(w)) for w in weights)
    sql = (
        f"SELECT rowid, -bm25(keywords, {shares}) AS score FROM keywords"
        f" WHERE keywords MATCH ?{within} ORDER BY score DESC, rowid LIMIT ?"
    )
    return [Hit(row[0], row[1]) for row in db.execute(sql, (match, limit))]
