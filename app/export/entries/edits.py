"""The edits of one server's entry, key by key: what is not meant stays as it is spelled."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from app.core.errors import ToolcribError
from app.hosts.documents.edits import Delete, Edit, Path, Rename, Set
from app.hosts.entries import started_by, wrapped_as
from app.hosts.facts import EntryStyle
from app.hosts.launch import LaunchSpec


def launch_edits(
    at: Path, raw: Any, style: EntryStyle, new: LaunchSpec, server: str = ""
) -> Iterator[Edit]:
    """Edits that make the entry start or reach `new`; ToolcribError if the host keeps a value.

    One that runs through Toolcrib goes on doing so, for the server of that catalogue name.
    """
    old = started_by(raw, style)
    if old is None:
        raise ToolcribError("This entry cannot be understood.", "Change it in the file.")
    new = wrapped_as(old, new, server)
    if (old.url != "") != (new.url != ""):
        raise ToolcribError("A command does not become a URL.", "Add a new server instead.")
    if new.url:
        key = next(key for key, _ in style.urls if isinstance(_inside(raw, key), str))
        if new.url != old.url:
            yield Set((*at, *_path(raw, key)), new.url)
        yield from _pairs(at, raw, style.headers, old.headers, new.headers)
    else:
        yield from _words(at, raw, style, old=old, new=new)
        yield from _pairs(at, raw, style.env, old.env, new.env)


def switch_edit(at: Path, style: EntryStyle, *, disabled: bool) -> Edit:
    """The host's own key that switches the server off or on."""
    assert style.off is not None
    key, value = style.off
    return Set((*at, key), value if disabled else not value)


def rename_edits(at: Path, raw: Any, name: str) -> Iterator[Edit]:
    """Another name for the entry; it comes last, for the others name the old place."""
    old = at[-1]
    if isinstance(old, int):
        yield Set((*at, "name"), name)
        return
    if isinstance(raw, Mapping) and raw.get("name") == old:
        yield Set((*at, "name"), name)
    yield Rename(at, name)


def _words(
    at: Path, raw: Any, style: EntryStyle, *, old: LaunchSpec, new: LaunchSpec
) -> Iterator[Edit]:
    command = _path(raw, style.command)
    before, after = (old.command, *old.args), (new.command, *new.args)
    if isinstance(_inside(raw, style.command), list) and not _inside(raw, style.args):
        yield from _items((*at, *command), before, after)
        return
    if new.command != old.command:
        yield Set((*at, *command), new.command)
    if new.args != old.args:
        known = isinstance(_inside(raw, style.args), list)
        place = (*at, *_path(raw, style.args))
        yield from _items(place, old.args, new.args) if known else [Set(place, list(new.args))]


def _items(at: Path, before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[Edit]:
    """The items of a list that differ, are new or go; the whole list where both is the case."""
    more = len(after) - len(before)
    kept = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))))
    if more > 0 and before and kept == len(before):
        yield from (Set((*at, number), after[number]) for number in range(kept, len(after)))
        return
    if more < 0 and before[kept - more :] == after[kept:]:
        yield from (Delete((*at, number)) for number in reversed(range(kept, kept - more)))
        return
    if more:
        yield Set(at, list(after))
        return
    for number, (was, now) in enumerate(zip(before, after, strict=True)):
        if was != now:
            yield Set((*at, number), now)


def _pairs(
    at: Path, raw: Any, key: str, old: Mapping[str, str], new: Mapping[str, str]
) -> Iterator[Edit]:
    """Variables or headers that differ, one by one."""
    inside: Any = raw
    place = at
    for part in key.split("."):
        place = (*place, *_path(inside, part))
        inside = _inside(inside, part)
    known = inside if isinstance(inside, Mapping) else {}
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    gone = [name for name in old if name not in new]
    if kept := [name for name in (*changed, *gone) if name in old and name not in known]:
        raise ToolcribError(f"{kept[0]} comes from the host itself.", "Change it in the file.")
    if changed and not known:
        yield Set(place, changed)
        return
    for name in gone:
        yield Delete((*place, name))
    for name, value in changed.items():
        yield Set((*place, name), value)


def _path(raw: Any, key: str) -> Path:
    """Path of a key: some hosts keep what reaches a server in a table `transport`."""
    nested = raw.get("transport") if isinstance(raw, Mapping) else None
    if isinstance(nested, Mapping) and key in nested:
        return ("transport", key)
    return (key,)


def _inside(raw: Any, key: str) -> Any:
    for part in _path(raw, key):
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return raw
