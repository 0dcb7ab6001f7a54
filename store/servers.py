"""Servers, the config entries that name them, and the host files they came from."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import apsw

from store.damage import TEXTS_DAMAGED, json_array, json_object, server_spec
from store.findings import APPROVED
from store.records import (
    RETIRED,
    EntryRecord,
    Launched,
    SelfDescription,
    ServerRecord,
    ServerSpec,
)
from store.serving import HELD_TEXTS
from store.typed import Json, compact_json

_COLUMNS = (
    "id, name, spec, trusted, status, problem, stderr, taken_with, server_info, capabilities,"
    " instructions, prompts, resources, templates, list_hash, read_at,"
    " disabled"
)


_TAKEN_WITH = "iif(json_valid(taken_with), taken_with, '{}')"


def all_servers(db: apsw.Connection) -> list[ServerRecord]:
    """Every server that a file names, with its entries, by name."""
    entries: dict[int, list[EntryRecord]] = {}
    for entry in all_entries(db):
        entries.setdefault(entry.server_id, []).append(entry)
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM servers WHERE id IN (SELECT server_id FROM entries)"
        " ORDER BY name COLLATE NOCASE"
    )
    former: dict[int, list[str]] = {}
    for server_id, name in db.execute("SELECT server_id, name FROM former_names ORDER BY name"):
        former.setdefault(server_id, []).append(name)
    records = (_server(row, entries.get(row[0], [])) for row in rows)
    return [
        replace(record, former=tuple(former.get(record.id, ())))
        for record in records
        if record is not None
    ]


def by_name(db: apsw.Connection, name: str) -> ServerRecord | None:
    """The server of that catalogue name, or None."""
    row = db.execute(f"SELECT {_COLUMNS} FROM servers WHERE name = ?", (name,)).fetchone()
    return _server(row, [e for e in all_entries(db) if e.server_id == row[0]]) if row else None


def by_id(db: apsw.Connection, server_id: int) -> ServerRecord | None:
    """The server of that id, None where no file names it."""
    return next((one for one in all_servers(db) if one.id == server_id), None)


def names(db: apsw.Connection) -> dict[int, str]:
    """Name of every server that a file names, by its id."""
    return {server.id: server.name for server in all_servers(db)}


def launches(db: apsw.Connection) -> dict[int, Launched]:
    """Launch of each server that is not retired, by its id; minus that for one before an update."""
    sql = (
        "SELECT id, name, spec_key, iif(json_valid(spec), spec ->> '$.url', '') FROM servers"
        f" WHERE status != '{RETIRED}' UNION ALL"
        " SELECT -s.id, s.name, f.launch ->> '$.key', f.launch ->> '$.url' FROM market_former f"
        f" JOIN servers s ON s.id = f.server_id WHERE s.status != '{RETIRED}'"
        " AND json_valid(f.launch)"
    )
    return {row[0]: Launched(*row[1:]) for row in db.execute(sql)}


def all_entries(db: apsw.Connection) -> list[EntryRecord]:
    """Every config entry, in a stable order."""
    sql = (
        "SELECT host, scope, file, name, server_id, disabled FROM entries"
        " ORDER BY host, scope, file, name"
    )
    return [
        EntryRecord(host, scope, file, name, server_id, bool(disabled))
        for host, scope, file, name, server_id, disabled in db.execute(sql)
    ]


def place(
    db: apsw.Connection, entry: EntryRecord, spec: ServerSpec, *, name: str, trusted: bool
) -> int:
    """Record that `entry` names a server with this spec; the server's id.

    Entries with the same spec share one server. An entry whose spec changed takes its server
    along (tools and ticks stay, the status goes back to configured) unless other entries still
    name it. A server's name is `name` or, if taken, `name-2` and so on.
    """
    known = db.execute("SELECT id FROM servers WHERE spec_key = ?", (spec.key,)).fetchone()
    if known:
        server_id = int(known[0])
        _unretire(db, server_id)
        db.execute(
            "UPDATE servers SET spec = ? WHERE id = ?", (_spec_json(spec), server_id)
        )  # an older version may have hidden less of it
        if trusted:
            set_trusted(db, server_id, True)
    else:
        old = _moved(db, entry) or _retired(db, name)
        server_id = old or _insert(db, name, spec, trusted)
        if old:
            _take_spec(db, old, spec, trusted)
        else:
            _stay_disabled(db, entry, server_id)
    db.execute(
        "INSERT INTO entries (host, scope, file, name, server_id, disabled)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
        " SET server_id = excluded.server_id, disabled = excluded.disabled",
        (entry.host, entry.scope, entry.file, entry.name, server_id, int(entry.disabled)),
    )
    return server_id


def name_placed(db: apsw.Connection, entry: EntryRecord, key: str, *, name: str) -> str:
    """The name of the server that `place` would give for an entry with that spec's key."""
    row = db.execute("SELECT name FROM servers WHERE spec_key = ?", (key,)).fetchone()
    old = _moved(db, entry) or _retired(db, name) if row is None else None
    if old:
        row = db.execute("SELECT name FROM servers WHERE id = ?", (old,)).fetchone()
    return str(row[0]) if row else _free_name(db, name)


