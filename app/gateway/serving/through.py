"""Through Toolcrib: one entry for all servers; pinned tools, search_tools, call_tool."""

import json
import threading
import time

from app.catalog.menu_tools import (
    CALL,
    LISTING,
    SEARCH,
    SUGGEST,
    always_loaded,
    instructions,
    menu_tools,
    server_list_text,
)
from app.gateway import slim
from app.gateway.serving import merged
from app.gateway.serving.mode import VERSION, Answer, GatewayContext, ServingMode, described
from app.gateway.serving.names import visible_names
from app.mcp import jsonrpc
from app.mcp.protocol import INVALID_PARAMS, negotiated, params_of, text_result
from app.mcp.session import Upstream
from app.system.threads import start_thread
from store.serving import ServerRow
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from app.gateway.menu.handler import MenuHandler

_OWN = "toolcrib"
_QUIET_SECONDS = 1.0
_MENU_MS = 300_000  # that a stateless host may keep the menu: it changes with the profile only


class Through(ServingMode):
    """Serves all servers of a profile behind a small menu."""

    def __init__(self, context: GatewayContext) -> None:
        super().__init__(context)
        context.forwarder.names_servers = True
        self.view = context.view
        self._pinned: dict[str, tuple[str, str]] = {}
        self._generation = context.view.generation
        self._reaches = set(context.view.servers)
        self._busy = False
        self._merged = merged.Merged(self, self.usable, self.upstream, lambda: self.menu.results)
        self._menu_handler: MenuHandler | None = None

    @property
    def menu(self) -> "MenuHandler":
        """Handler of search_tools and call_tool; loaded at the first need."""
        if self._menu_handler is None:
            from app.gateway.menu.handler import MenuContext, MenuHandler

            context = self.context
            menu = MenuContext(
                context.view,
                self.calls,
                context.environment,
                self.upstream,
                context.forwarder.send,
                self.reply,
                self.list_changed,
            )
            self._menu_handler = MenuHandler(menu)
        return self._menu_handler

    def upstream(self, name: str) -> Upstream:
        """The server of that name, made when it is first needed."""
        return self.upstream_of(name, self.view.servers.get(name))

    def usable(self) -> list[ServerRow]:
        """Servers whose tools may reach the host."""
        return [row for row in self.view.servers.values() if row.trusted and not row.disabled]

    def _named(self) -> list[ServerRow]:
        """Those that the menu names: without the ones of which nothing can be called."""
        named = self.view.named_servers()
        return [row for row in self.usable() if row.id in named]

    # ---- initialize and tools/list

    def describe(self, params: Json, answer: Answer) -> None:
        """Answer with the capabilities of all servers together, from the store."""
        rows = self.usable()
        pool = self.view.setting("pool", "servers")
        capabilities = merged.capabilities(row.capabilities for row in rows)
        capabilities["tools"] = {"listChanged": True}
        self._merged.declared = capabilities
        tools = self._pool() if pool in LISTING else []
        servers = [(row.name, row.instructions) for row in self._named()]
        info = {"name": _OWN, "title": "Toolcrib", "version": VERSION}
        version = negotiated(params.get("protocolVersion"))
        answer(described(version, capabilities, info, instructions(servers, tools, pool)))
        if self.view.setting("start_ahead", False):
            for row in rows:
                self.upstream(row.name).start()

    def _pool(self) -> list[tuple[str, str]]:
        """(tool id, description) of every tool that may be used."""
        by_id = {row.id: row.name for row in self.usable()}
        return [
            (f"{by_id[t.server_id]}/{t.name}", str(json.loads(t.raw).get("description") or ""))
            for t in self.view.tools()
            if t.shown and t.server_id in by_id
        ]

    def request(self, line: bytes, message: Json) -> None:
        """The menu and calls here, everything else to the servers it belongs to."""
        method = message["method"]
        self._busy = True
        self.view.refresh()
        if method == "tools/call":
            self._call(message)
        elif method == "tools/list":
            self._list(message)
        else:
            self._merged.request(line, message)

    def _list(self, message: Json) -> None:
        began = time.perf_counter()
        tools = self._listed()
        fresh = {"ttlMs": _MENU_MS, "cacheScope": "private"} if self.context.modern else {}
        self.reply(message, {"tools": tools, **fresh})
        ms = (time.perf_counter() - began) * 1000
        self.context.journal.add("list", ms=ms, detail={"tools": len(tools)})

    def _listed(self) -> list[Json]:
        names = [row.name for row in self._named()]
        own = menu_tools(server_list_text(names, self.view.setting("pool", "servers")))
        return own + self._flat()

    def _flat(self) -> list[Json]:
        """Pinned and promoted tools under names that every host accepts."""
        by_id = {row.id: row.name for row in self.usable()}
        rows = {
            (by_id[tool.server_id], tool.name): tool
            for tool in self.view.tools(pinned=True)
            if tool.server_id in by_id and tool.shown
        }
        if self._menu_handler is not None and self.view.setting("promote", False):
            rows |= self._menu_handler.promoted()
        self._pinned = visible_names(rows, taken=(SEARCH, CALL, SUGGEST))
        level = str(self.view.setting("slim", "lossless"))
        return [
            always_loaded({**slim.tool(json.loads(rows[pair].raw), level), "name": name})
            for name, pair in self._pinned.items()
        ]

    def listed(self) -> None:
        """Load the search and its encoder once the host is quiet: calls come first."""
        start_thread(self._warm_when_quiet)

    def _warm_when_quiet(self) -> None:
        busy = True
        while busy:
            self._busy = False
            threading.Event().wait(_QUIET_SECONDS)
            busy = self._busy
        self.menu.warm()

    # ---- tools/call

    def _call(self, message: Json) -> None:
        params = params_of(message)
        name = params.get("name")
        if name == SEARCH:
            self.menu.search(message, params)
        elif name == CALL:
            self.menu.call(message, params, params.get("arguments"))
        elif name == SUGGEST:
            self._suggest(message, params.get("arguments"))
        elif isinstance(name, str) and (pair := self._pair(name)):
            request = {"name": "/".join(pair), "arguments": params.get("arguments")}
            self.menu.call(message, params, request, always=True)
        else:
            self.refuse(message, INVALID_PARAMS, f"Unknown tool: {name}")

    def _suggest(self, message: Json, given: object) -> None:
        """Answer a hook that asks here instead of starting a program."""
        from app.gateway.menu.arguments import as_fields
        from app.gateway.menu.suggesting import HookRequest, hook_output

        fields = as_fields(given)
        prompt, host, conversation = (
            str(fields.get(key, "")) for key in ("prompt", "host", "conversation")
        )
        made = self.menu.suggest(HookRequest(prompt, host, conversation))
        self.reply(message, text_result(hook_output(made.text)))

    def _pair(self, name: str) -> tuple[str, str] | None:
        """(server, tool) that a name in tools/call means: a pinned one, or any written out."""
        if not self._pinned:
            self._flat()
        if name in self._pinned:
            return self._pinned[name]
        for separator in ("/", "__"):
            server, cut, tool = name.partition(separator)
            if cut and (server in self.view.servers or server in self.view.dropped):
                return server, tool
        return None

    # ---- what servers say

    def on_notification(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Notifications under names that tell the servers apart."""
        if message.get("method") == "notifications/tools/list_changed":
            self.live.read(upstream, changed=True)
            return
        changed = self._merged.renamed(upstream, message)
        super().on_notification(upstream, b"" if changed is not message else line, changed)

    def notification(self, message: Json) -> None:
        """A milestone is for us, the rest for the servers."""
        if message.get("method") == "notifications/toolcrib/milestone":
            self.menu.milestone(message, str(params_of(message).get("name", "")))
        else:
            super().notification(message)

    def watch(self, uri: str) -> None:
        """Subscribe for a stateless host."""
        self._merged.watch(uri)

    def tick(self) -> None:
        """Take in changed ticks; end servers that are reached no more; forget idle sessions."""
        super().tick()
        self.view.refresh()
        used = set(self._upstreams)  # first: one that a call makes now is in the view by then
        reaches = set(self.view.servers)
        for name in used - reaches:
            self.let_go(name)
        if self._menu_handler is not None:
            self._menu_handler.tick()
        if self._reaches != reaches:
            for part in ("tools", "prompts", "resources"):
                declared = self._merged.declared.get(part, {})
                if self.context.modern or declared.get("listChanged"):
                    self.list_changed(part)
        elif self._generation != self.view.generation and self.view.setting("promote", False):
            self.list_changed()
        self._generation, self._reaches = self.view.generation, reaches

    def list_changed(self, part: str = "tools") -> None:
        """Tell the host that a list differs now; a stateless one hears it on its stream."""
        changed = jsonrpc.notification(f"notifications/{part}/list_changed")
        to = self.context.listeners if self.context.modern else self.context.host
        to.send(changed)
