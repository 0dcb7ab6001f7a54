"""Writes a plan, takes it back, restores copies: all or nothing, one writer at a time."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.settings import Settings
from app.export import backups
from app.export.backups import Backup
from app.export.entries.made_anew import MadeAnew, changes_over, made_anew
from app.export.history import ChangedPlaces, active_writes, newest_group
from app.export.plan import EntryChange, FilePlan, Plan
from app.export.three_way import Versions, taken_back
from app.export.write_journal import Notes, WriteJournal, one_writer, write_error
from app.export.writing import check_replaceable, hash_of, host_lock, replace_file
from app.hosts.facts import host
from app.hosts.launch import LaunchSpec
from app.hosts.reading import bytes_if_any, bytes_if_there, hash_bytes
from app.hosts.running import is_running
from app.indexing.past_texts import hide_in_past
from app.secrets.secret_store import SecretStore
from app.system.endpoint import Address, Endpoint
from store import exports, servers
from store.connection import require_writable, transaction
from store.errors import StoreError
from store.records import AS_IS, HOOK, THROUGH, ExportRecord
from store.typed import Json

_log = logging.getLogger("toolcrib.export")


def apply(
    plan: Plan, ctx: AppContext, db: apsw.Connection, *, insist: bool = False
) -> tuple[ExportRecord, ...]:
    """Write the plan's files and record each write; ToolcribError when anything is not as planned.

    `insist` writes although the host runs. Nothing is kept or recorded before every file is what
    was previewed; when a later file fails, the earlier ones are put back.
    """
    if plan.refusal:
        raise ToolcribError(plan.refusal)
    if plan.address is not None and plan.endpoint is not None:
        _check_address(plan.address, plan.endpoint, plan, ctx)
    if plan.running and not insist and is_running(plan.host):
        raise ToolcribError(
            f"{plan.host.name} is running and would undo the change.",
            f"Quit {plan.host.name} first, or write anyway.",
        )
    done: list[ExportRecord] = []
    group = token_hex(8)
    with writer(ctx, db) as journal:
        for file in plan.files:
            check_replaceable(file.path, file.before_hash)
        _keep_secrets(plan, ctx, db)
        try:
            for file in plan.files:
                done.append(_write(plan, file, ctx, db, group=group, journal=journal))
        except BaseException:
            _put_back(done, ctx, db, journal)
            raise
        _prune(ctx, db, plan.host.id)
    for record in done:
        _log.info("Wrote %s: %s, %s", record.file, record.host, record.mode)
    return tuple(done)


def _check_address(address: Address, endpoint: Endpoint, plan: Plan, ctx: AppContext) -> None:
    """Raise ToolcribError where a token or a port is another one by now than in the preview."""
    now = replace(endpoint, port=Settings.load(ctx.paths.settings_file).http_port)
    if not address.variable and now.address(plan.profile, plan.behind) != address:
        raise ToolcribError(
            "The URL or the token of the HTTP endpoint was changed meanwhile.",
            "Look at the new preview, then write again.",
        )


@contextmanager
def writer(
    ctx: AppContext, db: apsw.Connection, *, wait: float | None = None
) -> Iterator[WriteJournal]:
    """Lets this process alone write host files; what a killed one left is settled first."""
    require_writable(db)
    ctx.paths.create()
    with one_writer(ctx.paths.home, wait=wait) as journal:
        if journal.killed is not None:
            _forget_killed(journal.killed, ctx, db)
        try:
            yield journal
        except (StoreError, apsw.Error):
            journal.unfinished = True
            raise


def _forget_killed(killed: Notes, ctx: AppContext, db: apsw.Connection) -> None:
    """Records of a write that did not happen, and copies that no record names, go."""
    file = Path(killed.file)
    for record in active_writes(exports.all_exports(db), file)[:1]:
        now = hash_of(file)
        if now == record.before_hash and now != record.after_hash:
            with transaction(db):
                exports.mark_undone(db, record.id, ctx.clock())
    known = [copy for record in exports.all_exports(db) for copy in record.copies]
    with suppress(OSError):
        backups.remove_unknown(ctx.paths.backups, known)


def _keep_secrets(plan: Plan, ctx: AppContext, db: apsw.Connection) -> None:
    store = SecretStore.open(ctx.paths)
    try:
        for name, secrets in plan.secrets_to_store:
            server = servers.by_name(db, name)
            if server is not None:
                store.put(server.spec.key, secrets)
                hide_in_past(db, [LaunchSpec.from_spec(server.spec, secrets)])
    except OSError as error:
        raise write_error(ctx.paths.secrets, error) from error


def undo(export_id: int, ctx: AppContext, db: apsw.Connection) -> ExportRecord:
    """Take one write back; ToolcribError where a place that it changed was changed since."""
    return undo_writes([export_id], ctx, db)[0]


def undo_writes(
    ids: Sequence[int], ctx: AppContext, db: apsw.Connection
) -> tuple[ExportRecord, ...]:
    """Take writes back in this order, all of them or none.

    A file that nothing else wrote to is afterwards what it was byte for byte; of another one, the
    places that the write changed are put back. Entries that were edited since stay edited.
    ToolcribError where a place was changed since otherwise.
    """
    with writer(ctx, db) as journal:
        records = [_undoable(export_id, ctx, db) for export_id in ids]
        seen: dict[str, bytes | None] = {}  # what each file will hold by then
        steps: list[_Step] = []
        for record in records:
            file = record.file
            now = seen[file] if file in seen else bytes_if_any(Path(file))
            steps.append(_step(record, now, db, ids))
            seen[file] = steps[-1].data
        for step in steps:
            _take_back(step, ctx, db, journal)
    for record in records:
        _log.info("Took back the write of %s: %s", record.file, record.host)
    return tuple(records)


@dataclass(frozen=True, slots=True, repr=False)
class _Step:
    """One write to take back: its file now and then, and what was changed over it since."""

    record: ExportRecord
    now: bytes | None
    data: bytes | None
    anew: tuple[MadeAnew, ...] = ()


def _step(
    record: ExportRecord, now: bytes | None, db: apsw.Connection, ids: Sequence[int]
) -> _Step:
    history = exports.for_host(db, record.host)
    later = changes_over(record, history, ids)
    data = now
    for one in (*later, record):
        data = _without(one, data)
    if not later:
        return _Step(record, now, data)
    active = active_writes(history, Path(record.file))
    older = next((one for one in active if one.id < record.id and one.id not in ids), None)
    anew = made_anew(later, older, data)
    return _Step(record, now, anew[-1].after, anew)


def any_in_force(ids: Sequence[int], db: apsw.Connection) -> bool:
    """True if one of these writes was not taken back yet."""
    records = (exports.one(db, number) for number in ids)
    return any(one is not None and not one.undone_at for one in records)


def _undoable(export_id: int, ctx: AppContext, db: apsw.Connection) -> ExportRecord:
    record = exports.one(db, export_id)
    if record is None or record.undone_at:
        raise ToolcribError("This write is already undone.")
    data = backups.read(record.backup)
    if record.before_hash and (data is None or hash_bytes(data) != record.before_hash):
        raise ToolcribError("The backup of this write is gone.", f"Look into {ctx.paths.backups}.")
    return record


def _without(record: ExportRecord, now: bytes | None) -> bytes | None:
    """A file's bytes without this write; None where there would be no file."""
    before = backups.read(record.backup) if record.before_hash else None
    now_hash = hash_bytes(now)
    if now_hash in (record.before_hash, record.after_hash):
        return before
    after = backups.read(record.after_copy) if record.after_hash else None
    if record.after_hash and (after is None or hash_bytes(after) != record.after_hash):
        raise ToolcribError(
            f"{record.file} changed since Toolcrib wrote it, and the copy of that write is gone.",
            "Compare it with the backup, or restore the whole file.",
        )
    change = ChangedPlaces.of(record)
    return taken_back(
        Path(record.file),
        record.format,
        Versions(before, after, now),
        lists=[place for place, _items in change.items],
    )