def _moved(db: apsw.Connection, entry: EntryRecord) -> int | None:
    """The id of the entry's present server if only this place in this file names it.

    Several hosts may read one file.
    """
    row = db.execute(
        "SELECT server_id FROM entries WHERE host = ? AND scope = ? AND file = ? AND name = ?",
        (entry.host, entry.scope, entry.file, entry.name),
    ).fetchone()
    if row is None:
        return None
    sql = "SELECT 1 FROM entries WHERE server_id = ? AND (scope, file, name) != (?, ?, ?)"
    others = db.execute(sql, (row[0], entry.scope, entry.file, entry.name)).fetchone()
    return None if others else int(row[0])


def _stay_disabled(db: apsw.Connection, entry: EntryRecord, server_id: int) -> None:
    """An entry that parts from a disabled server, which others still name, is no way around it."""
    db.execute(
        "UPDATE servers SET disabled = 1 WHERE id = ? AND EXISTS (SELECT 1 FROM entries"
        " JOIN servers AS old ON old.id = entries.server_id AND old.disabled"
        " WHERE host = ? AND scope = ? AND file = ? AND entries.name = ?)",
        (server_id, entry.host, entry.scope, entry.file, entry.name),
    )


def _retired(db: apsw.Connection, name: str) -> int | None:
    """The id of the retired server of that name."""
    sql = f"SELECT id FROM servers WHERE name = ? AND status = '{RETIRED}'"
    row = db.execute(sql, (plain_name(name),)).fetchone()
    return int(row[0]) if row else None


def _take_spec(db: apsw.Connection, server_id: int, spec: ServerSpec, trusted: bool) -> None:
    """Another command under the same name: the tools stay, the trust is that of its new place."""
    db.execute(
        "UPDATE servers SET spec_key = ?, spec = ?, trusted = ?, status = 'configured',"
        " problem = '' WHERE id = ?",
        (spec.key, _spec_json(spec), int(trusted), server_id),
    )


def _unretire(db: apsw.Connection, server_id: int) -> None:
    """Bring a retired server back with the tools of its last reading."""
    sql = (
        "UPDATE servers SET status = iif(read_at, 'read', 'configured'),"
        " trusted = 0"  # the trust is that of its new place
        f" WHERE id = ? AND status = '{RETIRED}'"
    )
    db.execute(sql, (server_id,))
    if db.changes():
        db.execute(
            "UPDATE tools SET gone = 0 WHERE server_id = :id AND last_seen ="
            " (SELECT max(last_seen) FROM tools WHERE server_id = :id)",
            {"id": server_id},
        )


def _insert(db: apsw.Connection, name: str, spec: ServerSpec, trusted: bool) -> int:
    db.execute(
        "INSERT INTO servers (name, spec_key, spec, trusted) VALUES (?, ?, ?, ?)",
        (_free_name(db, name), spec.key, _spec_json(spec), int(trusted)),
    )
    return db.last_insert_rowid()


def _free_name(db: apsw.Connection, wanted: str) -> str:
    base = plain_name(wanted)
    # a former name stays its server's: hosts' files that name it must not reach another one
    sql = "SELECT name FROM servers UNION SELECT name FROM former_names"
    taken = {row[0] for row in db.execute(sql)}
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def can_be_called(name: str) -> bool:
    """True if a server can have exactly this name."""
    return plain_name(name) == name


def plain_name(wanted: str) -> str:
    """The name without what would confuse a tool id."""
    return re.sub(r"[^\w .@()+-]", "-", wanted)[:64].strip() or "server"


def rename_entry(db: apsw.Connection, entry: EntryRecord, old: str, new: str) -> None:
    """Say that the entry is called otherwise in its file: its server goes along."""
    db.execute(
        "UPDATE OR IGNORE entries SET name = ? WHERE scope = ? AND file = ? AND name = ?",
        (new, entry.scope, entry.file, old),
    )


