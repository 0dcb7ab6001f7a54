"""Servers that the backend runs, as rows: each server of each session, with its memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.text import plural
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import STATUS, Place
from app.gateway.sharing import Sharing
from store.typed import Json

_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """One server of one session, or one that sessions share."""

    name: str
    session: int  # 0 for one that sessions share
    users: str  # the host that it serves, or how many sessions
    state: str
    calls: int
    processes: int
    megabytes: float
    saved: float  # megabytes that its other sessions would take
    sharing: Sharing | None  # None for a server that the store does not know


@dataclass(frozen=True, slots=True)
class Overview:
    """One look at the backend; its own size in megabytes, without its servers."""

    pid: int
    megabytes: float
    sessions: int
    servers: tuple[RunningServer, ...]


def overview(place: Place, decisions: Mapping[str, Sharing]) -> Overview | None:
    """The backend as it is now, None where none runs."""
    status = request(place, STATUS, seconds=_SECONDS)
    if status is None:
        return None
    shared = [_shared(server, decisions) for server in status["shared"]]
    own = [
        _row(server, session["number"], _host(session), 0.0, decisions)
        for session in status["sessions"]
        for server in session["servers"]
    ]
    sessions = len(status["sessions"])
    return Overview(status["pid"], status["megabytes"], sessions, (*shared, *own))


def _shared(server: Json, decisions: Mapping[str, Sharing]) -> RunningServer:
    count = server["sessions"]
    saved = max(0, count - 1) * server["megabytes"]
    return _row(server, 0, plural(count, "session"), saved, decisions)


def host_of(session: Json) -> str:
    """A session's host by its own name, else by its process; over HTTP there is none to see."""
    pid = session["host_pid"]
    return str(session["host"] or (f"process {pid}" if pid > 0 else "a client over HTTP"))


def _host(session: Json) -> str:
    return f"{host_of(session)} ({session['profile']})"


def _row(
    server: Json, session: int, users: str, saved: float, decisions: Mapping[str, Sharing]
) -> RunningServer:
    return RunningServer(
        server["name"],
        session,
        users,
        server["state"],
        server["calls"],
        len(server["pids"]),
        server["megabytes"],
        saved,
        decisions.get(server["name"]),
    )
