"""Differences between a host's files and Toolcrib's last writes."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import apsw

from app.core.errors import ToolcribError
from app.export import backups
from app.export.history import active_writes
from app.export.masking import masked_text
from app.hooks.entries import without_hook
from app.hosts.display import launch_text
from app.hosts.documents.edits import MISSING
from app.hosts.documents.values import read_values
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import HostFacts, host
from app.hosts.importing import read_data
from app.hosts.places import Places, is_file
from app.hosts.reading import FoundEntry, bytes_if_any, hash_bytes
from store import exports
from store.records import AS_IS, HOOK, ExportRecord

_MOST_KEYS = 8  # named in a sentence
IN_SYNC, OUTSIDE, GONE = "in sync", "changed outside", "gone"


@dataclass(frozen=True, slots=True)
class EntryDrift:
    """One server entry three ways, masked; "" where it is not there."""

    name: str
    before: str  # without Toolcrib
    written: str  # as Toolcrib wrote it
    now: str


@dataclass(frozen=True, slots=True)
class Drift:
    """One file: its state, sentences for what differs, and the texts to compare."""

    host: str
    file: Path
    record: ExportRecord
    state: str  # in sync | changed outside | gone
    sentences: tuple[str, ...] = ()
    entries: tuple[EntryDrift, ...] = ()  # those that differ
    before: str = ""  # masked texts
    written: str = ""
    now: str = ""
    besides: str = ""  # a sentence for what differs besides servers


def find_drift(history: Sequence[ExportRecord]) -> tuple[Drift, ...]:
    """The state of every file that carries a write; reads only, rewrites nothing."""
    files = dict.fromkeys(record.file for record in history)
    drifts = []
    for file in files:
        active = active_writes(history, Path(file))
        if active and active[0].mode != AS_IS:  # as is: nothing of ours can be missing
            drifts.append(file_drift(active[0]))
    return tuple(drifts)


def restore_effect(db: apsw.Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Effect of restoring every host, files of projects too: names of hosts, and losses.

    The second are sentences for changes made since Toolcrib wrote; hooks are removed from a file
    and lose nothing.
    """
    every = exports.all_exports(db)
    about_servers = [record for record in every if record.mode != HOOK]
    hooks = [record for record in every if record.mode == HOOK]
    here = [record for record in _newest(about_servers) if record.mode != AS_IS]
    here += [record for record in _newest(hooks) if record.profile]  # else it took the hook out
    names = dict.fromkeys(host(record.host).name for record in here)
    return tuple(names), dropped(find_drift(about_servers))


def _newest(records: Sequence[ExportRecord]) -> Iterator[ExportRecord]:
    """The newest write of each file that was not undone."""
    for file in dict.fromkeys(record.file for record in records):
        yield from active_writes(records, Path(file))[:1]


def dropped(drifts: Sequence[Drift]) -> tuple[str, ...]:
    """Changes made since Toolcrib wrote, which restoring would drop; a sentence a file."""
    return tuple(
        " ".join(
            (f"{one.file} changed since Toolcrib wrote it.", *one.sentences, one.besides)
        ).strip()
        for one in drifts
        if one.state != IN_SYNC
    )


def watched(places: Places, facts: HostFacts) -> tuple[Path, ...]:
    """The files of a host to watch, and the folders in which new ones would appear."""
    paths = [path for kind in facts.server_files for path in places.candidates(kind)]
    if facts.hook is not None:
        at = places.paths(facts.hook.paths)
        trust = facts.hook.trusted_in
        paths += [*at, *(path.with_name(trust) for path in at if trust)]
    existing = [path for path in paths if is_file(path)]
    return tuple(dict.fromkeys(existing + [p.parent for p in paths if p.parent.is_dir()]))