def _take_back(step: _Step, ctx: AppContext, db: apsw.Connection, journal: WriteJournal) -> None:
    """Put the data in the place of the file as it is now, and note that the write is undone."""
    record = step.record
    path = Path(record.file)
    with host_lock(path, host(record.host).lock, journal):
        later = [_kept_anew(one, ctx) for one in step.anew]
        if step.data != step.now:
            journal.note(file=record.file)
            expected = hash_bytes(step.now)
            replace_file(path, step.data, expected=expected, journal=journal)
        with transaction(db):
            exports.mark_undone(db, record.id, ctx.clock())
            for ended in record.ended:  # by a restore: in force again
                exports.mark_undone(db, ended, 0.0)
            for one in later:
                exports.make_anew(db, one)


def _kept_anew(one: MadeAnew, ctx: AppContext) -> ExportRecord:
    """The record of a change that is over another write by now, with its copies."""
    record, folder = one.record, ctx.paths.backups
    before, after = (
        _kept(folder, record.host, Path(record.file), data, at=ctx.clock(), label=label)
        for label, data in (("before", one.before), ("after", one.after))
    )
    return replace(
        record,
        backup=before,
        before_hash=hash_bytes(one.before),
        after_hash=hash_bytes(one.after),
        detail={"base": after, **record.detail, "after": after},
    )


