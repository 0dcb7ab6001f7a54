"""Plain rows that the gateway reads: its start must not pay for the record classes."""

import json

import apsw

from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from collections.abc import Collection

# findings in what a server says beside its tools: a key of taken_with, and their kinds
HELD_TEXTS = "texts"
INSTRUCTIONS, SERVER_INFO = "instructions", "serverInfo"
PROMPTS, RESOURCES, TEMPLATES = "prompts", "resources", "templates"
NAME_KEYS = {PROMPTS: "name", RESOURCES: "uri", TEMPLATES: "uriTemplate"}


# a tool's text, an object without anything where it is damaged
_RAW = (
    "CASE WHEN typeof(t.raw) = 'text' AND json_valid(t.raw) AND json_type(t.raw) = 'object'"
    " THEN t.raw ELSE '{}' END"
)


class _Row:
    """Its class names the columns, in order; typing.NamedTuple would be a tenth of the start."""

    def __init__(self, *values: object) -> None:
        self.__dict__.update(zip(type(self).__annotations__, values, strict=True))


class ServerRow(_Row):
    """A server as the gateway needs it before anything is started."""

    id: int
    name: str
    trusted: bool
    disabled: bool
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
    raw: str  # the tool's JSON text, always an object
    problem: str
    pinned: bool
    reason: str  # a kind of app.catalog.availability, "" when a host may get it

    @property
    def shown(self) -> bool:
        """True if a host may get the tool."""
        return not self.reason


def profile(db: apsw.Connection, name: str) -> tuple[int, Json | None] | None:
    """A profile's id and settings, None where they are damaged."""
    row = db.execute("SELECT id, settings FROM profiles WHERE name = ?", (name,)).fetchone()
    return None if row is None else (row[0], _object(row[1]))


def spec_fields(row: ServerRow) -> Json:
    """The fields of a server's spec, none where it is damaged."""
    return _object(row.spec) or {}