def file_drift(record: ExportRecord) -> Drift:
    """Difference between the file of this write now and the bytes that were written."""
    path = Path(record.file)
    try:
        data = bytes_if_any(path)
    except ToolcribError as error:
        return Drift(record.host, path, record, OUTSIDE, (error.text,))
    now_hash = hash_bytes(data)
    if now_hash == record.after_hash:
        return Drift(record.host, path, record, IN_SYNC)
    facts = host(record.host)
    if data is None:
        sentence = f"{facts.name} removed its file {path.name}."
        return Drift(record.host, path, record, GONE, (sentence,))
    kind = record.format or "json"
    written = backups.read(record.after_copy)
    if written and without_hook(data, facts) == without_hook(written, facts):
        return Drift(record.host, path, record, IN_SYNC)
    base = backups.read(record.base_copy)
    readings = [_entries(copy, path, facts) for copy in (base, written, data)]
    differing = tuple(_compare(*readings))
    return Drift(
        host=record.host,
        file=path,
        record=record,
        state=OUTSIDE,
        sentences=tuple(_sentences(facts, differing, path)),
        entries=differing,
        before=masked_text(base, kind),
        written=masked_text(written, kind),
        now=masked_text(data, kind),
        besides=_besides(facts, written, data, kind),
    )


def _entries(data: bytes | None, path: Path, facts: HostFacts) -> dict[str, FoundEntry | None]:
    """A file's entries by name; None is the value for Toolcrib's entry for all servers."""
    if not data:
        return {}
    try:
        reading = read_data(data, path, facts.id)
    except ToolcribError:
        return {}
    entries: dict[str, FoundEntry | None] = {entry.name: entry for entry in reading.entries}
    return {**entries, **({THROUGH_NAME: None} if reading.through else {})}


def _compare(
    before: Mapping[str, FoundEntry | None],
    written: Mapping[str, FoundEntry | None],
    now: Mapping[str, FoundEntry | None],
) -> Iterator[EntryDrift]:
    for name in dict.fromkeys((*written, *now)):
        if (name in written) != (name in now) or written.get(name) != now.get(name):
            yield EntryDrift(name, *(_described(name, side) for side in (before, written, now)))


def _described(name: str, side: Mapping[str, FoundEntry | None]) -> str:
    if name not in side:
        return ""
    entry = side[name]
    if entry is None:
        return "all servers, through the gateway"
    shown = launch_text(entry.launch).line if entry.launch else entry.problem or "a URL server"
    return f"{shown}, through the gateway" if entry.pruned else shown


def _sentences(facts: HostFacts, differing: Sequence[EntryDrift], path: Path) -> Iterator[str]:
    removed = [entry for entry in differing if not entry.now]
    ours = [entry for entry in removed if "through the gateway" in entry.written]
    if ours:
        yield f"{facts.name} rewrote its file and removed Toolcrib's entry {ours[0].name}."
    if others := [entry.name for entry in removed if entry not in ours]:
        yield f"No longer in the file: {', '.join(others)}."
    if added := [entry.name for entry in differing if not entry.written]:
        yield f"New in the file: {', '.join(added)}."
    if changed := [entry.name for entry in differing if entry.written and entry.now]:
        yield f"Changed in the file: {', '.join(changed)}."
    if not differing:
        yield f"{path.name} changed in places that name no server."


def _besides(facts: HostFacts, written: bytes | None, now: bytes, kind: str) -> str:
    """Differences besides servers: keys only, never a value."""
    try:
        trees = [read_values(data, kind).value if data else {} for data in (written, now)]
    except ToolcribError as error:
        return error.title
    servers = {one.at[0] for one in facts.server_files if one.at}
    keys = list(dict.fromkeys(_differing(trees[0], trees[1], servers)))
    if len(keys) > _MOST_KEYS:
        keys[_MOST_KEYS:] = [f"{len(keys) - _MOST_KEYS} more"]
    return f"Changed besides servers: {', '.join(keys)}." if keys else ""


def _differing(written: object, now: object, servers: Set[str]) -> Iterator[str]:
    """The keys of a file that differ and hold no servers."""
    if not isinstance(written, Mapping) or not isinstance(now, Mapping):
        return
    for key in (*written, *now):
        if written.get(key, MISSING) != now.get(key, MISSING) and key not in servers:
            yield str(key)
