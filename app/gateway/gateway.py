"""One host's gateway: its profile, its way of serving, its journal; in whatever process."""

import math
import os
import threading

from app.core.errors import ToolcribError
from app.gateway.environment import GatewayEnvironment
from app.gateway.journal import Journal
from app.gateway.options import Options
from app.gateway.profile_view import ProfileView, UnavailableError
from app.gateway.project import ProjectRules
from app.gateway.serving.host import Host
from app.gateway.serving.loop import Loop
from app.gateway.serving.mode import GatewayContext, ServingMode
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.core.settings import Settings
    from app.gateway.telemetry import Telemetry
    from app.mcp.session import Upstream

_GRACE = 2.0  # seconds that a server has to exit after its stdin was closed


class Gateway:
    """Everything of one host's session: built here, given to the parts."""

    def __init__(
        self,
        options: Options,
        host: Host,
        environment: GatewayEnvironment,
        journal: Journal | None = None,
    ) -> None:
        self._options = options
        self._host = host
        self._environment = environment
        database, problem = _database(environment)
        folder = os.path.dirname(database)
        self._rules = ProjectRules(environment.project_folder, self._open_known_store)
        self._profile = ProfileView(
            database,
            options.profile,
            options.behind,
            problem=problem,
            rules=self._rules,
            clock=environment.clock,
        )
        self.journal = journal or Journal(
            self._open_store,
            profile=options.profile,
            session=os.urandom(6).hex(),
            keep=self._events_kept,
            hide=environment.scrubber.json,
            hide_all=environment.hide_all,
            folder=folder,
            telemetry=self._telemetry if folder else None,
        )
        self._context = GatewayContext(host, self._profile, self.journal, environment)
        self._mode: ServingMode | None = None
        self._closing = threading.Lock()
        self._closed = False

    @property
    def options(self) -> Options:
        """Options of the host's entry."""
        return self._options

    @property
    def host_name(self) -> str:
        """The host's own name for itself, "" until it has greeted."""
        return self.journal.host

    @property
    def can_sample(self) -> bool:
        """True if the host lets its model be asked, by requests of ours."""
        able = (self._context.hello.get("capabilities") or {}).get("sampling")
        return isinstance(able, dict) and not self._context.modern

    def _open_store(self):  # type: ignore[no-untyped-def]
        from store.connection import open_store
        from store.errors import StoreError

        if not self._profile.database:
            raise StoreError("There is no folder for the journal.")
        return open_store(self._profile.database)

    def _open_known_store(self):  # type: ignore[no-untyped-def]
        """A connection to a store that exists; looking for a policy makes none."""
        from store.errors import StoreError

        if not os.path.exists(self._profile.database):
            raise StoreError("There is no store yet.")
        return self._open_store()  # type: ignore[no-untyped-call]

    def _settings(self) -> "Settings":
        from app.core.settings import Settings

        return Settings.load(self._environment.paths().settings_file)

    def _telemetry(self) -> "Telemetry":
        from app.gateway.telemetry import Telemetry

        settings_file = os.path.join(os.path.dirname(self._profile.database), "settings.toml")
        return Telemetry(settings_file, self._settings)

    def _events_kept(self) -> int:
        from app.core.settings import Settings

        try:
            return max(1_000, self._settings().events_kept)
        except ToolcribError:  # which the window shows
            return Settings().events_kept

    def mode(self) -> ServingMode:
        """The way of serving; tried anew as long as the store cannot be read."""
        if self._mode is None or not self._mode.is_ready:
            try:
                self._profile.open()
                self._mode = self._make()
            except UnavailableError as error:
                from app.gateway.serving.unavailable import Unavailable

                self._mode = Unavailable(self._context, self._options.server, str(error))
        return self._mode

    def _make(self) -> ServingMode:
        name = self._options.server
        if name:
            from app.gateway.serving.pruned import Pruned

            row = self._profile.servers.get(name)
            if row is None and not self._options.command:
                raise UnavailableError(
                    f"Toolcrib's profile {self._options.profile} has no server called {name}."
                    " Export the host's file again."
                )
            return Pruned(self._context, name, self._options.command)
        from app.gateway.serving.through import Through

        return Through(self._context)

    def run(self, lines: "Iterable[bytes]") -> None:
        """Serve until the host closes its end."""
        Loop(self._context, self.mode, self._rules).run(lines)

    def upstreams(self) -> "list[Upstream]":
        """The servers that this host has needed so far."""
        return self._mode.upstreams() if self._mode is not None else []

    def tick(self) -> None:
        """Once a second: notice servers that are gone and what the window changed."""
        if self._mode is None:
            return
        try:
            self._mode.tick()
            minutes = self._profile.setting("server_idle_minutes", 0)
            patience = minutes * 60.0 if type(minutes) is int and minutes > 0 else math.inf
            for upstream in self._mode.upstreams():
                upstream.check()
                row = self._profile.servers.get(upstream.name)
                if row is not None and row.disabled and upstream.started:
                    upstream.stop()
                upstream.rest(math.inf if self._mode.watches(upstream) else patience)
        except Exception as error:  # noqa: BLE001 - the clock that calls this must not stop
            self.journal.add("error", problem=f"Once a second: {error!r}"[:300])

    def close(self) -> None:
        """End every server of this host alone, write what the journal holds; only once."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._host.abandon()  # a shared server lives on
            if self._mode is not None:
                upstreams = self._mode.upstreams()
                if upstreams:
                    from app.mcp.session import close_all

                    close_all(upstreams, _GRACE)
            self._context.close()
            self.journal.close()


def _database(environment: GatewayEnvironment) -> tuple[str, str]:
    """The store's file; else "" and why there is none."""
    try:
        return environment.database, ""
    except ToolcribError as error:
        return "", error.text