def entry_names(db: apsw.Connection, host: str, file: str) -> set[str]:
    """Names of the entries of this file."""
    rows = db.execute("SELECT name FROM entries WHERE host = ? AND file = ?", (host, file))
    return {str(name) for (name,) in rows}


def drop_entry(db: apsw.Connection, entry: EntryRecord) -> None:
    """Forget this entry, for every host that reads its file."""
    place = (entry.scope, entry.file, entry.name)
    db.execute("DELETE FROM entries WHERE (scope, file, name) = (?, ?, ?)", place)


def drop_missing_entries(db: apsw.Connection, host: str, file: str, keep: Iterable[str]) -> None:
    """Forget entries of this file that are no longer in it."""
    sql = (
        "DELETE FROM entries WHERE host = ? AND file = ?"
        " AND name NOT IN (SELECT value FROM json_each(?))"
    )
    db.execute(sql, (host, file, json.dumps(list(keep))))


def set_status(
    db: apsw.Connection, server_id: int, status: str, problem: str = "", stderr: str = ""
) -> None:
    """Store the result of reading the server, in the words of store.records."""
    db.execute(
        "UPDATE servers SET status = ?, problem = ?, stderr = ? WHERE id = ?",
        (status, problem, stderr, server_id),
    )


def save_reading(
    db: apsw.Connection,
    server_id: int,
    reading: SelfDescription,
    *,
    texts: Sequence[Json] = (),
    at: float,
) -> None:
    """Store a server's description of itself, and the findings in its texts."""
    taken_with = {**reading.taken_with, HELD_TEXTS: list(texts)}
    db.execute(
        "UPDATE servers SET server_info = ?, capabilities = ?, instructions = ?, prompts = ?,"
        " resources = ?, templates = ?, list_hash = ?, taken_with = ?, read_at = ? WHERE id = ?",
        (
            compact_json(reading.server_info),
            compact_json(reading.capabilities),
            reading.instructions,
            compact_json(reading.prompts),
            compact_json(reading.resources),
            compact_json(reading.templates),
            reading.list_hash,
            compact_json(taken_with),
            at,
            server_id,
        ),
    )


def forget_sign_in(db: apsw.Connection, server_id: int) -> None:
    """The server's tools are no longer read with the tokens of a sign-in."""
    db.execute(
        f"UPDATE servers SET taken_with = json_remove({_TAKEN_WITH}, '$.signed_in') WHERE id = ?",
        (server_id,),
    )


def save_texts(db: apsw.Connection, server_id: int, findings: Sequence[Json]) -> None:
    """Store what was found in the server's own texts, judged anew."""
    sql = f"UPDATE servers SET taken_with = json_set({_TAKEN_WITH}, ?, json(?)) WHERE id = ?"
    db.execute(sql, (f"$.{HELD_TEXTS}", json.dumps(list(findings)), server_id))


def approve_texts(db: apsw.Connection, server_id: int) -> list[Json]:
    """Take what was found in the server's own texts for approved; the findings as they were."""
    row = db.execute("SELECT taken_with FROM servers WHERE id = ?", (server_id,)).fetchone()
    taken_with = (json_object(row[0]) if row else None) or {}
    texts = taken_with.get(HELD_TEXTS)
    kept = _objects(texts if isinstance(texts, list) else ())
    before = [dict(finding) for finding in kept]
    for finding in kept:
        finding["decided"] = APPROVED
    if row:
        sql = "UPDATE servers SET taken_with = ? WHERE id = ?"
        db.execute(sql, (compact_json(taken_with), server_id))
    return before


def set_trusted(db: apsw.Connection, server_id: int, trusted: bool) -> None:
    """Set if the server's tools may reach a host at all."""
    db.execute("UPDATE servers SET trusted = ? WHERE id = ?", (int(trusted), server_id))


def set_disabled(db: apsw.Connection, server_id: int, disabled: bool) -> None:
    """Set if Toolcrib leaves the server alone: neither starts nor serves it."""
    db.execute("UPDATE servers SET disabled = ? WHERE id = ?", (int(disabled), server_id))


