"""Changes of single entries that outlive the write under them, made anew on the file without it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.core.errors import ToolcribError
from app.export.entries.plan import edited
from app.export.history import ChangedPlaces, active_writes
from app.export.kept_writes import change_of
from app.export.plan import EDIT
from app.hosts.importing import read_data
from store.records import AS_IS, ExportRecord

_OF_THE_ENTRY = ("behind", "also", "http")  # what a record keeps of the host's one entry


@dataclass(frozen=True, slots=True, repr=False)
class MadeAnew:
    """A later change, and its file before and after it as they are by then."""

    record: ExportRecord
    before: bytes
    after: bytes

    def __repr__(self) -> str:
        return f"MadeAnew({self.record.id})"


def changes_over(
    record: ExportRecord, history: Sequence[ExportRecord], gone: Sequence[int]
) -> tuple[ExportRecord, ...]:
    """The changes of single entries since an export of their file, the newest first.

    None where the file was exported again since: that other write has it now. `gone` are writes
    that are taken back with this one.
    """
    if "change" in record.detail:
        return ()
    since = [
        one
        for one in active_writes(history, Path(record.file))
        if one.id > record.id and one.id not in gone
    ]
    return tuple(since) if all("change" in one.detail for one in since) else ()


def made_anew(
    later: Sequence[ExportRecord], older: ExportRecord | None, data: bytes | None
) -> tuple[MadeAnew, ...]:
    """These changes, the oldest first, on top of a file without the write that was under them.

    `older` is the newest write of the file that is still in force, None without one.
    """
    done: list[MadeAnew] = []
    touched = ChangedPlaces.of(older)
    for record in reversed(later):
        after, touched = _again(record, data, touched)
        done.append(MadeAnew(_over(record, older, touched), data or b"", after))
        data = after
    return tuple(done)


def _again(
    record: ExportRecord, data: bytes | None, touched: ChangedPlaces
) -> tuple[bytes, ChangedPlaces]:
    """The file with this change; ToolcribError where its entry is not in it as it was written."""
    change, path = change_of(record), Path(record.file)
    if data and change is not None and (change.kind != EDIT or change.launch is not None):
        own, reading = change.entry, read_data(data, path, record.host)
        for entry in reading.entries:
            local = "local:" in entry.scope + own.scope
            if (entry.name, entry.pruned) == (own.name, "") and (
                entry.scope == own.scope or not local
            ):
                after = edited(data, reading, entry, change) or data
                return after, touched.under_new_name(entry.at, change.name or entry.at[-1])
    name = record.detail["change"].get("entry", "")
    raise ToolcribError(f"{name} was changed since this write of {path}.", "Undo that first.")


def _over(record: ExportRecord, older: ExportRecord | None, touched: ChangedPlaces) -> ExportRecord:
    """The record as it is over another write than before, or over none."""
    left_out = (*_OF_THE_ENTRY, *(() if older else ("base",)))
    detail = {name: value for name, value in record.detail.items() if name not in left_out}
    if older is not None:  # a change that can be made anew is of no server behind its one entry
        detail |= {name: older.detail[name] for name in _OF_THE_ENTRY if name in older.detail}
    detail["touched"] = touched.to_json()
    mode, profile = (older.mode, older.profile) if older else (AS_IS, "")
    return replace(record, mode=mode, profile=profile, detail=detail)
