"""Prompts, resources and the rest of several servers as one, under names that tell them apart."""

import re
import threading
from collections.abc import Callable, Iterable

from app.gateway.menu.results import SCHEME, Results
from app.gateway.server_lists import ListRequest
from app.gateway.serving.mode import ServingMode
from app.gateway.serving.names import visible_names
from app.mcp.listing import read_all
from app.mcp.protocol import INVALID_PARAMS, LISTS, RESOURCE_NOT_FOUND, params_of
from app.mcp.session import Upstream
from store.serving import ServerRow
from store.typed import Json, object_or_empty

_SHARED = ("prompts", "resources", "logging", "completions")
_TEMPLATES = "resources/templates/list"
_ANSWERS = "resources/read", "resources/subscribe", "resources/unsubscribe"


def capabilities(servers: Iterable[Json]) -> Json:
    """Capabilities of several servers together; tools are always there."""
    merged: Json = {"tools": {}}
    for one in servers:
        for part in _SHARED:
            if isinstance(one.get(part), dict):
                merged.setdefault(part, {})
                merged[part] |= {k: v for k, v in one[part].items() if v}
    return merged


class Merged:
    """Routes everything but tools to the servers it belongs to."""

    def __init__(
        self,
        mode: ServingMode,
        usable: Callable[[], list[ServerRow]],
        upstream: Callable[[str], Upstream],
        results: Callable[[], Results],
    ) -> None:
        """Rows of the servers that may be used; one by its name; kept results."""
        self._mode = mode
        self._usable = usable
        self._upstream = upstream
        self._results = results
        self._context = mode.context
        self.declared: Json = {}  # capabilities in the answer to initialize
        self._generation = -1
        self._lock = threading.Lock()
        self._stored: dict[str, dict[str, list[Json]]] = {}  # server -> method -> entries
        self._live: dict[str, dict[str, list[Json]]] = {}  # the same of lists that were read here
        self._stale: set[tuple[str, str]] = set()  # (server, method) announced as changed
        self._prompts: dict[str, tuple[str, str]] = {}  # visible name -> (server, prompt)
        self._uris: dict[str, tuple[str, str]] = {}  # visible URI -> (server, URI)
        self._templates: list[tuple[UriTemplate, str]] = []

    # ---- requests

    def request(self, line: bytes, message: Json) -> None:
        """Send a request to the server it belongs to, or answer a list from all of them."""
        method = message["method"]
        if method in LISTS:
            self._list(message)
        elif method == "prompts/get":
            self._prompt(message)
        elif method in _ANSWERS:
            self._resource(line, message)
        elif method == "completion/complete":
            self._complete(message)
        elif method == "logging/setLevel":
            self._mode.set_level(str(params_of(message).get("level", "")))
            self._mode.reply(message, {})
        else:
            self._mode.refuse_method(message)

    def _list(self, message: Json) -> None:
        method = message["method"]
        part = method.partition("/")[0]
        owners = [r for r in self._usable() if isinstance(r.capabilities.get(part), dict)]
        if not owners and part not in self.declared:
            self._mode.refuse_method(message)
            return
        if method == _TEMPLATES and len(owners) == 1 and not self._entries(method):
            upstream = self._upstream(owners[0].name)  # many refuse it: stored as none
            lists = self._context.server_lists
            self._context.forwarder.send(ListRequest(upstream, b"", message, owners[0], lists))
            return
        stale = [
            upstream
            for upstream in self._mode.upstreams()
            if upstream.started and (upstream.name, method) in self._stale
        ]

        def done(lists: dict[str, list[Json] | None]) -> None:
            for server, items in lists.items():
                self._stale.discard((server, method))
                if items is not None:
                    self._keep(server, method, items)
            self._index()
            self._mode.reply(message, {LISTS[method]: self._entries(method)})

        read_all(stale, method, done)

    def _keep(self, server: str, method: str, items: list[Json]) -> None:
        """Keep a live list; not one that comes late, of a server that may be used no more."""
        row = self._context.view.servers.get(server)
        shown = self._context.server_lists.shown(row, method, items) if row is not None else []
        with self._lock:
            if server in {one.name for one in self._usable()}:
                self._live.setdefault(server, {})[method] = shown

    def _lists(self, method: str) -> dict[str, list[Json]]:
        """Every server's entries, live where a live list was read."""
        with self._lock:
            if self._generation != self._context.view.generation:
                self._generation = self._context.view.generation
                rows = self._usable()
                self._stored = {row.name: self._context.view.lists(row) for row in rows}
                self._live = {row.name: self._live.get(row.name, {}) for row in rows}
            return {
                server: self._live[server].get(method, lists[method])
                for server, lists in self._stored.items()
            }

    def _index(self) -> None:
        """Visible names and URIs of everything listed."""
        prompts = [
            (server, str(item.get("name")))
            for server, items in self._lists("prompts/list").items()
            for item in items
        ]
        alone = len({server for server, _ in prompts}) < 2 and len(self._usable()) < 2
        plain = {name: (server, name) for server, name in prompts}
        self._prompts = plain if alone else visible_names(prompts)
        self._uris = {}
        for server, items in self._lists("resources/list").items():
            for item in items:
                uri = str(item.get("uri"))
                taken = self._uris.get(uri)
                shown = uri if taken is None or taken[0] == server else _own_uri(server, uri)
                self._uris[shown] = (server, uri)
        self._templates = [
            (UriTemplate(str(item.get("uriTemplate"))), server)
            for server, items in self._lists("resources/templates/list").items()
            for item in items
        ]

    def _entries(self, method: str) -> list[Json]:
        entries = [
            (server, item) for server, items in self._lists(method).items() for item in items
        ]
        if method == "prompts/list":
            shown = {pair: name for name, pair in self._prompts.items()}
            return [{**i, "name": shown[s, str(i.get("name"))]} for s, i in entries]
        if method == "resources/list":
            uris = {pair: uri for uri, pair in self._uris.items()}
            return [
                {**i, "uri": uris.get((s, str(i.get("uri"))), i.get("uri"))} for s, i in entries
            ]
        return [item for _, item in entries]

    def _prompt(self, message: Json) -> None:
        params = params_of(message)
        self._index()
        owner = self._prompts.get(str(params.get("name")))
        if owner is None:
            self._mode.refuse(message, INVALID_PARAMS, f"Unknown prompt: {params.get('name')}")
            return
        server, name = owner
        self._forward(server, {**message, "params": {**params, "name": name}})

    def _resource(self, line: bytes, message: Json) -> None:
        params = params_of(message)
        uri = str(params.get("uri"))
        if uri.startswith(SCHEME):
            self._kept(message, uri)
            return
        owner = self._owner(uri)
        if owner is None:
            self._not_found(message, uri)
            return
        server, own_uri = owner
        upstream = self._upstream(server)
        if own_uri != uri:
            line, message = b"", {**message, "params": {**params, "uri": own_uri}}
        if message["method"] == "resources/read":
            self._context.forwarder.forward(upstream, line, message)
        else:
            self._mode.subscribe(upstream, line, message)

    def watch(self, uri: str) -> None:
        """Subscribe at the server that a resource belongs to, for a stateless host."""
        owner = self._owner(uri)
        if owner is not None:
            self._mode.watch_at(self._upstream(owner[0]), owner[1])

    def _not_found(self, message: Json, uri: str) -> None:
        text = f"Resource not found: {uri}"
        self._mode.refuse(message, RESOURCE_NOT_FOUND, text, {"uri": uri})

    def _kept(self, message: Json, uri: str) -> None:
        piece = self._results().read(uri.removeprefix(SCHEME))
        if message["method"] != "resources/read" or piece is None:
            self._not_found(message, uri)
            return
        content = {"uri": uri, "mimeType": "text/plain", "text": piece[0]}
        self._mode.reply(message, {"contents": [content]})

    def _owner(self, uri: str) -> tuple[str, str] | None:
        """The server that a URI belongs to: by its list, its templates, its scheme."""
        self._index()
        if uri in self._uris:
            return self._uris[uri]
        for template, server in self._templates:
            if template.matches(uri):
                return server, uri
        rows = [r for r in self._usable() if isinstance(r.capabilities.get("resources"), dict)]
        scheme = uri.partition(":")[0]
        same = {
            server for shown, (server, _) in self._uris.items() if shown.startswith(scheme + ":")
        }
        if len(same) == 1:
            return same.pop(), uri
        return (rows[0].name, uri) if len(rows) == 1 else None

    def _complete(self, message: Json) -> None:
        params = params_of(message)
        reference = object_or_empty(params.get("ref"))
        self._index()
        if reference.get("type") == "ref/prompt":
            prompt = self._prompts.get(str(reference.get("name")))
            if prompt is not None:
                named = {**reference, "name": prompt[1]}
                self._forward(prompt[0], {**message, "params": {**params, "ref": named}})
                return
        else:
            owner = self._owner(str(reference.get("uri")))
            templates = self._lists("resources/templates/list")
            servers = [
                server
                for server, items in templates.items()
                if any(item.get("uriTemplate") == reference.get("uri") for item in items)
            ]
            if servers or owner:
                self._forward(servers[0] if servers else owner[0] if owner else "", message)
                return
        self._mode.refuse(message, INVALID_PARAMS, "Unknown reference")

    def _forward(self, server: str, message: Json) -> None:
        self._context.forwarder.forward(self._upstream(server), b"", message)

    # ---- what servers say

    def renamed(self, upstream: Upstream, message: Json) -> Json:
        """A server's notification with the names that the host knows."""
        method, params = message.get("method"), params_of(message)
        if method == "notifications/message":
            logger = params.get("logger")
            name = f"{upstream.name}/{logger}" if logger else upstream.name
            return {**message, "params": {**params, "logger": name}}
        if method == "notifications/resources/updated":
            shown = {pair: uri for uri, pair in self._uris.items()}
            uri = shown.get((upstream.name, str(params.get("uri"))))
            if uri is not None and uri != params.get("uri"):
                return {**message, "params": {**params, "uri": uri}}
        if method == "notifications/prompts/list_changed":
            self._stale.add((upstream.name, "prompts/list"))
        elif method == "notifications/resources/list_changed":
            self._stale |= {
                (upstream.name, "resources/list"),
                (upstream.name, "resources/templates/list"),
            }
        return message


def _own_uri(server: str, uri: str) -> str:
    scheme = re.sub(r"[^a-z0-9]", "-", server.lower())
    return f"toolcrib+{scheme}:{uri}"


class UriTemplate:
    """URIs that a URI template (RFC 6570) can become, loosely; compared in linear time."""

    __slots__ = ("_parts",)

    def __init__(self, template: str) -> None:
        self._parts = re.split(r"\{[^{}]{0,400}\}", template)

    def matches(self, uri: str) -> bool:
        """True if the URI has the template's fixed parts in their order."""
        first, *rest = self._parts
        if not rest:
            return uri == first
        *middle, last = rest
        end = len(uri) - len(last)
        if not uri.startswith(first) or not uri.endswith(last) or end < len(first):
            return False
        position = len(first)
        for part in middle:
            place = uri.find(part, position, end)
            if place < 0:
                return False
            position = place + len(part)
        return True
