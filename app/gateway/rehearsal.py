"""Present answers of a gateway to a host, byte for byte: no server is started, nothing noted."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from app.core.errors import ToolcribError
from app.gateway.environment import GatewayEnvironment
from app.gateway.gateway import Gateway
from app.gateway.journal import Journal
from app.gateway.menu.naming import Way, left_out, way_of
from app.gateway.menu.suggesting import HookRequest
from app.gateway.options import Options
from app.gateway.serving.host import Host
from app.gateway.serving.through import Through
from app.mcp import jsonrpc
from app.mcp.protocol import HANDSHAKE

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder
    from app.hooks.small_talk import SmallTalk
    from app.hooks.suggestion import Suggestion
    from store.serving import ServerRow

_LIST, _SEARCH = 2, 3  # ids of the requests whose answers are wanted
_ENCODER_SECONDS = 30.0  # the encoder is loaded already; what is made of it takes a moment


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The answers of one conversation; "" where nothing was answered."""

    tools: str  # the result of tools/list, as JSON
    search: str  # the text that search_tools answers to the query


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Effect of a hook's list form on a request."""

    made: "Suggestion"  # the tools that were chosen, or why the list stays whole
    off: tuple[str, ...] = ()  # the host's names of the tools that are left out


class _CapturingHost(Host):
    """A host that keeps its messages."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.lines: dict[object, bytes] = {}

    def send_line(self, line: bytes) -> None:
        self.lines[json.loads(line).get("id")] = line


class _NullJournal(Journal):
    """A journal for what never happened."""

    def add(self, kind: str, **fields: object) -> None:
        """Forget it."""


class _Closed(GatewayEnvironment):
    """A store and an encoder; no server can be started from here."""

    def __init__(
        self, database: str, encoder: "Encoder | None", small_talk: "SmallTalk | None" = None
    ) -> None:
        super().__init__()
        self._database, self._encoder, self._small_talk = database, encoder, small_talk

    @property
    def database(self) -> str:
        """The store's file."""
        return self._database

    def launcher(self, row: "ServerRow | None", command: Sequence[str]) -> Callable:  # type: ignore[type-arg] # noqa: ARG002
        """Refuses."""

        def refuse() -> None:
            raise ToolcribError("Servers are not started for a preview.")

        return refuse

    def load_encoder(self) -> "Encoder | None":
        """Return the loaded one."""
        return self._encoder

    def load_small_talk(self, encoder: "Encoder") -> "SmallTalk":
        """Return the loaded one, or load it."""
        return self._small_talk or super().load_small_talk(encoder)


def rehearse(
    database: str,
    profile: str,
    *,
    server: str = "",
    behind: Sequence[str] | None = None,
    query: str = "",
    encoder: "Encoder | None" = None,
) -> Rehearsal:
    """The tools that a host would get of a profile (of one server, or of those `behind` its entry,
    where they are named), and what a search for `query` would answer.

    Raises ToolcribError where the store cannot be served.
    """
    host = _CapturingHost()
    journal = _NullJournal(_no_store, profile=profile, session="")
    options = Options(profile, server, (), behind)
    gateway = Gateway(options, host, _Closed(database, encoder), journal)
    try:
        mode = gateway.mode()
        gateway.run(_lines(""))
        if query and isinstance(mode, Through):
            mode.menu.prepare(_ENCODER_SECONDS)
            gateway.run(_lines(query))
    finally:
        gateway.close()
    content = json.loads(host.lines.get(_SEARCH, b"{}")).get("result", {}).get("content", [{}])
    return Rehearsal(_result(host.lines.get(_LIST, b"")), str(content[0].get("text", "")))


def rehearse_hook(
    database: str,
    profile: str,
    *,
    host: str,
    prompt: str,
    encoder: "Encoder | None" = None,
    small_talk: "SmallTalk | None" = None,
) -> "Suggestion":
    """Suggestion of this host's hook for the first prompt of a conversation, were the host
    connected as its exports say; "" is any host that goes through Toolcrib. Raises ToolcribError
    where the store cannot be served."""
    from app.hooks.suggestion import NOT_CONNECTED, SENT_ALL, Suggestion

    way = way_of(database, host) if host else Way(through=True)
    if way is None:
        return Suggestion(silence=NOT_CONNECTED)
    if not way.through and way.names is None:
        return Suggestion(silence=SENT_ALL)
    given = HookRequest(prompt, host, "", _ENCODER_SECONDS)
    environment = _Closed(database, encoder, small_talk)
    return _suggested(environment, profile, way, given).made


def rehearse_list(
    database: str,
    profile: str,
    *,
    host: str,
    prompt: str,
    encoder: "Encoder | None",
    small_talk: "SmallTalk | None" = None,
) -> Narrowed:
    """Tools that the list form of this host's hook would leave out of a conversation's
    first request. Raises ToolcribError where the store cannot be served."""
    from app.hooks.suggestion import NOT_CONNECTED, THROUGH_ALREADY, Suggestion

    way = way_of(database, host, listed=True)
    if way is None or way.names is None:
        return Narrowed(Suggestion(silence=THROUGH_ALREADY if way else NOT_CONNECTED))
    given = HookRequest(prompt, host, "", _ENCODER_SECONDS, listed=True)
    return _suggested(_Closed(database, encoder, small_talk), profile, way, given)


def _suggested(environment: _Closed, profile: str, way: Way, given: HookRequest) -> Narrowed:
    """Suggestion of the menu of a host's servers, and what its list form leaves out."""
    from app.hooks.suggestion import NOT_CONNECTED, Suggestion

    journal = _NullJournal(_no_store, profile=profile, session="")
    gateway = Gateway(Options(profile, "", (), way.behind), _CapturingHost(), environment, journal)
    try:
        mode = gateway.mode()
        if not isinstance(mode, Through):
            return Narrowed(Suggestion(silence=NOT_CONNECTED))
        made = mode.menu.suggest(given, way.names)
        off = left_out(mode.view, way.names, made) if given.listed and way.names else ()
        return Narrowed(made, tuple(off))
    finally:
        gateway.close()


def _lines(query: str) -> list[bytes]:
    """A host's side: the greeting and the list, or one search."""
    if query:
        call = {"name": "search_tools", "arguments": {"query": query}}
        return [_request(_SEARCH, "tools/call", call)]
    greeting = {
        "protocolVersion": HANDSHAKE[-1],
        "capabilities": {},
        "clientInfo": {"name": "preview", "version": "1"},
    }
    return [_request(1, "initialize", greeting), _request(_LIST, "tools/list", {})]


def _request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    return jsonrpc.dump(jsonrpc.request(method, dict(params), number))


def _result(line: bytes) -> str:
    """The result's text as it is in the answer's line."""
    mark = b'"result":'
    at = line.find(mark)
    return line[at + len(mark) : -1].decode("utf-8", "replace") if at >= 0 else ""


def _no_store() -> NoReturn:
    raise ToolcribError("A preview writes nothing.")
