"""Which files an export to a host concerns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import ToolcribError
from app.export.history import active_writes
from app.hosts.documents.values import format_of
from app.hosts.facts import HostFacts, HostFile
from app.hosts.places import Places, is_file
from app.hosts.reading import HostReading, read_bytes
from store.records import NATIVE, THROUGH, ExportRecord

SERVERS, RULES, REVERT = "servers", "rules", "revert"
TOOLSET_FILE = "toolcrib.toolsets.jsonc"


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """One file of the host that an export looks at; `current` None when it does not exist."""

    host: HostFacts
    kind: HostFile
    path: Path
    role: str  # servers | rules | revert
    current: bytes | None
    primary: bool = False  # gets what is written once per host
    readings: tuple[HostReading, ...] = ()  # of every server file of this export, without Toolcrib

    @property
    def scope(self) -> str:
        """user or project."""
        return self.kind.scope

    def __repr__(self) -> str:
        return f"Target({self.path}, {self.role})"


def find_targets(
    places: Places, host: HostFacts, mode: str, history: Sequence[ExportRecord]
) -> tuple[Target, ...]:
    """The files of this export: server files, rule files, and files written earlier."""
    scope = "project" if places.project else "user"
    kinds = [kind for kind in host.files if kind.role == "servers" and kind.writable]
    kinds = [kind for kind in kinds if kind.scope == scope]
    if not kinds:
        raise ToolcribError(f"{host.name} has no {scope} file that Toolcrib writes.")
    found = list(_server_files(places, host, kinds, create=mode == THROUGH))
    if mode == NATIVE:
        found += _rule_files(places, host, found)
    known = {target.path for target in found}
    found += [
        target for target in _written(places, host, history, scope) if target.path not in known
    ]
    return tuple(found)


def _server_files(
    places: Places, host: HostFacts, kinds: Sequence[HostFile], *, create: bool
) -> Iterator[Target]:
    primary = True
    for kind in kinds:
        for path in places.existing(kind):
            yield Target(host, kind, path, SERVERS, read_bytes(path), primary)
            primary = False
    if primary and create:
        for kind in kinds:
            for path in places.candidates(kind)[:1]:
                yield Target(host, kind, path, SERVERS, None, True)
                return
        raise ToolcribError(f"{host.name} has no file on this system.")


def _rule_files(places: Places, host: HostFacts, servers: Sequence[Target]) -> Iterator[Target]:
    """Files other than the server file that hold native rules."""
    route = host.native
    if route is None or not route.file:
        return
    kind = host.file(route.project_file if places.project and route.project_file else route.file)
    if route.route == "toolsets":
        folders = [target.path.parent for target in servers if target.path.parent.name == "User"]
        paths = [folder / "prompts" / TOOLSET_FILE for folder in folders]
    else:
        paths = [_first_existing(places.candidates(kind))]
    for path in paths:
        yield Target(host, kind, path, RULES, _bytes(path), True)


def _written(
    places: Places, host: HostFacts, history: Sequence[ExportRecord], scope: str
) -> Iterator[Target]:
    """Files that still carry an earlier write."""
    paths = dict.fromkeys(
        Path(record.file)
        for record in history
        if (record.scope == "project") == (scope == "project")
    )
    for path in paths:
        if active_writes(history, path):
            yield Target(host, _kind_of(places, host, path, scope), path, REVERT, _bytes(path))


def _kind_of(places: Places, host: HostFacts, path: Path, scope: str) -> HostFile:
    for kind in host.files:
        if path in places.candidates(kind):
            return kind
    return HostFile(key="written", scope=scope, format=format_of(path), paths={}, role="settings")


def _first_existing(paths: Sequence[Path]) -> Path:
    return next((path for path in paths if is_file(path)), paths[0])


def _bytes(path: Path) -> bytes | None:
    return read_bytes(path) if is_file(path) else None
