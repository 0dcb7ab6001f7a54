"""A host's file without one write of Toolcrib's; what else was written to it since stays."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path as FilePath

from app.core.errors import ToolcribError
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import MISSING, Delete, Edit, Path, Set, apply_edits
from app.hosts.documents.values import format_of, read_values
from store.typed import Json, JsonMapping, list_or_empty, object_or_empty

TEXT = "text"  # the format of files that are no tree of values
_MOST_PAIRS = 4_000_000  # of lines to compare; beyond, only the values are
_BY_HAND = "Compare it with the backup, or restore the whole file."
_MADE: tuple[Json, ...] = (
    {},
    {"version": 1},
)  # all that is left of a file which was made for a hook


@dataclass(frozen=True, slots=True, repr=False)
class Versions:
    """A file before one write, after it, and now; None where there was no file."""

    before: bytes | None
    after: bytes | None
    now: bytes | None


def taken_back(
    file: FilePath, kind: str, versions: Versions, *, lists: Sequence[Path] = ()
) -> bytes | None:
    """The file's bytes without that write; None where there would be no file.

    `kind` is the file's format, "" for the one that its name says; `lists` are lists of words to
    which the write added items. Raises ToolcribError where the places that were written changed.
    """
    before, after, now = versions.before, versions.after, versions.now
    if now in (after, before):
        return before
    if now is None:
        raise _changed(file, "it is gone")
    kind = kind or format_of(file)
    by_lines = _by_lines(before or b"", after or b"", now)
    if kind == TEXT:
        if by_lines is None:
            raise _changed(file, "in the lines that were written")
        return by_lines or None if before is None else by_lines
    try:
        trees = [read_values(data, kind).value if data else {} for data in (before, after, now)]
        edits = list(_Comparison(file, frozenset(lists)).edits(*trees))
        target = apply_edits(trees[2], edits)
        if before is None and target in _MADE and not read_values(now, kind).comments:
            return None
        if by_lines is not None and _says(by_lines, kind, target):
            return by_lines
        return edit(now, kind, edits)
    except ToolcribError as error:
        if str(file) in error.title:
            raise
        raise ToolcribError(f"{file}: {error.title}", error.hint) from error


def _changed(file: FilePath, where: str) -> ToolcribError:
    return ToolcribError(f"{file} changed since Toolcrib wrote it: {where}.", _BY_HAND)


def _says(data: bytes, kind: str, target: object) -> bool:
    """True if these bytes have the intended values, for a strict reader too."""
    with suppress(ToolcribError):
        parsed = read_values(data, kind)
        strict = not parsed.duplicates and not parsed.trailing_commas
        return strict and bool(parsed.value == target)
    return False


def _by_lines(before: bytes, after: bytes, now: bytes) -> bytes | None:
    """`now` with the lines of `after` put back to those of `before`.

    None where one of them, or a line beside them, is another by now.
    """
    was, ours, has = (data.splitlines(keepends=True) for data in (before, after, now))
    kept, changed = _blocks(ours, has), _hunks(ours, was)
    if kept is None or changed is None:
        return None
    for start, end, lines in reversed(changed):
        first, last = max(start - 1, 0), min(end + 1, len(ours))
        shift = next((b - a for a, b, size in kept if a <= first and last <= a + size), None)
        if shift is None:
            return None
        has[start + shift : end + shift] = lines
    return b"".join(has)


def _hunks(ours: list[bytes], was: list[bytes]) -> list[tuple[int, int, list[bytes]]] | None:
    """First and last line of ours that differ, and what they were."""
    blocks = _blocks(ours, was)
    if blocks is None:
        return None
    hunks, at, there = [], 0, 0
    for start, other, size in [*blocks, (len(ours), len(was), 0)]:
        if at < start or there < other:
            hunks.append((at, start, was[there:other]))
        at, there = start + size, other + size
    return hunks


def _blocks(one: list[bytes], other: list[bytes]) -> list[tuple[int, int, int]] | None:
    """Runs of equal lines: where in each, and how many; None where there is too much to compare."""
    shorter = min(len(one), len(other))
    head = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    tail = next((i for i in range(shorter - head) if one[-1 - i] != other[-1 - i]), shorter - head)
    inner, outer = one[head : len(one) - tail], other[head : len(other) - tail]
    if len(inner) * len(outer) > _MOST_PAIRS:
        return None
    between = SequenceMatcher(None, inner, outer, autojunk=False).get_matching_blocks()
    blocks = [(0, 0, head), *((a + head, b + head, size) for a, b, size in between)]
    joined: list[tuple[int, int, int]] = []
    for a, b, size in [*blocks, (len(one) - tail, len(other) - tail, tail)]:
        if joined and joined[-1][0] + joined[-1][2] == a and joined[-1][1] + joined[-1][2] == b:
            start, there, length = joined.pop()
            joined.append((start, there, length + size))
        elif size:
            joined.append((a, b, size))
    return joined


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Three trees of values, walked together."""

    file: FilePath
    lists: frozenset[Path]

    def edits(self, was: object, ours: object, has: object, at: Path = ()) -> Iterator[Edit]:
        """Edits of what there is now that take our write back."""
        if _equal(was, ours) or _equal(has, was):
            return
        written = _equal(has, ours)
        inside = _by_key(was, ours) and not (written and MISSING in (was, ours))
        if isinstance(has, dict) and inside:
            yield from self._inside(
                object_or_empty(was), object_or_empty(ours), has, at, made=was is MISSING
            )
        elif written:
            yield Delete(at) if was is MISSING else Set(at, was)
        elif isinstance(has, list) and self._is_list(was, at) and self._is_list(ours, at):
            yield from self._items(
                list_or_empty(was), list_or_empty(ours), has, at, made=was is MISSING
            )
        else:
            raise _changed(self.file, ".".join(map(str, at)) or "in all of it")

    def _inside(
        self, was: JsonMapping, ours: JsonMapping, has: JsonMapping, at: Path, *, made: bool
    ) -> Iterator[Edit]:
        """The same for each key; a group that we made and that is empty then goes."""
        edits = [
            one
            for key in dict.fromkeys([*ours, *was])
            for one in self.edits(
                was.get(key, MISSING),
                ours.get(key, MISSING),
                has.get(key, MISSING),
                (*at, key),
            )
        ]
        gone = {one.path[-1] for one in edits if isinstance(one, Delete) and one.path[:-1] == at}
        if made and gone.issuperset(has):
            yield Delete(at)
        else:
            yield from edits

    def _items(
        self,
        was: Sequence[object],
        ours: Sequence[object],
        has: Sequence[object],
        at: Path,
        *,
        made: bool,
    ) -> Iterator[Edit]:
        """Take items out that we added, and put those in that we took out."""
        added = [item for item in ours if item not in was]
        removed = [(i, item) for i, item in enumerate(was) if item not in ours and item not in has]
        edited = any(item not in ours and item not in was for item in has)
        if edited and any(item not in has for item in added):
            raise _changed(self.file, ".".join(map(str, at)))
        left = [item for item in has if item not in added]
        if made and not left:
            yield Delete(at)
        elif not removed:
            for index in reversed([i for i, item in enumerate(has) if item in added]):
                yield Delete((*at, index))
        else:
            for index, item in removed:
                left.insert(index, item)
            yield Set(at, left)

    def _is_list(self, value: object, at: Path) -> bool:
        """True if a list's order has no meaning: one of objects, or one that we added words to."""
        if not isinstance(value, list):
            return value is MISSING
        return at in self.lists or all(isinstance(item, dict) for item in value)


def _by_key(was: object, ours: object) -> bool:
    """True if two values are changed key by key: objects, or one of entries beside nothing.

    An entry that is not there in one of them is added or removed whole, never in part.
    """
    there = [value for value in (was, ours) if value is not MISSING]
    objects = [value for value in there if isinstance(value, dict)]
    inner = [item for value in objects for item in value.values()]
    entries = all(isinstance(item, dict | list) for item in inner)
    return len(objects) == len(there) and (len(there) == 2 or entries)


def _equal(one: object, other: object) -> bool:
    return type(one) is type(other) and bool(one == other)
