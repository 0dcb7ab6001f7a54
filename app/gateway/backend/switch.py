"""The HTTP endpoint as the settings want it: looked at each second, started and stopped here."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.core.errors import ToolcribError
from app.gateway.backend.hello import Hello
from app.gateway.backend.rendezvous import build_id
from app.gateway.environment import GatewayEnvironment
from app.system.threads import start_thread
from store.typed import Json

if TYPE_CHECKING:
    from app.core.paths import Paths
    from app.gateway.backend.web.server import WebServer
    from app.gateway.backend.web.session import WebSession

_AGAIN_SECONDS = 5  # ticks between two tries for a port that another program has
_BUILD_SECONDS = 60  # ticks between two looks at whether a newer build was installed
_MOMENT = 0.2  # seconds of a tick that the keychain has to answer
_PATIENCE = 3  # ticks, after which a silent keychain is named as the reason
_SILENT = "The system's keychain does not answer; it may have to be unlocked."


class _Secret:
    """The endpoint's secret, read on a thread of its own: a keychain may hang."""

    def __init__(self, port: int) -> None:
        self.port = port  # to listen on with it
        self.looks = 0
        self._answer: str | Exception = ToolcribError("The endpoint's secret cannot be read.")
        self._thread = start_thread(self._read)

    def _read(self) -> None:
        from app.system.endpoint import endpoint_secret

        try:
            self._answer = endpoint_secret(_paths())
        except (ToolcribError, OSError) as error:
            self._answer = error

    def is_here(self) -> bool:
        """True once it was read, or could not be."""
        self.looks += 1
        self._thread.join(_MOMENT)
        return not self._thread.is_alive()

    def value(self) -> str:
        """The secret; raises the error of its reading."""
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class HttpSwitch:
    """Belongs to the backend's clock; only `status` and `sessions` are for other threads."""

    def __init__(
        self,
        environment: Callable[[int, Hello], GatewayEnvironment],
        number: Callable[[], int],
        build: str,
    ) -> None:
        self._environment = environment
        self._number = number
        self._build = build
        self._stamp: object = None  # what the settings file looked like
        self._serving: tuple[bool, int] | None = None  # on or off and the port, as it was taken in
        self._ticks = 0
        self._old = False  # a newer build is installed: it shall have the port
        self._server: WebServer | None = None
        self._secret: _Secret | None = None  # what listening waits for
        self._is_on = self._stays = False
        self._problem = ""

    @property
    def holds(self) -> bool:
        """True if the process must stay: for clients of HTTP, or by the user's word."""
        return self._stays and not self._old

    def sessions(self) -> "Sequence[WebSession]":
        """The conversations over HTTP."""
        server = self._server
        return server.sessions.all() if server is not None else ()

    def status(self) -> Json:
        """On or off, the port, and why nothing listens."""
        server = self._server
        return {
            "on": self._is_on,
            "wanted": self._serving[1] if self._serving else 0,
            "port": server.port if server is not None else 0,
            "problem": self._problem,
            "sessions": len(self.sessions()),
        }

    def renew(self) -> None:
        """The secret is another one: the next tick listens anew, and ends what goes on."""
        self._serving = None

    def tick(self) -> None:
        """Once a second."""
        self._ticks += 1
        if self._ticks % _BUILD_SECONDS == 0 and self._stays:
            self._old = build_id() != self._build
        if self._server is not None:
            self._server.sessions.tick()
            if self._old and not self._server.sessions.all():
                self.close()
        failed = bool(self._problem) and self._secret is None
        retry = failed and self._ticks % _AGAIN_SECONDS == 0
        if retry or self._serving is None or self._is_rewritten():
            self._follow()
        if self._secret is not None:
            self._listen(self._secret)

    def close(self) -> None:
        """Stop listening."""
        server, self._server, self._secret = self._server, None, None
        if server is not None:
            server.close()

    def _is_rewritten(self) -> bool:
        stamp = _stamp(str(_paths().settings_file))
        changed, self._stamp = stamp != self._stamp, stamp
        return changed

    def _follow(self) -> None:
        """Listen as the settings want; a reason to listen no more is kept for `status`."""
        from app.core.settings import Settings

        try:
            settings = Settings.load(_paths().settings_file)
        except ToolcribError as error:  # its earlier state holds on
            self._problem = error.title
            return
        self._is_on, self._stays = settings.http, settings.http or settings.at_login
        wanted = (settings.http, settings.http_port)
        if wanted == self._serving and not self._problem:
            return
        self._serving, self._problem = wanted, ""
        self.close()
        if settings.http and not self._old:
            self._secret = _Secret(settings.http_port)

    def _listen(self, secret: _Secret) -> None:
        """Listen once the secret is there."""
        if not secret.is_here():
            if secret.looks > _PATIENCE:
                self._problem = _SILENT
            return
        self._secret, self._problem = None, ""
        try:
            self._server = self._web_server(secret.value(), secret.port)
        except ToolcribError as error:
            self._problem = error.title
        except (OSError, OverflowError) as error:
            self._problem = f"Port {secret.port} cannot be used: {error}."
        except ImportError as error:
            self._problem = f"The HTTP server is not installed: {error}."

    def _web_server(self, secret: str, port: int) -> "WebServer":
        from app.gateway.backend.web.server import WebServer
        from app.gateway.backend.web.sessions import WebSessions

        home = os.path.expanduser("~")
        sessions = WebSessions(self._environment, self._number, dict(os.environ), home)
        return WebServer(sessions, secret, port)


def _paths() -> "Paths":
    from app.core.paths import Paths

    return Paths.default()


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino
