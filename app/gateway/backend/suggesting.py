"""Hooks that ask the backend what to add to a prompt: which session answers, and how.

A host that is connected through Toolcrib is answered by its own session: its profile, its state,
its loop guard. For any other, a session without a host decides by what the store says.
"""

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from app.gateway.backend.hello import Hello
from app.gateway.backend.pool import Pool
from app.gateway.backend.session import Session
from app.gateway.gateway import Gateway
from app.gateway.menu.naming import Way, left_out, way_of
from app.gateway.menu.suggesting import HookRequest
from app.gateway.options import Options
from app.gateway.serving.host import Host
from app.gateway.serving.through import Through
from store.typed import Json, object_or_empty

if TYPE_CHECKING:
    from app.gateway.backend.web.session import WebSession
    from app.hooks.suggestion import Suggestion

SUGGEST = "suggest"
_LIST = "list"  # the form of a hook that leaves tools out of the host's list
_TWICE_SECONDS = 3.0  # within which the same prompt in the same folder is one prompt
_WAIT_SHARE = 0.6  # of the hook's time, for an encoder that is being loaded
_REMEMBERED = 64
_STARTING_SECONDS = 30.0  # in which a host may not have started its gateway yet
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "cmd", "powershell", "pwsh")  # that run a hook
_GENERATIONS = 6  # processes between a hook and its host: shells, wrappers


class Suggestions:
    """Answers hooks; made once a backend."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        # by profile and servers, for hosts that are not connected
        self._gateways: dict[tuple[str, tuple[str, ...] | None], Gateway] = {}
        self._prompts: OrderedDict[tuple[int, str], tuple[float, str]] = OrderedDict()

    def answer(self, hello: Hello, sessions: "Sequence[Session | WebSession]") -> Json:
        """Answer for the hook that greeted: `text` to add to its prompt, or `why` there is none."""
        fields = _request(hello)
        host, prompt = str(fields.get("host", "")), str(fields.get("prompt", ""))
        if self._is_second(prompt, hello.folder, host):
            return _silent("twice")
        seconds = float(fields.get("seconds") or 0.0) * _WAIT_SHARE
        listed = fields.get("form") == _LIST
        given = HookRequest(
            prompt, host, f"{host} {fields.get('conversation', '')}", seconds, listed
        )
        if listed:
            return self._narrowed(given, str(fields.get("profile") or "default"), hello)
        session = _session_of(hello.parent, sessions)
        if session is not None and isinstance(mode := session.gateway.mode(), Through):
            return _json(mode.menu.suggest(given))
        way = self._way(host, hello)
        if way is None or (way.through and not _is_starting(hello.parent)):
            return _silent("not connected")
        if not way.through and way.names is None:
            return _silent("sent all")
        mode = self._gateway(str(fields.get("profile") or "default"), way, hello).mode()
        if not isinstance(mode, Through):
            return _silent("not connected")
        return _json(mode.menu.suggest(given, way.names))

    def _narrowed(self, given: HookRequest, profile: str, hello: Hello) -> Json:
        """Tools that a host leaves out of its list for a prompt: `off`, or `why` there are none."""
        way = self._way(given.host, hello, listed=True)
        if way is None:
            return _silent("not connected")
        if way.names is None:
            return _silent("through already")
        mode = self._gateway(profile, way, hello).mode()
        if not isinstance(mode, Through):
            return _silent("not connected")
        made = mode.menu.suggest(given, way.names)
        return {**_json(made), "off": left_out(mode.view, way.names, made)}

    def tick(self) -> None:
        """Once a second."""
        for gateway in list(self._gateways.values()):
            gateway.tick()

    def close(self) -> None:
        """Write what their journals hold."""
        for gateway in list(self._gateways.values()):
            gateway.close()

    def _way(self, host: str, hello: Hello, *, listed: bool = False) -> Way | None:
        """The host's way; None where it is not known, or the store cannot be read."""
        from app.core.errors import ToolcribError
        from store.errors import StoreError

        try:
            database = self._pool.environment(0, hello).database
            return way_of(database, host, listed=listed) if os.path.exists(database) else None
        except (ToolcribError, StoreError):
            return None

    def _gateway(self, profile: str, way: Way, hello: Hello) -> Gateway:
        key = profile, way.behind
        with self._lock:
            gateway = self._gateways.get(key)
            if gateway is None:
                silent = Host(os.open(os.devnull, os.O_WRONLY))
                environment = self._pool.environment(0, hello)
                gateway = self._gateways[key] = Gateway(
                    Options(profile, "", (), way.behind), silent, environment
                )
            return gateway

    def _is_second(self, prompt: str, folder: str, host: str) -> bool:
        """True if another host's hook asked about this very prompt a moment ago.

        VS Code runs the hooks of Claude Code and of Copilot as well as its own.
        """
        key, now = (hash(prompt), folder), time.monotonic()
        with self._lock:
            at, first = self._prompts.get(key, (float("-inf"), host))
            if now - at < _TWICE_SECONDS and first != host:
                return True
            self._prompts[key] = (now, host)
            self._prompts.move_to_end(key)
            while len(self._prompts) > _REMEMBERED:
                self._prompts.popitem(last=False)
        return False


def _request(hello: Hello) -> Json:
    try:
        fields = json.loads(hello.words[1])
    except (IndexError, ValueError):
        return {}
    return object_or_empty(fields)


def _json(made: "Suggestion") -> Json:
    return {"text": made.text, "why": made.why, "tools": list(made.tools)}


def _silent(kind: str) -> Json:
    from app.hooks.suggestion import SILENCES

    return {"text": "", "why": SILENCES[kind], "tools": []}


def _session_of(
    pid: int, sessions: "Sequence[Session | WebSession]"
) -> "Session | WebSession | None":
    """The session through Toolcrib of the host that started this process, the newest first."""
    above = set(_ancestors(pid))
    for session in reversed(sessions):
        options = session.gateway.options
        if not options.server and session.hello.parent in above:
            return session
    return None


def _is_starting(pid: int) -> bool:
    """True if the host that runs the hook has only just begun.

    Its first prompt may come before it has started the gateway, whose menu its first request then
    has all the same (opencode run: 1.5 s).
    """
    import psutil

    try:
        for above in _ancestors(pid):
            process = psutil.Process(above)
            if process.name().removesuffix(".exe") not in _SHELLS:
                return time.time() - process.create_time() < _STARTING_SECONDS
    except psutil.Error:
        pass
    return False


def _ancestors(pid: int) -> Iterable[int]:
    """The process and those above it; init is none."""
    import psutil

    for _ in range(_GENERATIONS):
        if pid <= 1:
            return
        yield pid
        try:
            pid = psutil.Process(pid).ppid()
        except psutil.Error:
            return
