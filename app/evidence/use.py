"""Use of the catalogue's tools, by the hosts' records."""

import re
from collections import Counter
from dataclasses import dataclass, field

import apsw

from app.evidence.formats import OPENCODE
from app.evidence.projects import project_key
from store import host_records, servers, tools

DAY = 86_400.0
_ODD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class HostUse:
    """Calls by tool id (`server/tool`), requests by host, since `first` (0.0: none)."""

    first: float = 0.0
    calls: dict[str, int] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)  # by host id
    request_days: dict[str, int] = field(default_factory=dict)  # days since the first, by host id
    unknown: int = 0  # calls of tools that the catalogue does not have


class ToolNames:
    """Tools by the names that hosts give them: other separators, lower case, prefixes."""

    def __init__(self, db: apsw.Connection) -> None:
        self._ids: dict[str, str | None] = {}
        names: dict[int, list[tuple[str, str]]] = {}
        for server in servers.all_servers(db):
            pairs = {("", server.name), *((entry.host, entry.name) for entry in server.entries)}
            names[server.id] = sorted(pairs)
        for tool in tools.tools(db):
            for host, name in names.get(tool.server_id, ()):
                for spelled in {f"{host} {_plain(name, tool.name)}", f" {_plain(name, tool.name)}"}:
                    known = self._ids.setdefault(spelled, tool.tool_id)
                    if known != tool.tool_id:
                        self._ids[spelled] = None  # two tools have this name

    def find(self, host: str, server: str, tool: str) -> str | None:
        """The id of a tool by its spelling in a host, None without one or with several."""
        plain = _plain(server, tool)
        own = f"{host} {plain}"
        return self._ids[own] if own in self._ids else self._ids.get(f" {plain}")


def _plain(server: str, tool: str) -> str:
    return _ODD.sub("_", f"{server}_{tool}".lower()).strip("_")


def host_use(db: apsw.Connection, since: float) -> HostUse:
    """The use of each tool since a moment."""
    rows = host_records.calls_since(db, since)
    names = ToolNames(db) if rows else None
    calls: Counter[str] = Counter()
    latest: dict[str, float] = {}
    unknown = 0
    for host, server, tool, count, last in rows:
        tool_id = names.find(host, server, tool) if names is not None else None
        if tool_id is None:
            unknown += count
        else:
            calls[tool_id] += count
            latest[tool_id] = max(latest.get(tool_id, 0.0), last)
    recent = host_records.requests_since(db, int(since // DAY))
    return HostUse(
        host_records.first_call(db, since),
        calls,
        latest,
        requests={host: number for host, number, _days in recent},
        request_days={host: days for host, _number, days in recent},
        unknown=unknown,
    )


@dataclass(slots=True)
class RecordedSession:
    """Calls of one session by tool id; `folder` is that of its record, one a project or ""."""

    host: str
    folder: str
    calls: dict[str, int] = field(default_factory=dict)


def recorded_sessions(db: apsw.Connection, since: float) -> list[RecordedSession]:
    """The sessions in the hosts' records that called tools of the catalogue."""
    names = ToolNames(db)
    by_record: dict[int, RecordedSession] = {}
    for record, file, host, server, tool, calls in host_records.session_calls(db, since, OPENCODE):
        tool_id = names.find(host, server, tool)
        if tool_id is not None:
            folder = project_key(host, file)
            session = by_record.setdefault(record, RecordedSession(host, folder))
            session.calls[tool_id] = session.calls.get(tool_id, 0) + calls
    return list(by_record.values())
