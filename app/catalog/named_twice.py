"""Servers that one host names twice: it starts the same launch twice and sends each tool twice."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from store.records import MANUAL, EntryRecord, ServerRecord

_USER = "user"


@dataclass(frozen=True, slots=True)
class NamedTwice:
    """One launch under several names, all of which one host reads."""

    server: str  # its name in the catalogue
    entries: tuple[EntryRecord, ...]  # the one to keep first

    @property
    def spare(self) -> EntryRecord:
        """The entry that is to be removed."""
        return self.entries[-1]

    def text(self, host: str) -> str:
        """State and next step; `host` is the host's name."""
        *names, last = (entry.name for entry in self.entries)
        return (
            f"{host} names it {'twice' if len(names) == 1 else f'{len(names) + 1} times'}, as"
            f" {', '.join(names)} and {last}. Without Toolcrib it starts each and sends the same"
            " tools again. Remove one of them."
        )


def named_twice(server: ServerRecord) -> tuple[NamedTwice, ...]:
    """The hosts that name this server under several names in what they read together."""
    if server.disabled:
        return ()
    hosts = dict.fromkeys(entry.host for entry in server.entries if entry.host != MANUAL)
    return tuple(one for host in hosts for one in _in_host(server, host))


def all_named_twice(servers: Iterable[ServerRecord]) -> tuple[NamedTwice, ...]:
    """Those of every server."""
    return tuple(one for server in servers for one in named_twice(server))


def _in_host(server: ServerRecord, host: str) -> Iterator[NamedTwice]:
    """Entries of the user's files go with those of each project; two projects' are apart."""
    mine = [one for one in server.entries if one.host == host and not one.disabled]
    of_user = [one for one in mine if _project(one) == _USER]
    projects = dict.fromkeys(_project(one) for one in mine)
    for project in projects:
        together = [*of_user, *(one for one in mine if _project(one) == project != _USER)]
        by_name = {one.name: one for one in reversed(together)}  # the same name: one of them counts
        first = sorted(by_name.values(), key=lambda one: (one.name != server.name, one.name))
        if len(first) > 1 and (project == _USER or len(by_name) > len({o.name for o in of_user})):
            yield NamedTwice(server.name, tuple(first))


def _project(entry: EntryRecord) -> str:
    if entry.scope == "project":
        return entry.file
    return entry.scope if entry.scope.startswith("local:") else _USER
