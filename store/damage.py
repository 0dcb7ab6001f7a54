"""Damage inside a database that SQLite itself can read: missing tables, texts that are no JSON.

Readers leave out what is damaged and go on; `damaged_rows` finds the same rows and names them.
"""

import json
from collections.abc import Container, Iterator

import apsw

from store.typed import Json

TYPE_CHECKING = False  # every connection loads this module, and typing takes milliseconds
if TYPE_CHECKING:
    from store.records import ServerSpec

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
    ("market_installs", "entry", OBJECT, "name"),
    ("market_installs", "given", OBJECT, "name"),
    ("market_former", "install", OBJECT, "server_id"),
    ("market_former", "launch", OBJECT, "server_id"),
    ("market_former", "trusted", OBJECT, "server_id"),
    ("splits", "detail", OBJECT, "profile"),
    ("teams", "sends", ARRAY, "url"),
    ("team_rows", "body", OBJECT, "kind"),
    ("server_sharing", "requests", ARRAY, "(SELECT s.name FROM servers s WHERE s.id = server_id)"),
)
WITHOUT_ROWID = frozenset({"team_rows"})  # of those above
_MAY_BE_EMPTY = frozenset({("tools", "trusted_raw")})
# a test compares both with what the migrations make
TABLES_OF_VERSION = 24
TABLES = frozenset((
    "hosts", "servers", "entries", "tools", "summaries", "token_counts", "vectors", "keywords",
    "profiles", "profile_tools", "findings", "events", "exports", "labels", "runs", "blobs",
    "requests", "request_vectors", "server_sharing", "blocked", "withheld", "availability",
    "host_records", "host_tools", "host_calls", "host_requests", "approvals", "always_allowed",
    "former_names", "market_sources", "market_servers", "market_tools", "market_vectors",
    "market_words", "market_installs", "market_former", "policies", "profile_policies",
    "splits", "put_off", "hidden_tools", "teams",
    "team_rows", "team_profiles", "size_days",
))  # fmt: skip


# what every verb and page shows, and what a damaged one of it means
_SHOWN = {"servers": "server", "tools": "tool", "profiles": "profile"}
_MEANS = {
    ("servers", "spec"): "it is left out",
    ("tools", "raw"): "it is not used",
    ("tools", "trusted_raw"): "its earlier text cannot be shown",
    ("profiles", "settings"): "no server is in it",
}
UNUSABLE = "Its stored definition is damaged; read its server again."
TEXTS_DAMAGED = "What is stored of its texts is damaged; read it again."
NO_SERVERS: Json = {"servers": []}  # settings that let nothing through


class Damage:
    """One damaged column of one row; `name` is of the server, tool or profile that it is of."""

    __slots__ = ("column", "name", "row", "table")

    def __init__(self, table: str, column: str, row: int, name: str) -> None:
        self.table, self.column, self.row, self.name = table, column, row, name

    @property
    def sentence(self) -> str:
        """The damage in words."""
        kind = _SHOWN.get(self.table, self.table)
        means = _MEANS.get((self.table, self.column), "it counts as empty")
        return f"The stored {self.column} of the {kind} {self.name} is damaged: {means}."


def missing_tables(db: apsw.Connection) -> tuple[str, ...]:
    """Tables and views that are not in the database, by name; one of an older form has none."""
    if int(db.pragma("user_version")) < TABLES_OF_VERSION:
        return ()
    present = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    return tuple(sorted(TABLES - present))


def shown_damage(db: apsw.Connection) -> list[Damage]:
    """Damage to servers, tools and profiles; 3 ms for each thousand tools."""
    return list(damaged_rows(db, _SHOWN))


def damaged_rows(db: apsw.Connection, tables: Container[str] = TABLES) -> Iterator[Damage]:
    """Every column that holds no JSON of its type; needs every table."""
    for table, column, kind, name in COLUMNS:
        if table not in tables:
            continue
        empty = f"{column} != '' AND" if (table, column) in _MAY_BE_EMPTY else ""
        key = "0" if table in WITHOUT_ROWID else "rowid"
        sql = (
            f"SELECT {key}, {name}, {column} FROM {table} WHERE {empty} CASE"
            f" WHEN json_valid({column}) THEN json_type({column}) != '{kind}' ELSE 1 END"
        )
        for row, shown, text in db.execute(sql):
            if _parsed(text, dict if kind == OBJECT else list) is None:
                yield Damage(table, column, int(row), str(shown))
        if column == "spec":
            for row, shown, text in db.execute("SELECT id, name, spec FROM servers"):
                if json_object(text) is not None and server_spec(text) is None:
                    yield Damage(table, column, int(row), str(shown))


def server_spec(text: str) -> "ServerSpec | None":
    """The spec of a server's row, None where a field is missing or of another type."""
    from dataclasses import asdict

    from store.records import ServerSpec

    fields, empty = json_object(text), asdict(ServerSpec("", ""))
    if fields is None or not {"transport", "key"} <= fields.keys() <= empty.keys():
        return None
    for name, value in fields.items():
        many = isinstance(empty[name], tuple)
        parts = value if many else [value]
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            return None
        fields[name] = tuple(parts) if many else value
    return ServerSpec(**fields)


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
