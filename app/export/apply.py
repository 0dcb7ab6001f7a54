"""Writes a plan, takes it back, restores copies: all or nothing, one writer at a time."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import apsw

from app.context import AppContext
from app.errors import ToolcribError
from app.export import backups
from app.export.backups import Backup
from app.export.history import Touched, active_writes
from app.export.plan import FilePlan, Plan
from app.export.writing import Step, host_lock, no_step, one_writer, replace_file, write_error
from app.hosts.facts import host
from app.hosts.reading import hash_bytes
from app.hosts.running import is_running
from app.secrets import SecretStore
from store import exports
from store.connection import transaction
from store.errors import StoreError
from store.records import AS_IS, ExportRecord


def apply(
    plan: Plan,
    ctx: AppContext,
    db: apsw.Connection,
    *,
    insist: bool = False,
    step: Step = no_step,
) -> tuple[ExportRecord, ...]:
    """Write the plan's files and record each write; ToolcribError when anything is not as planned.

    `insist` writes although the host runs. When a later file of the plan fails, the earlier ones
    are put back.
    """
    if plan.refusal:
        raise ToolcribError(plan.refusal)
    if plan.running and not insist and is_running(plan.host):
        raise ToolcribError(
            f"{plan.host.name} is running and would undo the change.",
            f"Quit {plan.host.name} first, or write anyway.",
        )
    ctx.paths.create()
    store = SecretStore.open(ctx.paths)
    for server, secrets in plan.secrets_to_store:
        store.put(server, secrets)
    step("secrets kept")
    done: list[ExportRecord] = []
    group = token_hex(8)
    try:
        for file in plan.files:
            done.append(_write(plan, file, ctx, db, group=group, step=step))
    except ToolcribError:
        _put_back(done, ctx, db)
        raise
    _prune(ctx, db, plan.host.id)
    return tuple(done)


def undo(
    export_id: int, ctx: AppContext, db: apsw.Connection, *, step: Step = no_step
) -> ExportRecord:
    """Take one write back, byte for byte; refused when the file changed since."""
    record = exports.one(db, export_id)
    if record is None or record.undone_at:
        raise ToolcribError("This write was taken back already.")
    path = Path(record.file)
    data = backups.read(record.backup)
    if record.before_hash and (data is None or hash_bytes(data) != record.before_hash):
        raise ToolcribError("The backup of this write is gone.", f"Look into {ctx.paths.backups}.")
    with one_writer(ctx.paths.home), host_lock(path.resolve(), _lock_name(record.host)):
        now = _hash_of(path)
        if now not in (record.before_hash, record.after_hash):
            raise ToolcribError(
                f"{path} changed since Toolcrib wrote it.",
                "Compare it with the backup, or restore the whole file.",
            )
        if now != record.before_hash:
            replace_file(path, data, expected=record.after_hash, step=step)
        with transaction(db):
            exports.mark_undone(db, record.id, ctx.clock())
    return record


def undo_host(host_id: str, ctx: AppContext, db: apsw.Connection) -> tuple[ExportRecord, ...]:
    """Take the host's newest export back: every file that it wrote."""
    active = [record for record in exports.for_host(db, host_id) if not record.undone_at]
    if not active:
        raise ToolcribError("There is no write to take back.")
    group = active[0].detail.get("group", active[0].id)
    newest = [record for record in active if record.detail.get("group", record.id) == group]
    return tuple(undo(record.id, ctx, db) for record in newest)


def list_backups(db: apsw.Connection, host_id: str) -> tuple[Backup, ...]:
    """The copies of a host's files, newest first."""
    found = []
    for record in exports.for_host(db, host_id):
        path = Path(record.backup)
        with suppress(OSError):
            if record.backup:
                size = path.stat().st_size
                file = Path(record.file)
                found.append(Backup(record.host, path, file, record.at, size, record.id))
    return tuple(found)


