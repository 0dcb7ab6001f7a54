"""Entries behind Toolcrib's one entry: kept in the copy of their file, and changed there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from app.core.errors import ToolcribError
from app.export.entries.edits import launch_edits
from app.export.history import Base, base_of
from app.export.matching import raw_at
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Set
from app.hosts.documents.values import read_values
from app.hosts.entries import view_entry
from app.hosts.facts import HostFile
from app.hosts.reading import FoundEntry, HostReading, read_bytes, style_of, with_entries
from store.records import EntryRecord, ExportRecord

_NAMES = "--servers"  # in the arguments of the one entry


@dataclass(frozen=True, slots=True, repr=False)
class KeptEntry:
    """An entry as the copy has it from which "as is" is written."""

    entry: FoundEntry
    base: Base

    def __repr__(self) -> str:
        return f"KeptEntry({self.entry.name})"


def kept_entry(
    reading: HostReading, kind: HostFile, record: EntryRecord, history: Sequence[ExportRecord]
) -> KeptEntry | None:
    """The entry that is behind the one of this file; None where no copy has it."""
    base = base_of(history, reading.file, read_bytes(reading.file), kind.format)
    if base.data is None:
        return None
    before = with_entries(
        replace(reading, entries=(), through="", through_at=(), behind=None),
        read_values(base.data, kind.format),
        kind,
    )
    for entry in before.entries:
        if (entry.name, entry.scope) == (record.name, record.scope):
            return KeptEntry(entry, base)
    return None


def with_behind(data: bytes, reading: HostReading, names: Sequence[str]) -> bytes:
    """The file with these servers as those that its one entry reaches."""
    if reading.behind is None or tuple(names) == reading.behind:
        return data
    kind = reading.kind.format if reading.kind else "json"
    raw = raw_at(read_values(data, kind).value, reading.through_at)
    listed = ",".join(names)
    style = style_of(reading)
    view = view_entry(raw, style)
    if view.launch is not None and view.launch.url:
        url = f"{view.launch.url.partition('?')[0]}?servers={quote(listed, safe='')}"
        changed = replace(view.launch, url=url)
        return edit(data, kind, list(launch_edits(reading.through_at, raw, style, changed)))
    key = style.command if style.array else style.args
    words = raw.get(key) if isinstance(raw, Mapping) else None
    if not isinstance(words, list) or _NAMES not in words:
        raise ToolcribError(
            f"{reading.file}: Toolcrib's entry cannot be understood.", "Write the host again."
        )
    place = (*reading.through_at, key, words.index(_NAMES) + 1)
    return edit(data, kind, [Set(place, listed)])
