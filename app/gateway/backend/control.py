"""Requests of the user's programs to the backend: its state, to end, a ranking by its encoder."""

import _socket
import json
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from app.gateway.backend.hello import Hello
from app.gateway.backend.host_model import SAMPLE
from app.gateway.backend.pool import Pool
from app.gateway.backend.ranking import Rankings
from app.gateway.backend.rendezvous import RENEW, ROUTE, STATUS, STOP, STOP_SERVER
from app.gateway.backend.sampling import Sampling, can_sample
from app.gateway.backend.session import Session
from app.gateway.backend.suggesting import SUGGEST, Suggestions
from app.gateway.backend.switch import HttpSwitch
from app.mcp.session import Upstream
from store.typed import Json

if TYPE_CHECKING:
    from app.gateway.backend.web.session import WebSession


class Controlled(Protocol):
    """Parts of a backend that requests can read and change."""

    pool: Pool
    suggestions: Suggestions
    rankings: Rankings
    sampling: Sampling
    http: HttpSwitch
    started: float  # seconds since the epoch

    def sessions(self) -> "Sequence[Session | WebSession]":
        """The hosts that are connected."""

    def stop(self) -> None:
        """End soon."""


def answer_control(backend: Controlled, link: "_socket.socket", hello: Hello) -> None:
    """Answer one request with one line of JSON after `ok`."""
    verb = hello.words[0] if hello.words else STATUS
    if verb == STATUS:
        body: Json = status(backend)
    elif verb == SUGGEST:
        body = backend.suggestions.answer(hello, backend.sessions())
    elif verb == ROUTE:
        body = backend.rankings.answer(hello)
    elif verb == SAMPLE:
        body = backend.sampling.answer(hello, link, backend.sessions())
    elif verb == RENEW:
        backend.http.renew()
        body = {}
    elif verb == STOP:
        body = {"pid": os.getpid()}
    elif verb == STOP_SERVER and len(hello.words) > 1:
        body = {"stopped": _stop_server(backend, hello.words[1], hello.words[2:])}
    else:
        link.sendall(b"no The backend does not know that request.\n")
        return
    link.sendall(b"ok 0\n" + json.dumps(body).encode() + b"\n")
    if verb == STOP:
        backend.stop()


def _stop_server(backend: Controlled, name: str, sessions: Sequence[str]) -> int:
    """End a server's processes, in every session or those numbered; how many were ended.

    The next call starts it again. Number 0 is the process that sessions share.
    """
    running = [(0, server.upstream) for server in backend.pool.servers()]
    for session in backend.sessions():
        own = [u for u in session.gateway.upstreams() if not u.is_shared]
        running += [(session.number, upstream) for upstream in own]
    ending = [
        upstream
        for number, upstream in running
        if upstream.name == name and upstream.started and (not sessions or str(number) in sessions)
    ]
    for upstream in ending:
        upstream.stop()
    return len(ending)


def status(backend: Controlled) -> Json:
    """The process, its sessions and their servers, with what each takes."""
    shared = [
        {
            "sessions": server.members,
            **_server(server.upstream),
        }
        for server in backend.pool.servers()
    ]
    return {
        "pid": os.getpid(),
        "seconds": round(time.time() - backend.started),
        "megabytes": _megabytes(os.getpid()),
        "shared": shared,
        "http": backend.http.status(),
        "sessions": [
            {
                "number": session.number,
                "host": session.name,
                "host_pid": max(0, session.hello.parent),  # 0 over HTTP
                "profile": session.gateway.options.profile,
                "server": session.gateway.options.server,
                "folder": session.hello.folder,
                "sampling": can_sample(session),
                "servers": [
                    _server(upstream)
                    for upstream in session.gateway.upstreams()
                    if not upstream.is_shared
                ],
            }
            for session in backend.sessions()
        ],
    }


def _server(upstream: Upstream) -> Json:
    pids = upstream.pids()
    return {
        "name": upstream.name,
        "state": upstream.state,
        "calls": upstream.calls,
        "pids": list(pids),
        "megabytes": round(sum(map(_megabytes, pids)), 1),
    }


def _megabytes(pid: int) -> float:
    """Proportional set size where the system tells it, else the resident size; 0 when gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            kilobytes = next(int(x.split()[1]) for x in file if x.startswith("Pss:"))
        return round(kilobytes / 1024, 1)
    except (OSError, StopIteration, ValueError):
        pass
    try:
        import psutil

        return round(psutil.Process(pid).memory_info().rss / (1 << 20), 1)
    except (ImportError, psutil.Error):
        return 0.0
