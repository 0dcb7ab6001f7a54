"""Damage inside a database that SQLite itself can read: missing tables, texts that are no JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import apsw

from store.typed import Json

OBJECT, ARRAY = "object", "array"
# (table, column, JSON type, SQL of the row's name); "" is allowed where a column may be empty
COLUMNS = (
    ("servers", "spec", OBJECT, "name"),
    ("servers", "taken_with", OBJECT, "name"),
    ("servers", "server_info", OBJECT, "name"),
    ("servers", "capabilities", OBJECT, "name"),
    ("servers", "prompts", ARRAY, "name"),
    ("servers", "resources", ARRAY, "name"),
    ("servers", "templates", ARRAY, "name"),
    ("tools", "raw", OBJECT, "(SELECT s.name FROM servers s WHERE s.id = server_id)||'/'||name"),
    (
        "tools",
        "trusted_raw",
        OBJECT,
        "(SELECT s.name FROM servers s WHERE s.id = server_id)||'/'||name",
    ),
    ("profiles", "settings", OBJECT, "name"),
    ("exports", "detail", OBJECT, "host"),
    ("events", "detail", OBJECT, "kind"),
    ("labels", "expected", ARRAY, "query"),
    ("runs", "settings", OBJECT, "id"),
    ("runs", "result", OBJECT, "id"),
    ("server_sharing", "requests", ARRAY, "(SELECT s.name FROM servers s WHERE s.id = server_id)"),
)
_MAY_BE_EMPTY = frozenset({("tools", "trusted_raw")})
# a test compares them with what the migrations make
TABLES = frozenset((
    "hosts", "servers", "entries", "tools", "summaries", "token_counts", "vectors", "keywords",
    "profiles", "profile_tools", "findings", "events", "exports", "labels", "runs", "blobs",
    "requests", "request_vectors", "server_sharing", "blocked", "withheld", "availability",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged part: a missing table (`row` is 0), or one column of one row."""

    table: str
    column: str = ""
    row: int = 0
    name: str = ""  # of the server, tool or profile that the row is of


def missing_tables(db: apsw.Connection) -> tuple[str, ...]:
    """Tables and views that are not in the database, by name."""
    present = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    return tuple(sorted(TABLES - present))


def damaged_rows(db: apsw.Connection) -> Iterator[Damage]:
    """Every column that holds no JSON of its type; needs every table."""
    for table, column, kind, name in COLUMNS:
        empty = f"{column} != '' AND" if (table, column) in _MAY_BE_EMPTY else ""
        sql = (
            f"SELECT rowid, {name}, {column} FROM {table} WHERE {empty} CASE"
            f" WHEN json_valid({column}) THEN json_type({column}) != '{kind}' ELSE 1 END"
        )
        for row, shown, text in db.execute(sql):
            if _parsed(text, dict if kind == OBJECT else list) is None:
                yield Damage(table, column, int(row), str(shown))


def json_object(text: str) -> Json | None:
    """The JSON object of a stored text, None where it is damaged."""
    value = _parsed(text, dict)
    return value if isinstance(value, dict) else None


def json_array(text: str) -> list[object] | None:
    """The JSON array of a stored text, None where it is damaged."""
    value = _parsed(text, list)
    return value if isinstance(value, list) else None


def _parsed(text: str, kind: type) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, kind) else None
