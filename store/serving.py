"""What the gateway reads, as plain rows: its start must not pay for the record classes."""

import json

import apsw

from store.typed import Any

Json = dict[str, Any]

# why a tool with an open finding of severity block is held back
SUSPECT = "its text looks like an instruction to the model"


class _Row:
    """Its class names the columns, in order; typing.NamedTuple would be a tenth of the start."""

    def __init__(self, *values: object) -> None:
        self.__dict__.update(zip(type(self).__annotations__, values, strict=True))


class ServerRow(_Row):
    """A server as the gateway needs it before anything is started."""

    id: int
    name: str
    trusted: bool
    problem: str
    spec: str  # JSON of a ServerSpec
    taken_with: Json
    server_info: Json
    capabilities: Json
    instructions: str
    read_at: float


class ToolRow(_Row):
    """A tool with its state in one profile."""

    id: int
    server_id: int
    name: str
    raw: str  # the tool's JSON text
    problem: str
    changed: bool  # differs from the text that was trusted
    on: bool
    pinned: bool
    held: str

    @property
    def shown(self) -> bool:
        """Whether a host may get the tool (its server's trust aside)."""
        return self.on and not self.held and not self.changed and not self.problem


def profile(db: apsw.Connection, name: str) -> tuple[int, Json] | None:
    """A profile's id and settings."""
    row = db.execute("SELECT id, settings FROM profiles WHERE name = ?", (name,)).fetchone()
    return (row[0], json.loads(row[1])) if row else None


def server_rows(db: apsw.Connection) -> list[ServerRow]:
    """Every server, by name."""
    sql = (
        "SELECT id, name, trusted, problem, spec, taken_with, server_info, capabilities,"
        " instructions, read_at FROM servers WHERE status != 'retired'"
        " ORDER BY name COLLATE NOCASE"
    )
    return [
        ServerRow(
            row[0], row[1], bool(row[2]), row[3], row[4], *map(json.loads, row[5:8]), *row[8:]
        )
        for row in db.execute(sql)
    ]


def lists(db: apsw.Connection, server_id: int) -> tuple[list[Json], list[Json], list[Json]]:
    """The prompts, resources and templates that a server listed when it was read."""
    sql = "SELECT prompts, resources, templates FROM servers WHERE id = ?"
    row = db.execute(sql, (server_id,)).fetchone()
    return (json.loads(row[0]), json.loads(row[1]), json.loads(row[2])) if row else ([], [], [])


def tool_rows(
    db: apsw.Connection,
    profile_id: int,
    *,
    server_id: int | None = None,
    name: str | None = None,
    pinned: bool = False,
) -> list[ToolRow]:
    """Tools that are still listed, in their servers' order; of two with one name, both."""
    where = ["t.gone = 0"]
    if server_id is not None:
        where.append("t.server_id = :server")
    if name is not None:
        where.append("t.name = :name")
    if pinned:
        where.append("p.pinned = 1")
    sql = (
        "SELECT t.id, t.server_id, t.name, t.raw, t.problem, t.hash != t.trusted_hash,"
        " coalesce(p.is_on, 1), coalesce(p.pinned, 0),"
        " CASE WHEN t.id IN (SELECT tool_id FROM blocked) THEN :suspect"
        " ELSE coalesce(p.held, '') END FROM tools t"
        " LEFT JOIN profile_tools p ON p.tool_id = t.id AND p.profile_id = :profile"
        f" WHERE {' AND '.join(where)} ORDER BY t.server_id, t.position, t.id"
    )
    values = {
        "server": server_id,
        "name": name,
        "profile": profile_id,
        "suspect": SUSPECT,
    }
    return [
        ToolRow(*row[:5], bool(row[5]), bool(row[6]), bool(row[7]), row[8])
        for row in db.execute(sql, values)
    ]


def tool_names(db: apsw.Connection) -> list[tuple[int, str]]:
    """(server id, tool name) of every tool that is still listed."""
    return list(db.execute("SELECT server_id, name FROM tools WHERE gone = 0 ORDER BY id"))


def tool_tokens(db: apsw.Connection, tool_id: int) -> int:
    """Tokens of a tool's host text, 0 until counted; o200k_base where both were counted."""
    sql = "SELECT host_text FROM token_counts WHERE tool_id = ? ORDER BY encoding DESC"
    row = db.execute(sql, (tool_id,)).fetchone()
    return int(row[0]) if row else 0


def state(db: apsw.Connection, profile_id: int) -> tuple[object, ...]:
    """A value that differs when what the gateway serves for a profile may have changed."""
    sql = (
        "SELECT (SELECT settings FROM profiles WHERE id = :p),"
        " (SELECT group_concat(tool_id || ':' || is_on || pinned || held)"
        "  FROM profile_tools WHERE profile_id = :p),"
        " (SELECT group_concat(id || ':' || trusted || spec_key || list_hash || read_at)"
        "  FROM servers),"
        " (SELECT count(*) || ':' || coalesce(max(last_seen), 0) || ':' || total(gone) || ':'"
        "  || total(hash != trusted_hash) FROM tools), (SELECT count(*) FROM blocked)"
    )
    return tuple(db.execute(sql, {"p": profile_id}).fetchone() or ())