def _object(text: object) -> Json | None:
    """The JSON object of a stored text, None where it is damaged.

    As in store.damage, which costs more to load than the gateway's start may take.
    """
    try:
        value = json.loads(text)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _entries(text: object) -> list[Json]:
    """The JSON objects of a stored array, none where it is damaged."""
    value = _object(f'{{"entries":{text}}}')
    entries = value.get("entries") if value is not None else None
    return [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []


def server_rows(db: apsw.Connection) -> list[ServerRow]:
    """Every server, by name."""
    sql = (
        "SELECT id, name, trusted, disabled, problem, spec, taken_with, server_info, capabilities,"
        " instructions, read_at FROM servers WHERE status != 'retired'"
        " ORDER BY name COLLATE NOCASE"
    )
    return [_server_row(row) for row in db.execute(sql)]


def specs(db: apsw.Connection) -> set[tuple[str, str]]:
    """(name, stored spec) of every server, retired ones too."""
    return set(db.execute("SELECT name, spec FROM servers"))


def _server_row(values: "tuple[object, ...]") -> ServerRow:
    """A server without what is held or damaged of its texts."""
    taken_with, info, capabilities = map(_object, values[6:9])
    row = ServerRow(
        *values[:2],
        *map(bool, values[2:4]),
        *values[4:6],
        taken_with or {},
        info or {},
        capabilities or {},
        *values[9:],
    )
    held, unknown = held_texts(row.taken_with), taken_with is None
    if unknown or (INSTRUCTIONS, "") in held:
        row.instructions = ""
    if unknown or (SERVER_INFO, "") in held:
        row.server_info = plain_info(row.name, row.server_info)
    return row


def server_ids(db: apsw.Connection, names: "Collection[str]") -> set[int]:
    """Ids of the servers of these names, also where they were renamed since."""
    sql = (
        "SELECT id FROM servers WHERE name IN (SELECT value FROM json_each(:names))"
        " UNION SELECT server_id FROM former_names"
        " WHERE name IN (SELECT value FROM json_each(:names))"
    )
    return {row[0] for row in db.execute(sql, {"names": json.dumps(list(names))})}


def entries_of(db: apsw.Connection, profile: str) -> dict[str, list[str]]:
    """Servers that the one entry of each host's file reaches for a profile, by the file's newest
    write that was not taken back."""
    sql = (
        "SELECT file, detail FROM exports WHERE id IN (SELECT max(id) FROM exports"
        " WHERE undone_at = 0 AND mode != 'hook' GROUP BY file)"
        " AND mode = 'through' AND profile = ?"
    )
    entries: dict[str, list[str]] = {}
    for file, detail in db.execute(sql, (profile,)):
        behind = (_object(detail) or {}).get("behind")
        if isinstance(behind, list):
            entries[file] = [str(name) for name in behind]
    return entries


def past_entries(db: apsw.Connection, profile: str) -> dict[str, set[tuple[str, ...]]]:
    """Every set of servers that the one entry of each file has reached for a profile, by whatever
    write: a session that was started by such an entry may outlive it.
    """
    sql = (
        "SELECT DISTINCT file, detail -> '$.behind' FROM exports"
        " WHERE mode = 'through' AND profile = ? AND json_valid(detail)"
    )
    entries: dict[str, set[tuple[str, ...]]] = {}
    for file, text in db.execute(sql, (profile,)):
        behind = json.loads(text) if text else None
        if isinstance(behind, list):
            entries.setdefault(file, set()).add(tuple(sorted(map(str, behind))))
    return entries


def named_server_ids(db: apsw.Connection, profile_id: int) -> set[int]:
    """Ids of the servers that a menu names: they start, and a tool of theirs may reach a host.

    One that was never read may have some.
    """
    sql = (
        "SELECT id FROM servers WHERE status != 'could not start' AND (read_at = 0 OR id IN ("
        "SELECT t.server_id FROM tools t JOIN availability a ON a.tool_id = t.id"
        " AND a.profile_id = ? WHERE a.reason = ''))"
    )
    return {row[0] for row in db.execute(sql, (profile_id,))}


def plain_info(name: str, info: Json) -> Json:
    """Parts of a server's serverInfo that remain where its titles are held."""
    return {k: v for k, v in info.items() if k == "version"} | {"name": name}


def held_texts(taken_with: Json) -> set[tuple[str, str]]:
    """Kind and name of every text that waits for a decision, or was kept back by one."""
    findings = taken_with.get(HELD_TEXTS)
    return {
        (str(finding.get("kind")), str(finding.get("name")))
        for finding in (findings if isinstance(findings, list) else ())
        if finding.get("severity") == "block" and finding.get("decided") != "approved"
    }


def lists(db: apsw.Connection, server_id: int) -> tuple[list[Json], list[Json], list[Json]]:
    """The prompts, resources and templates that a server listed, but those that are held."""
    sql = "SELECT prompts, resources, templates, taken_with FROM servers WHERE id = ?"
    row = db.execute(sql, (server_id,)).fetchone()
    if row is None:
        return [], [], []
    taken_with = _object(row[3])
    if taken_with is None:  # what is held cannot be known
        return [], [], []
    held = held_texts(taken_with)
    prompts, resources, templates = (
        [entry for entry in _entries(text) if (kind, str(entry.get(key))) not in held]
        for text, (kind, key) in zip(row, NAME_KEYS.items(), strict=False)
    )
    return prompts, resources, templates


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
        where.append("a.pinned = 1")
    sql = (
        f"SELECT t.id, t.server_id, t.name, {_RAW}, t.problem, a.pinned, a.reason FROM tools t"
        " JOIN availability a ON a.tool_id = t.id AND a.profile_id = :profile"
        f" WHERE {' AND '.join(where)} ORDER BY t.server_id, t.position, t.id"
    )
    values = {"server": server_id, "name": name, "profile": profile_id}
    return [_tool_row(row) for row in db.execute(sql, values)]


def _tool_row(values: "tuple[object, ...]") -> ToolRow:
    row = ToolRow(*values[:5], bool(values[5]), values[6])
    if row.raw == "{}":
        from store.damage import UNUSABLE  # loads the record classes

        row.problem, row.reason = UNUSABLE, row.reason or "unusable"
    return row


def tool_names(db: apsw.Connection) -> list[tuple[int, str]]:
    """(server id, tool name) of every tool that is still listed."""
    return list(db.execute("SELECT server_id, name FROM tools WHERE gone = 0 ORDER BY id"))


def tool_texts(db: apsw.Connection, server_id: int) -> list[str]:
    """The JSON texts of a server's tools that are still listed."""
    sql = f"SELECT {_RAW} FROM tools t WHERE server_id = ? AND gone = 0 ORDER BY position, id"
    return [row[0] for row in db.execute(sql, (server_id,))]


def named_tool_texts(db: apsw.Connection, server_id: int) -> dict[str, list[str]]:
    """The same by the tools' names, several where names repeat, of those that were indexed."""
    sql = (
        f"SELECT t.name, {_RAW} FROM tools t JOIN summaries s"
        " ON s.tool_id = t.id AND s.hash = t.hash"
        " WHERE t.gone = 0 AND t.server_id = ? ORDER BY t.name, t.twin"
    )
    texts: dict[str, list[str]] = {}
    for name, raw in db.execute(sql, (server_id,)):
        texts.setdefault(name, []).append(raw)
    return texts


def tool_tokens(db: apsw.Connection, tool_id: int) -> int:
    """Tokens of a tool's host text, 0 until counted; o200k_base where both were counted."""
    sql = "SELECT host_text FROM token_counts WHERE tool_id = ? ORDER BY encoding DESC"
    row = db.execute(sql, (tool_id,)).fetchone()
    return int(row[0]) if row else 0


def names_state(db: apsw.Connection) -> tuple[object, ...]:
    """A value that differs when names of profiles or servers, or summaries of tools, changed."""
    sql = (
        "SELECT (SELECT group_concat(name) FROM profiles),"
        " (SELECT group_concat(name) FROM servers),"
        " (SELECT count(*) || ':' || coalesce(max(hash), '') FROM summaries)"
    )
    return tuple(db.execute(sql).fetchone() or ())


def state(db: apsw.Connection, profile_id: int) -> tuple[object, ...]:
    """A value that differs when what the gateway serves for a profile may have changed."""
    sql = (
        "SELECT (SELECT settings FROM profiles WHERE id = :p),"
        " (SELECT group_concat(tool_id || ':' || is_on || pinned || held)"
        "  FROM profile_tools WHERE profile_id = :p),"
        " (SELECT group_concat(id || ':' || trusted || disabled || spec_key || list_hash"
        "  || read_at || status) FROM servers),"
        " (SELECT count(*) || ':' || coalesce(max(last_seen), 0) || ':' || total(gone) || ':'"
        "  || total(hash != trusted_hash) FROM tools), (SELECT count(*) FROM blocked),"
        " (SELECT group_concat(fingerprint) FROM blobs WHERE name LIKE 'floor%'"
        "  OR name LIKE 'taught%')"
    )
    return tuple(db.execute(sql, {"p": profile_id}).fetchone() or ())
