"""Through Toolcrib: one entry for all servers; pinned tools, search_tools, call_tool."""

import json
import threading
import time
from collections.abc import Callable

from app.gateway import intake, merged, slim, wire
from app.gateway.arguments import as_object
from app.gateway.catalog import Shelf
from app.gateway.front import VERSION, Answer, Front, Links
from app.gateway.launching import launcher
from app.gateway.names import visible_names
from app.gateway.protocol import INVALID_PARAMS, Json, negotiated, params_of
from app.gateway.upstream import Upstream
from app.menu import CALL, LISTING, SEARCH, behind, instructions, menu_tools
from store.serving import ServerRow
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from app.gateway.calls import Caller
    from app.paths import Paths

_OWN = "toolcrib"
_QUIET_SECONDS = 1.0


class Through(Front):
    """Serves all servers of a profile behind a small menu."""

    def __init__(self, links: Links, paths: "Callable[[], Paths]") -> None:
        super().__init__(links)
        self._paths = paths
        self._upstreams: dict[str, Upstream] = {}
        self._pinned: dict[str, tuple[str, str]] = {}
        self._generation = -1
        self._busy = False
        self._merged = merged.Merged(self)
        self._caller: Caller | None = None

    @property
    def shelf(self) -> Shelf:
        """What is served."""
        return self.links.shelf

    @property
    def caller(self) -> "Caller":
        """What answers search_tools and call_tool; loaded at the first need."""
        if self._caller is None:
            from app.gateway.calls import Caller

            self._caller = Caller(self, self._paths)
        return self._caller

    def upstreams(self) -> list[Upstream]:
        """The servers that were needed so far."""
        return list(self._upstreams.values())

    def upstream(self, name: str) -> Upstream:
        """The server of that name, made when it is first needed."""
        found = self._upstreams.get(name)
        if found is None:
            row = self.shelf.servers[name]
            modern = row.taken_with.get("era") == "modern"
            launch = launcher(row, (), self._paths)
            found = self._upstreams[name] = Upstream(name, launch, self, modern=modern)
        return found

    def usable(self) -> list[ServerRow]:
        """Servers whose tools may reach the host."""
        return [row for row in self.shelf.servers.values() if row.trusted]

    # ---- initialize and tools/list

    def describe(self, params: Json, answer: Answer) -> None:
        """What all servers can do together, from the store."""
        rows = self.usable()
        pool = self.shelf.setting("gateway", "pool", "servers")
        capabilities = merged.capabilities(row.capabilities for row in rows)
        if self.shelf.setting("gateway", "promote", False):
            capabilities["tools"] = {"listChanged": True}
        tools = self._pool() if pool in LISTING else []
        servers = [(row.name, row.instructions) for row in rows]
        answer(
            {
                "protocolVersion": negotiated(params.get("protocolVersion")),
                "capabilities": capabilities,
                "serverInfo": {"name": _OWN, "title": "Toolcrib", "version": VERSION},
                "instructions": instructions(servers, tools, pool),
            }
        )
        if self.shelf.setting("gateway", "start_ahead", False):
            for row in rows:
                self.upstream(row.name).start()

    def _pool(self) -> list[tuple[str, str]]:
        """(tool id, description) of every tool that may be used."""
        by_id = {row.id: row.name for row in self.usable()}
        return [
            (f"{by_id[t.server_id]}/{t.name}", str(json.loads(t.raw).get("description") or ""))
            for t in self.shelf.tools()
            if t.shown and t.server_id in by_id
        ]

    def request(self, line: bytes, message: Json) -> None:
        """The menu and calls here, everything else to the servers it belongs to."""
        method = message["method"]
        self._busy = True
        self.shelf.refresh()
        if method == "tools/call":
            self._call(message)
        elif method == "tools/list":
            self._list(message)
        else:
            self._merged.request(line, message)

    def _list(self, message: Json) -> None:
        began = time.perf_counter()
        tools = self._menu()
        self.reply(message, {"tools": tools})
        ms = (time.perf_counter() - began) * 1000
        self.links.journal.add("list", ms=ms, detail={"tools": len(tools)})

    def _menu(self) -> list[Json]:
        names = [row.name for row in self.usable()]
        own = menu_tools(behind(names, self.shelf.setting("gateway", "pool", "servers")))
        return own + self._flat()

    def _flat(self) -> list[Json]:
        """Pinned and promoted tools under names that every host accepts."""
        by_id = {row.id: row.name for row in self.usable()}
        rows = {
            (by_id[tool.server_id], tool.name): tool
            for tool in self.shelf.tools(pinned=True)
            if tool.server_id in by_id and tool.shown
        }
        if self._caller is not None and self.shelf.setting("gateway", "promote", False):
            rows |= self._caller.promoted()
        self._pinned = visible_names(rows, taken=(SEARCH, CALL))
        level = str(self.shelf.setting("gateway", "slim", "lossless"))
        return [
            {**slim.tool(json.loads(rows[pair].raw), level), "name": name}
            for name, pair in self._pinned.items()
        ]

    def listed(self) -> None:
        """Load the search and its encoder once the host is quiet: calls come first."""
        threading.Thread(target=self._warm_when_quiet, daemon=True).start()

    def _warm_when_quiet(self) -> None:
        asked = True
        while asked:
            self._busy = False
            threading.Event().wait(_QUIET_SECONDS)
            asked = self._busy
        self.caller.warm()

    # ---- tools/call

    def _call(self, message: Json) -> None:
        params = params_of(message)
        name = params.get("name")
        if name == SEARCH:
            self.caller.search(message, params)
        elif name == CALL:
            asked = as_object(params.get("arguments"))
            self.caller.call(message, params, asked if isinstance(asked, dict) else {})
        elif isinstance(name, str) and (pair := self._pair(name)):
            asked = {"name": "/".join(pair), "arguments": params.get("arguments")}
            self.caller.call(message, params, asked, always=True)
        else:
            text = f"Unknown tool: {name}"
            self.links.host.respond(message["id"], wire.error(message["id"], INVALID_PARAMS, text))

    def _pair(self, name: str) -> tuple[str, str] | None:
        """(server, tool) that a name in tools/call means: a pinned one, or any written out."""
        if not self._pinned:
            self._flat()
        if name in self._pinned:
            return self._pinned[name]
        for separator in ("/", "__"):
            server, found, tool = name.partition(separator)
            if found and server in self.shelf.servers:
                return server, tool
        return None

    # ---- what servers say

    def ready(self, upstream: Upstream) -> None:
        """A server was started: its list may differ from the stored one."""
        self._merged.started(upstream)

    def told(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Notifications under names that tell the servers apart."""
        if message.get("method") == "notifications/tools/list_changed":
            self._merged.reread(upstream)
            return
        changed = self._merged.renamed(upstream, message)
        super().told(upstream, b"" if changed is not message else line, changed)

    def notification(self, message: Json) -> None:
        """A milestone is for us, the rest for the servers."""
        if message.get("method") == "notifications/toolcrib/milestone":
            self.caller.milestone(message, str(params_of(message).get("name", "")))
        else:
            super().notification(message)

    def watch(self, uri: str) -> None:
        """Subscribe for a stateless host."""
        self._merged.watch(uri)

    def tick(self) -> None:
        """Take in changed ticks; forget idle sessions."""
        self.shelf.refresh()
        if self._caller is not None:
            self._caller.tick()
        if self._generation not in (-1, self.shelf.generation) and self.shelf.setting(
            "gateway", "promote", False
        ):
            self.list_changed()
        self._generation = self.shelf.generation

    def list_changed(self) -> None:
        """Tell the host that tools/list differs now."""
        self.links.host.send(wire.notification("notifications/tools/list_changed"))

    def take_in(self, row: ServerRow, items: list[Json]) -> None:
        """Keep tools that appeared after the scan, held or on as the profile says."""

        def done(added: list[str]) -> None:
            kind = "load" if self.shelf.settings.get("new_tools") == "on" else "held"
            for name in added:
                self.links.journal.add(kind, tool=f"{row.name}/{name}", problem=intake.NEW)

        encoder = self._caller.encoder if self._caller is not None else None
        intake.take_in(self.shelf.database, row, items, done, encoder=encoder)
