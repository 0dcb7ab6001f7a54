"""A model's way to its tools, by its host's exports: the menu, or the host's own means."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.gateway.profile_view import ProfileView
    from app.hooks.suggestion import Suggestion

Naming = Callable[[str, str], str]  # a host's own name for (server, tool)


@dataclass(frozen=True, slots=True)
class Way:
    """One host's way; neither `through` nor `names` where a hook has nothing to say."""

    through: bool  # its model calls tools through Toolcrib's menu
    behind: tuple[str, ...] | None = None  # the servers that it reaches, None for all
    names: Naming | None = None  # its own search loads tools by these names, or its list has them


def way_of(database: str, host_id: str, *, listed: bool = False) -> Way | None:
    """The way of that host; None for one that is not known. `listed` names the tools of its own
    list also where it has no search."""
    from app.core.errors import ToolcribError
    from app.hosts.facts import host
    from store import exports, servers
    from store.connection import open_store
    from store.records import THROUGH

    try:
        facts = host(host_id)
    except ToolcribError:
        return None
    with closing(open_store(database)) as db:
        history = exports.for_host(db, host_id)
        mode = exports.mode_of(history)
        rows = servers.all_servers(db)
    if mode == THROUGH:
        return Way(through=True, behind=exports.behind_of(history))
    if not (facts.selects or listed):
        return Way(through=False)
    own = {
        row.name: entry.name
        for row in rows
        for entry in row.entries
        if entry.host == host_id and not entry.disabled
    }

    def name(server: str, tool: str) -> str:
        return facts.names.name(own[server], tool) if server in own else ""

    return Way(through=False, behind=tuple(own), names=name)


def left_out(view: "ProfileView", names: Naming, made: "Suggestion") -> list[str]:
    """The host's names of the tools that are neither chosen for the prompt nor pinned; none where
    the list stays whole."""
    if made.silence:
        return []
    by_id = {row.id: row.name for row in view.servers.values()}
    kept = {names(*tool_id.split("/", 1)) for tool_id in made.tools}
    kept |= {
        names(by_id[row.server_id], row.name)
        for row in view.tools(pinned=True)
        if row.server_id in by_id
    }
    return sorted({names(*pair) for pair in view.names()} - kept - {""})
