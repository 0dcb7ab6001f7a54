"""A host file before Toolcrib wrote to it, also when the host changed it since."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from app.core.errors import ToolcribError
from app.export import backups
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import MISSING, Delete, Edit, Path, Set, apply_edits, value_at
from app.hosts.documents.values import read_values
from app.hosts.importing import read_data
from app.hosts.reading import bytes_if_there, hash_bytes
from store.exports import in_force
from store.records import NATIVE, ExportRecord
from store.typed import Json, JsonMapping


@dataclass(frozen=True, slots=True)
class ChangedPlaces:
    """Changes of one write to a file: places, and items added to lists of the user."""

    places: tuple[Path, ...] = ()
    items: tuple[tuple[Path, tuple[Any, ...]], ...] = ()

    def to_json(self) -> Json:
        """Plain JSON for the export record; keys and tool names only, never a value."""
        return {
            "places": [list(place) for place in self.places],
            "items": [[list(place), list(items)] for place, items in self.items],
        }

    @classmethod
    def from_json(cls, data: JsonMapping) -> "ChangedPlaces":
        """Read the form that to_json wrote."""
        places = tuple(tuple(place) for place in data.get("places", ()))
        items = tuple((tuple(place), tuple(values)) for place, values in data.get("items", ()))
        return cls(places, items)

    @classmethod
    def of(cls, record: ExportRecord | None) -> "ChangedPlaces":
        """The changes of a write, none without one."""
        return cls.from_json(record.detail.get("touched", {})) if record else cls()

    def under_new_name(self, at: Path, name: str | int) -> "ChangedPlaces":
        """The same places with the key at `at` renamed."""
        new = (*at[:-1], name)

        def moved(place: Path) -> Path:
            return (*new, *place[len(at) :]) if place[: len(at)] == at else place

        items = tuple((moved(place), values) for place, values in self.items)
        return ChangedPlaces(tuple(map(moved, self.places)), items)


@dataclass(frozen=True, slots=True, repr=False)
class Base:
    """A file as it is without Toolcrib; `data` None when there would be no file."""

    data: bytes | None
    copy: str = ""  # path of the kept copy of `data`, "" when there is none yet


def touched(
    tree: object, edits: Iterable[Edit], items: Mapping[Path, Sequence[Any]]
) -> ChangedPlaces:
    """Places that these edits change: the highest key that is new, or the place itself."""
    places: list[Path] = []
    for one in edits:
        if any(one.path[:-1] == place for place in items):
            continue
        place = _highest_new(tree, one.path)
        if place not in places:
            places.append(place)
    return ChangedPlaces(tuple(places), tuple((at, tuple(values)) for at, values in items.items()))


def active_writes(history: Sequence[ExportRecord], file: FilePath) -> tuple[ExportRecord, ...]:
    """Writes of this file that were not undone, newest first."""
    return tuple(record for record in in_force(history) if record.file == str(file))


def base_of(
    history: Sequence[ExportRecord], file: FilePath, current: bytes | None, kind: str
) -> Base:
    """The file without Toolcrib's writes: the kept copy, or the present file with them reverted."""
    active = active_writes(history, file)
    now = hash_bytes(current)
    if active and active[0].after_hash != now and active[0].before_hash == now:
        return base_of([one for one in history if one.id != active[0].id], file, current, kind)
    if not active or current is None:
        return Base(current)
    copy = active[0].base_copy
    before = backups.read(copy)
    if copy and before is None:
        raise ToolcribError(
            f"The copy of {file.name} from before Toolcrib is gone.",
            "Remove Toolcrib's entries by hand, or restore the file from a copy of your own.",
        )
    if active[0].after_hash == now:
        return Base(before, copy)
    change = ChangedPlaces.of(active[0])
    was = read_values(before, kind).value if before else {}
    return Base(edit(current, kind, revert_edits(read_values(current, kind).value, was, change)))


def is_native(history: Sequence[ExportRecord]) -> bool:
    """True if the host's switches in its files still hide the tools that the newest write hid."""
    newest = newest_group([record for record in history if record.scope != "project"])
    return bool(newest) and newest[0].mode == NATIVE and all(map(_still_written, newest))


def added_since(history: Sequence[ExportRecord]) -> frozenset[str]:
    """Names of entries in the host's own files that the newest write did not know.

    Its switches hide nothing of these.
    """
    newest = newest_group([record for record in history if record.scope != "project"])
    names: set[str] = set()
    for record in newest:
        path = FilePath(record.file)
        written = backups.read(record.after_copy)
        with suppress(ToolcribError):
            now = bytes_if_there(path)
            if now and written and hash_bytes(now) != record.after_hash:
                names |= _names(now, path, record.host) - _names(written, path, record.host)
    return frozenset(names)


def _names(data: bytes, path: FilePath, host_id: str) -> set[str]:
    return {entry.name for entry in read_data(data, path, host_id).entries}


def newest_in_files(history: Sequence[ExportRecord]) -> frozenset[int]:
    """Ids of the newest write's records where every file still has what it wrote; else none."""
    newest = newest_group(history)
    return frozenset(one.id for one in newest) if all(map(_still_written, newest)) else frozenset()


def newest_group(history: Sequence[ExportRecord]) -> list[ExportRecord]:
    """The records of the newest write that was not undone: one a file."""
    active = in_force(history)
    return [one for one in active if one.group == active[0].group]


def _still_written(record: ExportRecord) -> bool:
    """True if the file still has the changes of this write, whatever else it has by now."""
    kind = record.format
    written = backups.read(record.after_copy)
    try:
        now = bytes_if_there(FilePath(record.file))
        now_hash = hash_bytes(now)
        if now is None or written is None or now_hash == record.after_hash:
            return now_hash == record.after_hash
        trees = read_values(written, kind).value, read_values(now, kind).value
    except ToolcribError:
        return False
    change = ChangedPlaces.of(record)
    if any(_look(trees[0], place) != _look(trees[1], place) for place in change.places):
        return False
    kept = [(_look(trees[1], place), items) for place, items in change.items]
    return all(
        isinstance(values, list) and all(item in values for item in items) for values, items in kept
    )


def revert_edits(now: object, before: object, change: ChangedPlaces) -> list[Edit]:
    """Edits that put the touched places back to what they were."""
    edits: list[Edit] = []
    tree = now
    for place in change.places:
        was, has = _look(before, place), _look(tree, place)
        if not _exists(tree, place[:-1]) or was == has:
            continue
        one: Edit = Delete(place) if was is MISSING else Set(place, was)
        edits.append(one)
        tree = apply_edits(tree, [one])
    for place, items in change.items:
        values = _look(tree, place)
        if isinstance(values, list):
            for index in reversed([i for i, value in enumerate(values) if value in items]):
                edits.append(Delete((*place, index)))
                tree = apply_edits(tree, edits[-1:])
    return edits


def _look(tree: object, path: Path) -> object:
    return value_at(tree, path, MISSING)


def _exists(tree: object, path: Path) -> bool:
    return _look(tree, path) is not MISSING


def _highest_new(tree: object, path: Path) -> Path:
    for length in range(1, len(path)):
        if not _exists(tree, path[:length]):
            return path[:length]
    return path
