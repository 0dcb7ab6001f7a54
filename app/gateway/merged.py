"""Prompts, resources and the rest of several servers as one, under names that tell them apart."""

import re
from collections.abc import Iterable

from app.gateway import results, wire
from app.gateway.listing import Listing, read_all
from app.gateway.names import visible_names
from app.gateway.protocol import INVALID_PARAMS, LISTS, RESOURCE_NOT_FOUND, Json, params_of
from app.gateway.upstream import Upstream
from store.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.gateway.through import Through

_SHARED = ("prompts", "resources", "logging", "completions")
_ANSWERS = "resources/read", "resources/subscribe", "resources/unsubscribe"


def capabilities(found: Iterable[Json]) -> Json:
    """What several servers can do together; tools are always there."""
    merged: Json = {"tools": {}}
    for one in found:
        for part in _SHARED:
            if isinstance(one.get(part), dict):
                merged.setdefault(part, {})
                merged[part] |= {k: v for k, v in one[part].items() if v}
    return merged


class Merged:
    """Routes everything but tools to the servers it belongs to."""

    def __init__(self, front: "Through") -> None:
        self._front = front
        self._links = front.links
        self._generation = -1
        self._stored: dict[str, dict[str, list[Json]]] = {}  # method -> server -> entries
        self._live: dict[str, dict[str, list[Json]]] = {}
        self._stale: set[tuple[str, str]] = set()  # (server, method) announced as changed
        self._prompts: dict[str, tuple[str, str]] = {}  # visible name -> (server, prompt)
        self._uris: dict[str, tuple[str, str]] = {}  # visible URI -> (server, URI)
        self._templates: list[tuple[re.Pattern[str], str]] = []

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
            self._front.set_level(str(params_of(message).get("level", "")))
            self._front.reply(message, {})
        else:
            self._front.refuse_method(message)

    def _list(self, message: Json) -> None:
        method = message["method"]
        stale = [
            upstream
            for upstream in self._front.upstreams()
            if upstream.started and (upstream.name, method) in self._stale
        ]

        def done(found: dict[str, list[Json] | None]) -> None:
            for server, items in found.items():
                self._stale.discard((server, method))
                if items is not None:
                    self._live.setdefault(method, {})[server] = items
            self._index()
            self._front.reply(message, {LISTS[method]: self._entries(method)})

        read_all(stale, method, done)

    def _lists(self, method: str) -> dict[str, list[Json]]:
        """Every server's entries, live where a live list was read."""
        if self._generation != self._front.shelf.generation:
            self._generation = self._front.shelf.generation
            self._stored = {}
            for row in self._front.usable():
                for key, items in self._front.shelf.lists(row).items():
                    self._stored.setdefault(key, {})[row.name] = items
        return {**self._stored.get(method, {}), **self._live.get(method, {})}

    def _index(self) -> None:
        """Visible names and URIs of everything listed."""
        prompts = [
            (server, str(item.get("name")))
            for server, items in self._lists("prompts/list").items()
            for item in items
        ]
        alone = len({server for server, _ in prompts}) < 2 and len(self._front.usable()) < 2
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
            (_pattern(str(item.get("uriTemplate"))), server)
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
        found = self._prompts.get(str(params.get("name")))
        if found is None:
            self._refuse(message, INVALID_PARAMS, f"Unknown prompt: {params.get('name')}")
            return
        server, name = found
        self._forward(server, {**message, "params": {**params, "name": name}})

    def _resource(self, line: bytes, message: Json) -> None:
        params = params_of(message)
        uri = str(params.get("uri"))
        if uri.startswith(results.SCHEME):
            self._kept(message, uri)
            return
        found = self._owner(uri)
        if found is None:
            self._refuse(message, RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})
            return
        server, own_uri = found
        upstream = self._front.upstream(server)
        if own_uri != uri:
            line, message = b"", {**message, "params": {**params, "uri": own_uri}}
        if message["method"] == "resources/read":
            self._links.forwarder.forward(upstream, line, message)
        else:
            self._front.subscribe(upstream, line, message)

    def watch(self, uri: str) -> None:
        """Subscribe at the server that a resource belongs to, for a stateless host."""
        found = self._owner(uri)
        if found is not None:
            self._front.watch_at(self._front.upstream(found[0]), found[1])

    def _kept(self, message: Json, uri: str) -> None:
        found = self._front.caller.results.read(uri.removeprefix(results.SCHEME))
        if message["method"] != "resources/read" or found is None:
            self._refuse(message, RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})
            return
        content = {"uri": uri, "mimeType": "text/plain", "text": found[0]}
        self._front.reply(message, {"contents": [content]})

    def _owner(self, uri: str) -> tuple[str, str] | None:
        """The server that a URI belongs to: by its list, its templates, its scheme."""
        self._index()
        if uri in self._uris:
            return self._uris[uri]
        for pattern, server in self._templates:
            if pattern.fullmatch(uri):
                return server, uri
        rows = [
            r for r in self._front.usable() if isinstance(r.capabilities.get("resources"), dict)
        ]
        scheme = uri.partition(":")[0]
        same = {
            server for shown, (server, _) in self._uris.items() if shown.startswith(scheme + ":")
        }
        if len(same) == 1:
            return same.pop(), uri
        return (rows[0].name, uri) if len(rows) == 1 else None

    def _complete(self, message: Json) -> None:
        params = params_of(message)
        reference = params.get("ref")
        reference = reference if isinstance(reference, dict) else {}
        self._index()
        if reference.get("type") == "ref/prompt":
            found = self._prompts.get(str(reference.get("name")))
            if found is not None:
                named = {**reference, "name": found[1]}
                self._forward(found[0], {**message, "params": {**params, "ref": named}})
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
        self._refuse(message, INVALID_PARAMS, "Unknown reference")

    def _forward(self, server: str, message: Json) -> None:
        self._links.forwarder.forward(self._front.upstream(server), b"", message)

    def _refuse(self, message: Json, code: int, text: str, data: Any = None) -> None:
        self._links.host.respond(message["id"], wire.error(message["id"], code, text, data))

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

    def started(self, upstream: Upstream) -> None:
        """A server has just been started; see whether its tools are still those of the store."""
        self.reread(upstream)

    def reread(self, upstream: Upstream) -> None:
        """Read a running server's tools again and take in what is new."""
        row = self._front.shelf.servers.get(upstream.name)
        if row is None:
            return

        def done(items: list[Json] | None) -> None:
            if items:
                self._front.take_in(row, items)

        Listing(upstream, "tools/list", done).start()


def _own_uri(server: str, uri: str) -> str:
    scheme = re.sub(r"[^a-z0-9]", "-", server.lower())
    return f"toolcrib+{scheme}:{uri}"


def _pattern(template: str) -> re.Pattern[str]:
    """What a URI template (RFC 6570) can become, loosely."""
    parts = re.split(r"\{[^{}]*\}", template)
    return re.compile(".*".join(re.escape(part) for part in parts), re.DOTALL)