def restore(
    backup: Backup, ctx: AppContext, db: apsw.Connection, *, step: Step = no_step
) -> ExportRecord:
    """Put a copy back whatever the file holds now; the present bytes are kept as a new copy."""
    data = backups.read(str(backup.path))
    if data is None:
        raise ToolcribError(f"The backup {backup.path} is gone.")
    present = backup.file.read_bytes() if backup.file.is_file() else None
    older = active_writes(exports.for_host(db, backup.host), backup.file)
    file = FilePlan(
        path=backup.file,
        scope=older[0].scope if older else "user",
        format="",
        before=present,
        after=data,
        before_hash=hash_bytes(present) if present is not None else "",
        changes=("restored",),
        touched=Touched(),
        base=data,
    )
    record = _write(
        Plan(host(backup.host), AS_IS, "", (file,)), file, ctx, db, group=token_hex(8), step=step
    )
    with transaction(db):
        for one in older:
            exports.mark_undone(db, one.id, ctx.clock())
    return record


def restore_host(host_id: str, ctx: AppContext, db: apsw.Connection) -> tuple[ExportRecord, ...]:
    """Put a host's files back to what they were before Toolcrib first wrote to them."""
    done = tuple(_restore_all(exports.for_host(db, host_id), ctx, db))
    if not done:
        raise ToolcribError("Toolcrib has written nothing here that could be restored.")
    return done


def restore_all(ctx: AppContext, db: apsw.Connection) -> tuple[ExportRecord, ...]:
    """Put every host file back to what it was before Toolcrib first wrote to it."""
    return tuple(_restore_all(exports.all_exports(db), ctx, db))


def _restore_all(
    records: Sequence[ExportRecord], ctx: AppContext, db: apsw.Connection
) -> Iterator[ExportRecord]:
    for file in dict.fromkeys(record.file for record in records):
        active = active_writes(records, Path(file))
        if not active:
            continue
        copy = str(active[0].detail.get("base", ""))
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
    step: Step,
) -> ExportRecord:
    """Write one file: copies and the record first, so that a killed write can be taken back."""
    with one_writer(ctx.paths.home), host_lock(file.path.resolve(), plan.host.lock):
        record = _record(plan, file, ctx, group)
        step("backed up")
        with transaction(db):
            record = replace(record, id=exports.add(db, record))
        step("recorded")
        try:
            replace_file(file.path, file.after, expected=file.before_hash, step=step)
        except ToolcribError:
            # on a full disk this fails too; a write whose file is unchanged counts as undone anyway
            with suppress(apsw.Error, StoreError), transaction(db):
                exports.mark_undone(db, record.id, ctx.clock())
            raise
    return record


def _record(plan: Plan, file: FilePlan, ctx: AppContext, group: str) -> ExportRecord:
    at = ctx.clock()

    def keep(data: bytes | None, label: str) -> str:
        if data is None:
            return ""
        try:
            folder = ctx.paths.backups
            return str(backups.keep(folder, plan.host.id, file.path, data, at=at, label=label))
        except OSError as error:
            raise write_error(ctx.paths.backups, error) from error

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
        after_hash=hash_bytes(file.after) if file.after is not None else "",
        backup=backup,
        detail={
            "group": group,  # files of one export are taken back together
            "base": base,
            "after": keep(file.after, "after"),
            "touched": file.touched.to_json(),
            "format": file.format,
        },
    )


def _put_back(done: Sequence[ExportRecord], ctx: AppContext, db: apsw.Connection) -> None:
    """Take the files of a half-written plan back; one that changed meanwhile stays."""
    for record in reversed(done):
        with suppress(ToolcribError):
            undo(record.id, ctx, db)


def _prune(ctx: AppContext, db: apsw.Connection, host_id: str) -> None:
    needed: list[str] = []
    for file in {record.file for record in exports.for_host(db, host_id)}:
        active = active_writes(exports.for_host(db, host_id), Path(file))
        needed += [str(record.detail.get("base", "")) for record in active]
        needed += [active[0].backup, str(active[0].detail.get("after", ""))] if active else []
    backups.prune(ctx.paths.backups, host_id, ctx.settings.backups_kept, needed)


def _hash_of(path: Path) -> str:
    try:
        return hash_bytes(path.read_bytes())
    except FileNotFoundError:
        return ""


def _lock_name(host_id: str) -> str:
    return host(host_id).lock
