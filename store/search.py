"""Keyword search (FTS5 bm25), and the conditions that both searches apply inside the SQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

# bm25 weights of name, description, parameters, server, requests
WEIGHTS = (2.0, 1.0, 1.0, 1.0, 1.0)

KeywordRow = tuple[int, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Scope:
    """Tools that a search may return; None means no limit."""

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


_SHOWN = "t.id IN (SELECT tool_id FROM availability WHERE profile_id = {profile} AND reason = '')"


def _numbers(ids: Iterable[int]) -> str:
    return ",".join(str(int(i)) for i in sorted(ids))


def phrase(word: str) -> str:
    """A word as FTS5 takes it, whatever letters it has."""
    return '"' + word.replace('"', '""') + '"'


def allowed_tools(db: apsw.Connection, scope: Scope) -> frozenset[int]:
    """The tools within a scope."""
    return frozenset(row[0] for row in db.execute(scope.condition()))


def save_keywords(db: apsw.Connection, rows: Iterable[KeywordRow]) -> None:
    """Index (tool id, name, description, parameters, server, requests); old rows go."""
    rows = list(rows)
    db.executemany("DELETE FROM keywords WHERE rowid = ?", [(row[0],) for row in rows])
    db.executemany(
        "INSERT INTO keywords (rowid, name, description, parameters, server, requests)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        rows,
    )


def keyword_scores(
    db: apsw.Connection,
    words: Sequence[str],
    *,
    scope: Scope | None = None,
    weights: Sequence[float] = WEIGHTS,
) -> dict[int, float]:
    """Every tool that holds any of the words, and its bm25 with the sign turned."""
    if not words:
        return {}
    match = " OR ".join(map(phrase, words))
    within = f" AND +rowid IN ({scope.condition()})" if scope else ""
    shares = ", ".join(str(float(w)) for w in weights)
    sql = (
        f"SELECT rowid, -bm25(keywords, {shares}) FROM keywords"
        f" WHERE keywords MATCH ?{within} ORDER BY rowid"
    )
    rows: Iterable[Any] = db.execute(sql, (match,))
    return dict(rows)


def has_word(db: apsw.Connection, word: str) -> bool:
    """True if any tool's keywords hold a form of the word."""
    sql = "SELECT 1 FROM keywords WHERE keywords MATCH ? LIMIT 1"
    return db.execute(sql, (phrase(word),)).fetchone() is not None
