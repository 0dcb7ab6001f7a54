"""A replica: the application under uvicorn, from the first connection to the last answer."""

import asyncio
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import FrameType

from psycopg_pool import ConnectionPool
from uvicorn import Config, Server

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.gateway.backend.web.bounded import bounded_config
from app.team_server.api import TeamApi
from app.team_server.application import Application, Parts
from app.team_server.bearer import Issuer
from app.team_server.configuration import Configuration
from app.team_server.credentials import Credentials
from app.team_server.finding import TeamFinder, load_encoder
from app.team_server.identity import Caller, Identities
from app.team_server.limiting import Buckets
from app.team_server.listed_servers import ListedServers
from app.team_server.metrics import Metrics
from app.team_server.reading import read_server
from app.team_server.refusal import Resource
from app.team_server.sealing import Sealer
from app.team_server.service import Service
from app.team_server.session_id import SessionIds
from app.team_server.sign_ins import SignIns
from app.team_server.tracing import Tracing
from app.team_server.upstreams import Upstreams
from app.team_server.url_guard import UrlGuard
from store.team.connecting import Connection, open_pool
from store.team.records import Server as TeamServer

_MOST_CONNECTIONS = 2_048  # of clients
_WORKERS = 16  # threads for the database and for ranking
_POOL = 12  # connections to the database
_POOL_SECONDS = 5.0  # that a request waits for one
_LONGEST_END = 600  # seconds that calls under way get at a stop


@dataclass(frozen=True, slots=True)
class Replica:
    """The parts of a running replica that outlive a request."""

    application: Application
    pool: ConnectionPool[Connection]
    upstreams: Upstreams
    finder: TeamFinder
    tracing: Tracing

    def close(self) -> None:
        """End the servers and the connections."""
        self.upstreams.close()
        self.finder.close()
        self.pool.close()
        self.tracing.close()


def make(given: Configuration, sealer: Sealer) -> Replica:
    """A replica's parts; the database may come later."""
    pool = open_pool(given.database, most=_POOL, timeout=_POOL_SECONDS)
    metrics, resource = Metrics(), Resource(given.url, given.issuers)
    tracing = _tracing(given.traces)
    guard = UrlGuard(given.inside)
    held = Upstreams(guard, given.programs)
    credentials = Credentials(pool, sealer, guard)
    sign_ins = SignIns(given.url, credentials, sealer, guard)
    listed = ListedServers(Paths.default().database if given.market else None)
    finder = TeamFinder(pool, listed)
    service = Service(pool, finder, credentials, held, given.limits, metrics, tracing)
    issuers = [Issuer(url, resource.audience) for url in given.issuers]
    parts = Parts(
        pool=pool,
        resource=resource,
        hosts=frozenset({given.host}),
        identities=Identities(pool, issuers),
        sessions=SessionIds(sealer.signing),
        service=service,
        buckets=Buckets(given.limits),
        metrics=metrics,
        tracing=tracing,
        upstreams=lambda: len(held),
        landing=sign_ins.landing,
        metrics_token=given.metrics_token,
    )
    api = TeamApi(pool, credentials, sign_ins, listed, partial(_read, given, credentials))
    return Replica(Application(parts, api), pool, held, finder, tracing)


def _tracing(endpoint: str) -> Tracing:
    """Spans for a receiver of OTLP over HTTP, none for "". Raises ToolcribError without the SDK."""
    if not endpoint:
        return Tracing()
    try:
        from app.team_server.spans import Spans
    except ImportError as error:
        hint = "Install it: pip install 'toolcrib[team,otel]'"
        raise ToolcribError("The OpenTelemetry SDK is missing.", hint) from error
    return Spans(endpoint)


def _read(
    given: Configuration, credentials: Credentials, caller: Caller, server: TeamServer
) -> int:
    """Read a server's tools with the caller's own sign-in; their number."""
    secrets = credentials.secrets(caller, server)
    organisation = caller.member.organisation_id
    return read_server(given, organisation, server.name, secrets, encoder=load_encoder())


class ReplicaServer(Server):
    """uvicorn's server, which lets a balancer know before it takes no more connections."""

    def __init__(self, config: Config, application: Application, drain_seconds: float) -> None:
        super().__init__(config)
        self._application = application
        self._drain_seconds = drain_seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """First signal: be not ready, then end once calls are answered; second: end at once."""
        if self._application.draining or not self._drain_seconds:
            super().handle_exit(sig, frame)
            return
        self._application.draining = True
        loop = asyncio.get_running_loop()
        end = super().handle_exit
        loop.call_soon_threadsafe(loop.call_later, self._drain_seconds, end, sig, frame)


def listen(address: str, port: int) -> socket.socket:
    """A listening socket; raises OSError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    own = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((address, port))
        own.listen(_MOST_CONNECTIONS)
    except OSError:
        own.close()
        raise
    return own


def serve(replica: Replica, own: socket.socket, *, drain_seconds: float = 0.0) -> None:
    """Serve until SIGTERM or SIGINT; every call under way gets its answer first."""
    asyncio.run(_serve(replica, own, drain_seconds))
    replica.close()


async def _serve(replica: Replica, own: socket.socket, drain_seconds: float) -> None:
    workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="team")
    asyncio.get_running_loop().set_default_executor(workers)
    config = bounded_config(
        replica.application,
        end_seconds=_LONGEST_END,
        most_connections=_MOST_CONNECTIONS,
        log_level="error",  # a malformed request is answered, and no news
    )
    server = ReplicaServer(config, replica.application, drain_seconds)
    for sig in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises a signal again once it has ended, which would skip what `serve` does then
        signal.signal(sig, server.handle_exit)
    await server.serve(sockets=[own])