def _kept(folder: Path, host_id: str, file: Path, data: bytes, *, at: float, label: str) -> str:
    try:
        return str(backups.keep(folder, host_id, file, data, at=at, label=label))
    except OSError as error:
        raise write_error(folder, error) from error


def undo_host(host_id: str, ctx: AppContext, db: apsw.Connection) -> tuple[ExportRecord, ...]:
    """Take the host's newest export back: every file that it wrote."""
    newest = newest_group(exports.for_host(db, host_id))
    if not newest:
        raise ToolcribError("There is no write to undo.")
    return undo_writes([record.id for record in newest], ctx, db)


def list_backups(db: apsw.Connection, host_id: str) -> tuple[Backup, ...]:
    """The copies of a host's files, newest first."""
    backups = []
    for record in exports.for_host(db, host_id):
        path = Path(record.backup)
        with suppress(OSError):
            if record.backup:
                size = path.stat().st_size
                file = Path(record.file)
                backups.append(Backup(record.host, path, file, record.at, size, record.id))
    return tuple(backups)


def restore(backup: Backup, ctx: AppContext, db: apsw.Connection) -> ExportRecord:
    """Put a copy back whatever the file holds now; the present bytes are kept as a new copy."""
    data = backups.read(str(backup.path))
    if data is None:
        raise ToolcribError(f"The backup {backup.path} is gone.")
    present = bytes_if_there(backup.file)
    older = active_writes(exports.for_host(db, backup.host), backup.file)
    file = FilePlan(
        path=backup.file,
        scope=older[0].scope if older else "user",
        format="",
        before=present,
        after=data,
        before_hash=hash_bytes(present),
        changes=("restored",),
        touched=ChangedPlaces(),
        base=data,
        ends=tuple(one.id for one in older),
    )
    plan = Plan(host(backup.host), AS_IS, "", (file,))
    with writer(ctx, db) as journal:
        check_replaceable(file.path, file.before_hash)
        record = _write(plan, file, ctx, db, group=token_hex(8), journal=journal)
        with transaction(db):
            for one in older:
                exports.mark_undone(db, one.id, ctx.clock())
    return record


def restore_host(host_id: str, ctx: AppContext, db: apsw.Connection) -> tuple[ExportRecord, ...]:
    """Put a host's files back to what they were before Toolcrib first wrote to them."""
    history = exports.for_host(db, host_id)
    done = tuple(one for file in _files(history) for one in _restored(file, history, ctx, db))
    if not done and exports.in_force(history):
        raise ToolcribError(
            "No file of it has Toolcrib in it; changes to single servers are yours.",
            f"Undo only the newest write: toolcrib restore {host_id} --last",
        )
    if not done:
        raise ToolcribError(
            "Toolcrib has not written to this host, so there is nothing to restore."
        )
    return done


def has_writes_in(host_id: str, db: apsw.Connection) -> bool:
    """True if a write of Toolcrib's is in a file of the host, which restoring would end."""
    return any(_files(exports.for_host(db, host_id)))


@dataclass(frozen=True, slots=True)
class RestoredFiles:
    """The writes that were made, and why other files are not as they were: one stops no other."""

    records: tuple[ExportRecord, ...]
    problems: tuple[str, ...]


def restore_all(ctx: AppContext, db: apsw.Connection) -> RestoredFiles:
    """Restore every host file to its state before Toolcrib first wrote to it; hooks stay."""
    about_servers = [one for one in exports.all_exports(db) if one.mode != HOOK]
    done: list[ExportRecord] = []
    problems: list[str] = []
    for file in _files(about_servers):
        try:
            done.extend(_restored(file, about_servers, ctx, db))
        except (ToolcribError, StoreError) as error:
            problems.append(f"{file}: {error.text}")
    return RestoredFiles(tuple(done), tuple(problems))


def _files(records: Sequence[ExportRecord]) -> Iterator[str]:
    """Files with a write of Toolcrib's in force; in others, what came later is the user's."""
    for file in dict.fromkeys(record.file for record in records):
        active = active_writes(records, Path(file))
        if active and active[0].mode != AS_IS:
            yield file


