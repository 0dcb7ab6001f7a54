"""Whether a host's files still are what Toolcrib last wrote, and what differs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import ToolcribError
from app.export import backups
from app.export.history import active_writes
from app.export.masking import masked_text
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import HostFacts, host
from app.hosts.importing import read_data
from app.hosts.places import Places, is_file
from app.hosts.reading import FoundEntry, hash_bytes
from store.records import AS_IS, ExportRecord

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


def find_drift(history: Sequence[ExportRecord]) -> tuple[Drift, ...]:
    """The state of every file that carries a write; reads only, rewrites nothing."""
    files = dict.fromkeys(record.file for record in history)
    found = []
    for file in files:
        active = active_writes(history, Path(file))
        if active and active[0].mode != AS_IS:  # as is: nothing of ours can be missing
            found.append(file_drift(active[0]))
    return tuple(found)


def watched(places: Places, facts: HostFacts) -> tuple[Path, ...]:
    """The files of a host to watch, and the folders in which new ones would appear."""
    kinds = [kind for kind in facts.files if kind.role == "servers"]
    paths = [path for kind in kinds for path in places.candidates(kind)]
    existing = [path for path in paths if is_file(path)]
    return tuple(dict.fromkeys(existing + [p.parent for p in paths if p.parent.is_dir()]))


def file_drift(record: ExportRecord) -> Drift:
    """How the file of this write differs from what was written."""
    path = Path(record.file)
    try:
        data: bytes | None = path.read_bytes()
    except OSError:
        data = None
    now_hash = hash_bytes(data) if data is not None else ""
    if now_hash == record.after_hash:
        return Drift(record.host, path, record, IN_SYNC)
    facts = host(record.host)
    if data is None:
        sentence = f"{facts.name} removed its file {path.name}."
        return Drift(record.host, path, record, GONE, (sentence,))
    kind = str(record.detail.get("format", "json"))
    copies = [backups.read(str(record.detail.get(name, ""))) for name in ("base", "after")]
    texts = [masked_text(copy, kind) for copy in (*copies, data)]
    readings = [_entries(copy, path, facts) for copy in (*copies, data)]
    differing = tuple(_compare(*readings))
    sentences = tuple(_sentences(facts, differing, path))
    return Drift(record.host, path, record, OUTSIDE, sentences, differing, *texts)


def _entries(data: bytes | None, path: Path, facts: HostFacts) -> dict[str, FoundEntry | None]:
    """A file's entries by name; None stands for Toolcrib's entry for all servers."""
    if not data:
        return {}
    try:
        reading = read_data(data, path, facts.id)
    except ToolcribError:
        return {}
    found: dict[str, FoundEntry | None] = {entry.name: entry for entry in reading.entries}
    return {**found, **({THROUGH_NAME: None} if reading.through else {})}


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
    shown = entry.launch.masked() if entry.launch else entry.problem or "a URL server"
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
