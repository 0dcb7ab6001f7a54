"""`toolcrib backend ...`: the process behind all hosts, and which servers it shares."""

import argparse
import time
from pathlib import Path

from app.cli import backend_http, backend_login
from app.cli.console import Console, table
from app.cli.options import Verbs, add_group, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.home import home_folder
from app.core.text import plural
from app.gateway.backend.client import request, start
from app.gateway.backend.leftovers import other_builds
from app.gateway.backend.overview import host_of
from app.gateway.backend.rendezvous import OFF_FILE, STATUS, STOP, STOP_SERVER, Place, supported
from app.gateway.sharing import CHOICES
from app.gateway.stored_sharing import choose_sharing, every_sharing
from store.files import private_folder
from store.typed import Json

_STOP_SECONDS = 10.0
_AUTO = "auto"
_RUNNING = "No backend runs. The first host that needs it starts one."


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parts = add_group(
        verbs,
        "backend",
        page="One process per user serves every host, with one encoder. It starts with the "
        "first host, and ends five minutes after the last.",
    )
    add_verb(parts, "status", run_status, "sessions, servers, memory")
    stop = add_verb(
        parts,
        "stop",
        run_stop,
        "end it (a running host starts the next), or end one server (its next call starts it)",
    )
    stop.add_argument("server", nargs="?", default="", help="only this server")
    add_verb(parts, "restart", run_restart, "end it and start the next")
    add_verb(parts, "off", run_off, "a gateway of its own for each host")
    add_verb(parts, "on", run_on, "one process for all hosts (the default)")
    backend_http.add(parts)
    backend_login.add(parts)
    share = add_verb(
        parts, "share", run_share, "show which servers hosts share, and why; or choose it"
    )
    share.add_argument("server", nargs="?", default="", help="default: show all")
    share.add_argument(
        "choice",
        nargs="?",
        choices=(*CHOICES, _AUTO),
        help="one for all hosts, one for each host or session; auto: as Toolcrib decides",
    )


def run_status(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Print the state of the backend."""
    place = Place(home_folder())
    status = request(place, STATUS)
    earlier = [one for other in other_builds(place) if (one := request(other, STATUS))]
    shown = {**(status or {}), "earlier": earlier} if earlier else status
    lines = [_status_text(status) if status else _RUNNING, *map(_earlier_text, earlier)]
    console.result(shown, lambda: "\n".join(lines))
    return 0


def run_stop(args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """End the backend and wait until it is gone; or one server of it."""
    place = Place(home_folder())
    if args.server:
        return _stop_server(place, args.server, console)
    ended = [_end(one) for one in (place, *other_builds(place))]
    stopped = any(ended)
    console.result({"stopped": stopped}, lambda: "It has ended." if stopped else _RUNNING)
    return 0


def run_restart(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """End the backend, if there is one, and have the next one answer."""
    place = Place(home_folder())
    if not supported() or place.off:
        raise ToolcribError("Backends are off.", "toolcrib backend on lets hosts share one.")
    _end(place)
    if not start(place):
        raise ToolcribError("No backend could be started.", f"See {place.folder}.")
    console.result({"restarted": True}, lambda: "The next backend runs.")
    return 0


def _stop_server(place: Place, name: str, console: Console) -> int:
    answer = request(place, STOP_SERVER, name)
    if answer is None or not answer["stopped"]:
        raise ToolcribError(
            f"No running server is called {name}.", "toolcrib backend status lists those that run."
        )
    count = answer["stopped"]
    console.result(
        {"stopped": count}, lambda: f"{name} has ended ({count}). Its next call starts it again."
    )
    return 0


def _end(place: Place) -> bool:
    """End the backend and wait until it is gone; False if there was none."""
    ending = request(place, STOP)
    stopped = ending is not None
    limit = time.monotonic() + _STOP_SECONDS
    while ending and _still_runs(place, ending["pid"]):
        if time.monotonic() > limit:
            raise ToolcribError("The backend did not end.", "Try again in a few seconds.")
        time.sleep(0.05)
    return stopped


def run_off(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """From now on each host gets a gateway of its own; a running backend ends."""
    _off_file().touch()
    if ctx.settings.http:  # the endpoint is a part of it
        backend_http.note_hosts(ctx, console, *backend_http.UNREACHED)
    args.server = ""
    return run_stop(args, ctx, console)


def run_on(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Hosts that start from now on share one process."""
    _off_file().unlink(missing_ok=True)
    usable = supported()
    text = "Hosts that start from now on share one process."
    console.result({"on": usable}, lambda: text if usable else "Not on this system: no sockets.")
    return 0


def run_share(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Show or choose how servers are shared."""
    with ctx.store() as db:
        if args.server and args.choice:
            choose_sharing(db, args.server, "" if args.choice == _AUTO else args.choice)
        decisions = every_sharing(db)
    if args.server:
        decisions = {name: one for name, one in decisions.items() if name == args.server}
    rows = [
        {"server": name, "sharing": one.choice, "reason": one.reason, "by_user": one.by_user}
        for name, one in decisions.items()
    ]
    header = ["Server", "Sharing", "Why"]
    console.result(
        rows, lambda: table([header, *([str(v) for v in list(r.values())[:3]] for r in rows)])
    )
    return 0


def _still_runs(place: Place, pid: int) -> bool:
    """True if that backend answers; a host that goes on may have started the next one."""
    status = request(place, STATUS)
    return status is not None and status["pid"] == pid


def _off_file() -> Path:
    folder = Path(home_folder())
    private_folder(folder)
    return folder / OFF_FILE


def _status_text(status: Json) -> str:
    lines = [
        f"Process {status['pid']}, {status['megabytes']} MB, for {status['seconds']} s,"
        f" {plural(len(status['sessions']), 'session')}."
    ]
    rows = [["Host", "Profile", "Server", "State", "Calls", "MB"]]
    for session in status["sessions"]:
        host = host_of(session)
        for server in session["servers"] or [{}]:
            rows.append([host, session["profile"], *_server_cells(server)])
    for server in status["shared"]:
        sessions = plural(server["sessions"], "session")
        rows.append([sessions, "", *_server_cells(server)])
    if len(rows) > 1:
        lines.append(table(rows, right=frozenset({4, 5})))
    return "\n".join(lines)


def _earlier_text(status: Json) -> str:
    """State of a backend that was started before an update of Toolcrib."""
    hosts = ", ".join(dict.fromkeys(map(host_of, status["sessions"])))
    runs = (
        f"serves {hosts}. Start that anew to have the new build, or end" if hosts else "runs. End"
    )
    return f"Process {status['pid']} of another build {runs} it: toolcrib backend stop"


def _server_cells(server: Json) -> list[str]:
    return [str(server.get(key, "")) for key in ("name", "state", "calls", "megabytes")]
