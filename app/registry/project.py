"""The servers that a project's own files name, read without a store (for CI)."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from app.core.errors import ToolcribError
from app.hosts.display import LaunchText, launch_text
from app.hosts.launch import LaunchSpec
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.indexing.reading import Limits
from app.policy.lock import ReadServer
from app.registry.probe import ProbeOptions, probe
from app.registry.register import Target

AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class ProjectServer:
    """A server of a project: its name, how it is started, the file that names it."""

    name: str
    launch: LaunchSpec
    file: str

    @property
    def text(self) -> LaunchText:
        """The launch as consent shows it."""
        return launch_text(self.launch)


def project_servers(project: Path) -> tuple[ProjectServer, ...]:
    """The servers of a project's own files, by name; ToolcribError for a file that is unreadable.

    One server that several files name is listed once. Two servers of one name get their host's id
    appended.
    """
    servers: dict[str, ProjectServer] = {}
    for reading in read_hosts(Places.here(project)):
        if not (reading.scope == "project" and reading.file.is_relative_to(project)):
            continue
        if reading.problem:
            raise ToolcribError(f"{reading.file}: {reading.problem}", "Correct the file.")
        for entry in reading.entries:
            if entry.launch is None or entry.disabled:
                continue
            placed = Target(0, entry.name, entry.launch, folder=str(project)).placed(Path.home())
            server = ProjectServer(entry.name, placed, str(reading.file))
            known = servers.get(entry.name)
            if known is None or known.launch == placed:
                servers.setdefault(entry.name, server)
            else:
                name = f"{entry.name}@{reading.host.id}"
                servers[name] = ProjectServer(name, placed, str(reading.file))
    return tuple(servers[name] for name in sorted(servers))


def read_project(
    servers: Sequence[ProjectServer],
    *,
    on_read: Callable[[ReadServer], None],
) -> tuple[ReadServer, ...]:
    """Start each server, ask for its tools and stop it, two at a time; `on_read` runs on a helper.

    The caller has the user's consent. Nothing is stored. An interrupt stops all of them.
    """
    options, cancel = ProbeOptions(Limits()), Event()

    def read(server: ProjectServer) -> ReadServer:
        reading = probe(server.launch, options=options, cancel=cancel)
        tools = tuple(tool.raw for tool in reading.tools)
        problem = "" if reading.read else reading.problem or reading.status
        done = ReadServer(server.name, server.text.command, tools, problem, server.file)
        on_read(done)
        return done

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="project") as pool:
        try:
            return tuple(pool.map(read, servers))
        except BaseException:
            cancel.set()  # before the pool waits for its threads
            raise