def retire_unnamed(db: apsw.Connection) -> list[int]:
    """Take the servers that no file names out of the catalogue; their ids.

    A server that was read keeps its rows and ticks for the day it comes back (a host may lose
    its file), one that is disabled stays so; one that is neither is forgotten.
    """
    sql = (
        "SELECT id, read_at OR disabled FROM servers"
        f" WHERE id NOT IN (SELECT server_id FROM entries) AND status != '{RETIRED}'"
    )
    unnamed = [(int(row[0]), bool(row[1])) for row in db.execute(sql)]
    for server_id, is_kept in unnamed:
        if is_kept:
            set_status(db, server_id, RETIRED)
            db.execute("UPDATE tools SET gone = 1 WHERE server_id = ?", (server_id,))
        else:
            remove(db, server_id)
    return [server_id for server_id, _ in unnamed]


def rename(db: apsw.Connection, server_id: int, name: str) -> bool:
    """Give a server another name in the catalogue; False where one has or had that name.

    A retired server, which is hidden, makes room. The old name still means this server where
    a host's file names it so.
    """
    wanted = plain_name(name)
    sql = "SELECT 1 FROM former_names WHERE name = ? AND server_id != ?"
    if db.execute(sql, (wanted, server_id)).fetchone():
        return False
    sql = "SELECT id, status FROM servers WHERE name = ? AND id != ?"
    holder = db.execute(sql, (wanted, server_id)).fetchone()
    if holder and holder[1] != RETIRED:
        return False
    if holder:
        sql = "UPDATE servers SET name = ? WHERE id = ?"
        db.execute(sql, (_free_name(db, wanted), holder[0]))
    db.execute("DELETE FROM former_names WHERE name = ?", (wanted,))
    db.execute(
        "INSERT OR REPLACE INTO former_names (name, server_id)"
        " SELECT name, id FROM servers WHERE id = ? AND name != ? AND name IN"
        " (SELECT value FROM exports, json_each(exports.detail, '$.behind') WHERE undone_at = 0)",
        (server_id, wanted),
    )
    db.execute("UPDATE servers SET name = ? WHERE id = ?", (wanted, server_id))
    return True


def remove(db: apsw.Connection, server_id: int) -> None:
    """Forget a server, its entries and its tools."""
    db.execute(
        "DELETE FROM keywords WHERE rowid IN (SELECT id FROM tools WHERE server_id = ?)",
        (server_id,),
    )
    db.execute("DELETE FROM servers WHERE id = ?", (server_id,))


def save_host_file(
    db: apsw.Connection,
    host: str,
    file: str,
    *,
    scope: str,
    file_hash: str,
    problem: str,
    at: float,
) -> None:
    """Store the state of one config file of a host as it was read."""
    db.execute(
        "INSERT INTO hosts (id, file, scope, file_hash, problem, read_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET scope = excluded.scope,"
        " file_hash = excluded.file_hash, problem = excluded.problem, read_at = excluded.read_at",
        (host, file, scope, file_hash, problem, at),
    )


def host_files(db: apsw.Connection) -> list[tuple[str, str, str, str, str, float]]:
    """Every config file read so far: (host, file, scope, file hash, problem, read at)."""
    sql = "SELECT id, file, scope, file_hash, problem, read_at FROM hosts ORDER BY id, file"
    return [tuple(row) for row in db.execute(sql)]


def _server(row: tuple[Any, ...], entries: Sequence[EntryRecord]) -> ServerRecord | None:
    """The record, None where what is started is not known any more.

    Findings in its texts are among what is damaged, so that then none of its texts is used.
    """
    spec = server_spec(row[2])
    if spec is None:
        return None
    objects = [json_object(text) for text in row[7:10]]
    lists = [json_array(text) for text in row[11:14]]
    damaged = None in objects or None in lists
    taken_with, server_info, capabilities = (one or {} for one in objects)
    prompts, resources, templates = ([] if damaged else _objects(one or []) for one in lists)
    return ServerRecord(
        id=row[0],
        name=row[1],
        spec=spec,
        trusted=bool(row[3]),
        status=row[4],
        problem=TEXTS_DAMAGED if damaged else row[5],
        entries=tuple(entries),
        stderr=row[6],
        taken_with=taken_with,
        server_info=server_info,
        capabilities=capabilities,
        instructions="" if damaged else row[10],
        prompts=tuple(prompts),
        resources=tuple(resources),
        templates=tuple(templates),
        list_hash=row[14],
        read_at=row[15],
        disabled=bool(row[16]),
    )


def _objects(values: Iterable[object]) -> list[Json]:
    return [value for value in values if isinstance(value, dict)]


def _spec_json(spec: ServerSpec) -> str:
    return compact_json(asdict(spec))