def _restored(
    file: str, records: Sequence[ExportRecord], ctx: AppContext, db: apsw.Connection
) -> Iterator[ExportRecord]:
    active = active_writes(records, Path(file))
    copy = active[0].base_copy
    if copy:
        yield restore(Backup(active[0].host, Path(copy), Path(file), active[0].at, 0), ctx, db)
    else:  # there was no file before Toolcrib
        for record in active:
            yield undo(record.id, ctx, db)


def _write(
    plan: Plan,
    file: FilePlan,
    ctx: AppContext,
    db: apsw.Connection,
    *,
    group: str,
    journal: WriteJournal,
) -> ExportRecord:
    """Write one file: copies and the record first, so that a killed write can be undone."""
    journal.note(file=str(file.path))
    with host_lock(file.path, plan.host.lock, journal):
        check_replaceable(file.path, file.before_hash)
        record = _recorded(plan, file, ctx, db, group=group)
        try:
            replace_file(file.path, file.after, expected=file.before_hash, journal=journal)
        except BaseException:
            try:
                with transaction(db):
                    exports.mark_undone(db, record.id, ctx.clock())
            except (apsw.Error, StoreError):  # on a full disk; done at the next start
                journal.unfinished = True
            raise
    return record


def _recorded(
    plan: Plan, file: FilePlan, ctx: AppContext, db: apsw.Connection, *, group: str
) -> ExportRecord:
    """Keep the copies and the record of a write; none of them where one fails."""
    copies: list[Path] = []
    try:
        record = _record(plan, file, ctx, group, copies)
        with transaction(db):
            return replace(record, id=exports.add(db, record))
    except BaseException:
        for copy in copies:
            with suppress(OSError):
                copy.unlink()
        raise


def _record(
    plan: Plan, file: FilePlan, ctx: AppContext, group: str, copies: list[Path]
) -> ExportRecord:
    at, change = ctx.clock(), plan.change

    def keep(data: bytes | None, label: str) -> str:
        if data is None:
            return ""
        copy = _kept(ctx.paths.backups, plan.host.id, file.path, data, at=at, label=label)
        copies.append(Path(copy))
        return copy

    backup = keep(file.before, "before")
    base = file.base_copy or (backup if file.base == file.before else keep(file.base, "base"))
    return ExportRecord(
        id=0,
        at=at,
        host=plan.host.id,
        scope=file.scope,
        file=str(file.path),
        mode=plan.mode,
        profile=plan.profile,
        before_hash=file.before_hash,
        after_hash=hash_bytes(file.after),
        backup=backup,
        detail={
            "group": group,  # files of one export are taken back together
            "base": base,
            "after": keep(file.after, "after"),
            "touched": file.touched.to_json(),
            "format": file.format,
            **({"http": True} if plan.over_http else {}),
            **_reached(plan),
            **({"ended": list(file.ends)} if file.ends else {}),
            **(_noted(change) if change else {}),
        },
    )


def _reached(plan: Plan) -> Json:
    """Names of the servers that the host's one entry reaches, and of those added by name."""
    if plan.mode != THROUGH or (plan.change is not None and plan.widened):
        return {}
    return {"behind": list(plan.behind), "also": list(plan.also)}


def _noted(change: EntryChange) -> Json:
    """The change for its name as an undo step, and a new name; never a value."""
    entry = change.entry
    noted = {"kind": change.kind, "entry": entry.name, "name": change.name, "scope": entry.scope}
    if not change.name:
        return {"change": noted}
    return {"renamed": [entry.name, change.name, entry.scope], "change": noted}


def _put_back(
    done: Sequence[ExportRecord], ctx: AppContext, db: apsw.Connection, journal: WriteJournal
) -> None:
    """Take the files of a half-written plan back; one that changed meanwhile stays."""
    for record in reversed(done):
        with suppress(ToolcribError, StoreError, apsw.Error):
            now = bytes_if_any(Path(record.file))
            _take_back(_Step(record, now, _without(record, now)), ctx, db, journal)


def _prune(ctx: AppContext, db: apsw.Connection, host_id: str) -> None:
    needed: list[str] = []
    for history in (exports.for_host(db, host_id), exports.hooks_of(db, host_id)):
        for file in {record.file for record in history}:
            active = active_writes(history, Path(file))
            if active:
                ended = (record for record in history if record.id in active[0].ended)
                needed += [record.base_copy for record in (*active, *ended)]
                needed += [active[0].backup, active[0].after_copy]
    backups.prune(ctx.paths.backups, host_id, ctx.settings.backups_kept, needed)
