"""Files that an export to a host concerns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from app.export.history import active_writes
from app.hosts.documents.values import format_of
from app.hosts.facts import HostFacts, HostFile
from app.hosts.places import Places, first_there
from app.hosts.reading import (
    HostReading,
    bytes_if_there,
    leads_outside,
    left_behind,
    read_bytes,
    read_one,
)
from store.records import AS_IS, NATIVE, THROUGH, ExportRecord

SERVERS, RULES, REVERT = "servers", "rules", "revert"
TOOLSET_FILE = "toolcrib.toolsets.jsonc"
_PASTE = "Copy the snippet there yourself."


class NotWrittenError(ToolcribError):
    """Toolcrib does not write where this host has its servers; a snippet can be pasted there."""


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """One file of the host that an export looks at; `current` None when it does not exist."""

    host: HostFacts
    kind: HostFile
    path: Path
    role: str  # servers | rules | revert
    current: bytes | None
    primary: bool = False  # gets what is written once per host
    served: bool = False  # its launch is in the entry beside it
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
    kinds = [
        kind
        for kind in host.server_files
        if kind.scope == scope and kind.writable and not left_behind(places, host, kind)
    ]
    if not kinds:
        raise NotWrittenError(f"{host.name} has no {scope} file that Toolcrib writes.", _PASTE)
    targets = list(_server_files(places, host, kinds, history))
    if mode != AS_IS and not targets:
        _refuse_read_only(places, host, scope)
    if mode == THROUGH and not targets:
        targets = [_new_file(places, host, kinds)]
    if mode == NATIVE:
        targets += _rule_files(places, host, targets)
    known = {target.path for target in targets}
    targets += [
        target for target in _written(places, host, history, scope) if target.path not in known
    ]
    for target in targets:
        if problem := leads_outside(places, target.kind, target.path):
            raise ToolcribError(problem, "Put a file of the project in its place.")
    return tuple(targets)


def _server_files(
    places: Places,
    host: HostFacts,
    kinds: Sequence[HostFile],
    history: Sequence[ExportRecord],
) -> Iterator[Target]:
    """Existing server files, an earlier place only where it names servers; the first is primary."""
    first: Target | None = None
    for kind in sorted(kinds, key=lambda kind: kind.older):
        for path in places.existing(kind):
            ours = bool(active_writes(history, path))
            if kind.older and not ours and not _names_servers(read_one(places, host, kind, path)):
                continue
            beside = kind.older and first is not None and path.parent == first.path.parent
            made = Target(host, kind, path, SERVERS, read_bytes(path), first is None, served=beside)
            first = first or made
            yield made


def _names_servers(reading: HostReading) -> bool:
    return bool(reading.entries or reading.through or reading.problem)


def _new_file(places: Places, host: HostFacts, kinds: Sequence[HostFile]) -> Target:
    for kind in kinds:
        for path in places.candidates(kind)[:1]:
            if not kind.older:
                return Target(host, kind, path, SERVERS, None, True)
    raise NotWrittenError(f"{host.name} has no file on this system.")


def _refuse_read_only(places: Places, host: HostFacts, scope: str) -> None:
    """Refuse to write beside servers that are only in files that Toolcrib does not write."""
    for kind in host.server_files:
        if kind.scope != scope or kind.writable:
            continue
        for path in places.existing(kind):
            if read_one(places, host, kind, path).entries:
                raise NotWrittenError(
                    f"{host.name} has its servers in {path}, which Toolcrib does not write.", _PASTE
                )


def _rule_files(places: Places, host: HostFacts, servers: Sequence[Target]) -> Iterator[Target]:
    """Files other than the server file that hold native rules."""
    route = host.native
    if route is None or not route.file:
        return
    kind = host.file(route.project_file if places.project and route.project_file else route.file)
    if route.route == "toolsets":
        above = dict.fromkeys(target.path.parent for target in servers)
        folders = [folder for folder in above if folder.name == "User"]
        paths = [folder / "prompts" / TOOLSET_FILE for folder in folders]
    else:
        paths = [first_there(places.candidates(kind))]
    for path in paths:
        yield Target(host, kind, path, RULES, bytes_if_there(path), True)


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
        if active_writes(history, path) and _concerns(places, host, path):
            yield Target(
                host, _kind_of(places, host, path, scope), path, REVERT, bytes_if_there(path)
            )


def _concerns(places: Places, host: HostFacts, path: Path) -> bool:
    """True if a written file is of this project: another project's stays as it is."""
    if places.project is None or path.is_relative_to(places.project):
        return True
    return any(path in places.candidates(kind) for kind in host.files)


def _kind_of(places: Places, host: HostFacts, path: Path, scope: str) -> HostFile:
    for kind in host.files:
        if path in places.candidates(kind):
            return kind
    return HostFile(key="written", scope=scope, format=format_of(path), paths={}, role="settings")
