"""Finding and reading servers, as work for the long-work thread; no widgets here.

The parts of app.registry are imported when needed: they cost more than the window's start.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.catalog.catalog import load_catalog, trust_server
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.hosts.places import Places
from store.records import CONFIGURED, RETIRED, ServerRecord
from ui.shell.tasks import Job

if TYPE_CHECKING:
    from app.hosts.projects import KnownProject
    from app.registry.register import RegisterResult, Target
    from app.registry.scan import ScanReport


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server that could be read, as the consent table shows it."""

    server_id: int
    name: str
    hosts: tuple[str, ...]  # ids
    from_project: bool
    command: str  # all that will run, on one line, credentials masked; "" if nothing can
    ticked: bool  # at first
    lines: tuple[str, ...] = ()  # the same, and what else decides what runs, a line each
    status: str = CONFIGURED  # of an earlier reading
    problem: str = ""
    trusted: bool = False

    @property
    def started_before(self) -> bool:
        """True if the user agreed to this very command: another one makes a server `configured`."""
        return self.trusted and self.status not in ("", CONFIGURED, RETIRED)


@dataclass(frozen=True, slots=True)
class Discovery:
    """Servers that the hosts' files name."""

    candidates: tuple[Candidate, ...] = ()
    problems: tuple[str, ...] = ()  # of files that could not be read
    targets: "dict[int, Target]" = field(default_factory=dict, repr=False)
    named: frozenset[int] = frozenset()  # ids of the servers that were just registered
    projects: "tuple[KnownProject, ...]" = ()  # that hosts know, with servers of their own

    @property
    def hosts(self) -> int:
        """Number of hosts that name a server."""
        return len({host for candidate in self.candidates for host in candidate.hosts})


def find_servers(ctx: AppContext, places: Places) -> Discovery:
    """Read the hosts' files; starts nothing and writes no host's file."""
    from app.hosts.reading import read_hosts
    from app.registry.register import register

    readings = read_hosts(places)
    with ctx.store() as db:
        registered = register(ctx, db, readings)
        problems = tuple(f"{r.file}: {r.problem}" for r in readings if r.problem)
        discovery = discovered(ctx, db, registered, problems)
        return replace(discovery, projects=projects_of(places))


def projects_of(places: Places) -> "tuple[KnownProject, ...]":
    """The projects that hosts know, with servers of their own."""
    from app.hosts.projects import known_projects

    return known_projects(places)


def find_in_project(ctx: AppContext, places: Places, folder: Path) -> Discovery:
    """Read the files of a project; ToolcribError where none names a server."""
    from app.hosts.reading import read_hosts
    from app.registry.register import register

    readings = [
        reading
        for reading in read_hosts(replace(places, project=folder))
        if reading.scope == "project" and reading.file.is_relative_to(folder)
    ]
    problems = tuple(f"{r.file}: {r.problem}" for r in readings if r.problem)
    if not any(reading.entries for reading in readings):
        raise ToolcribError(
            problems[0] if problems else f"No file in {folder} names a server.",
            "A project's servers are in .mcp.json, .cursor/mcp.json or .vscode/mcp.json.",
        )
    with ctx.store() as db:
        return discovered(ctx, db, register(ctx, db, readings), problems)


def take_file(ctx: AppContext, path: Path) -> Discovery:
    """Register the servers of one file; raises ToolcribError when it names none."""
    from app.registry.importing import import_file

    with ctx.store() as db:
        return discovered(ctx, db, import_file(ctx, db, path).registered, ())


def take_text(ctx: AppContext, text: str) -> Discovery:
    """Register the servers of a pasted config; raises ToolcribError when it names none."""
    from app.registry.importing import import_text

    with ctx.store() as db:
        return discovered(ctx, db, import_text(ctx, db, text).registered, ())


def add(ctx: AppContext, name: str, launch: LaunchSpec) -> Discovery:
    """Register one server that was typed in."""
    from app.registry.importing import add_server

    with ctx.store() as db:
        return discovered(ctx, db, add_server(ctx, db, name, launch).registered, ())


def read(ctx: AppContext, job: Job, targets: "Iterable[Target]") -> "ScanReport":
    """Start these servers and read their tools; ticking a project's server trusted it.

    Reports each ServerStatus, then (text, share done) while tools are indexed.
    """
    from app.registry.scan import ScanOptions, scan

    chosen = tuple(targets)
    with ctx.store() as db:
        trusted = {s.id: s.trusted for s in load_catalog(db).servers}
        for target in chosen:
            if not trusted.get(target.server_id, True):
                trust_server(db, target.server_id, ctx.clock())
    options = ScanOptions(
        on_status=job.report,
        on_progress=lambda text, done: job.report((text, done)),
        cancel=job.cancelled,
    )
    return scan(ctx, chosen, options)


def discovered(
    ctx: AppContext, db: Db, registered: "RegisterResult", problems: tuple[str, ...] = ()
) -> Discovery:
    """All servers as consent shows them, those just registered named."""
    from app.registry.register import targets

    ready = {target.server_id: target for target in targets(ctx, db, registered)}
    servers = load_catalog(db).servers
    candidates = tuple(_candidate(s, ready.get(s.id)) for s in servers)
    return Discovery(candidates, problems, ready, frozenset(registered.server_ids))


def _candidate(server: ServerRecord, target: "Target | None") -> Candidate:
    return Candidate(
        server_id=server.id,
        name=server.name,
        hosts=tuple(dict.fromkeys(entry.host for entry in server.entries)),
        from_project=any(_is_project(entry.scope) for entry in server.entries),
        command=target.command if target else "",
        ticked=target is not None and server.trusted and not target.disabled,
        status=server.status,
        problem="It is disabled in Toolcrib." if server.disabled else server.problem,
        lines=target.text.lines if target else (),
        trusted=server.trusted,
    )


def _is_project(scope: str) -> bool:
    return scope == "project" or scope.startswith("local:")
