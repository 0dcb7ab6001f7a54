"""Pruned: one server under its own name, only the tools that are on, all else as it is."""

import json
import time
from collections.abc import Callable, Sequence

from app.gateway import eras, intake, slim, wire
from app.gateway.exchange import Asked, Channel
from app.gateway.forward import Route
from app.gateway.front import Answer, Front, Links
from app.gateway.journal import Journal
from app.gateway.listing import Listing
from app.gateway.protocol import HANDSHAKE, LEVELS, LISTS, Json, negotiated, params_of, text_result
from app.gateway.upstream import Upstream
from store.serving import ServerRow, ToolRow

_NEW = "it is new"
_STORED = ("prompts/list", "resources/list", "resources/templates/list")


class Pruned(Front):
    """Serves one server of the store."""

    def __init__(self, links: Links, name: str, launch: Callable[[], Channel]) -> None:
        super().__init__(links)
        self._name = name
        self._generation = links.shelf.generation
        row = links.shelf.servers.get(name)
        modern = bool(row) and row.taken_with.get("era") == "modern" if row else False
        self._upstream = Upstream(name, launch, self, modern=modern)
        self._live: set[str] | None = None  # names the running server listed last

    @property
    def _row(self) -> ServerRow | None:
        return self.links.shelf.servers.get(self._name)

    def upstreams(self) -> list[Upstream]:
        """The one server."""
        return [self._upstream]

    # ---- initialize

    def describe(self, params: Json, answer: Answer) -> None:
        """The server's own words: from the store, or from the server when never read."""
        row = self._row
        if row is not None and row.read_at > 0:
            newest = str(row.taken_with.get("protocol", ""))
            version = negotiated(params.get("protocolVersion"), newest)
            answer(_described(version, row.capabilities, row.server_info, row.instructions))
            return
        message: Json = {"jsonrpc": "2.0", "id": 0, "method": "ping"}

        def started(_answer: Json) -> None:
            found = self._upstream.hello_result
            if self._upstream.modern:
                info, said = eras.server_info(found), str(found.get("instructions") or "")
                version = negotiated(params.get("protocolVersion"))
                found = _described(version, found.get("capabilities") or {}, info, said)
            answer(found or _described(HANDSHAKE[-1], {"tools": {}}, {"name": self._name}, ""))

        def failed(reason: str) -> None:
            version = negotiated(params.get("protocolVersion"))
            answer(_described(version, {"tools": {}}, {"name": self._name}, reason))

        self._upstream.request(Asked(message, answered=started, failed=failed))

    # ---- requests

    def request(self, line: bytes, message: Json) -> None:
        """Lists from the store until the server runs, calls checked, all else sent on."""
        method = message["method"]
        self.links.shelf.refresh()
        if method == "tools/list":
            self._list(message)
        elif method == "tools/call":
            self._call(line, message)
        elif method in _STORED and not self._upstream.started and self._read:
            self._list_others(message)
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            self.subscribe(self._upstream, line, message)
        elif method == "logging/setLevel" and self._keeps(params_of(message).get("level")):
            self.set_level(params_of(message)["level"])
            self.reply(message, {})
        else:
            if method == "logging/setLevel":
                self.links.level = str(params_of(message).get("level", ""))
            self.links.forwarder.forward(self._upstream, line, message)

    def _keeps(self, level: object) -> bool:
        """Whether a log level is said later, or in every request, and not by a call now."""
        if level not in LEVELS or (self._row is not None and not self._declares("logging")):
            return False  # the server's to refuse
        return self._upstream.modern or (self._read and not self._upstream.started)

    def _declares(self, part: str) -> bool:
        return self._row is not None and isinstance(self._row.capabilities.get(part), dict)

    def watch(self, uri: str) -> None:
        """Subscribe at the server for a stateless host."""
        self.watch_at(self._upstream, uri)

    @property
    def _read(self) -> bool:
        row = self._row
        return row is not None and row.read_at > 0

    def _list_others(self, message: Json) -> None:
        """Prompts, resources or templates as the store has them."""
        method = message["method"]
        if self._row is None or not self._declares(method.partition("/")[0]):
            self.refuse_method(message)
            return
        self.reply(message, {LISTS[method]: self.links.shelf.lists(self._row)[method]})

    # ---- tools/list

    def _list(self, message: Json) -> None:
        if not self._upstream.started and self._read:
            self._list_stored(message)
            return

        def done(items: list[Json] | None) -> None:
            if items is None:
                self._list_stored(message)
                return
            self._live = {str(item.get("name")) for item in items}
            shown = [self._served(item) for item in items if self._shows(item)]
            if self._row is not None:
                intake.take_in(self.links.shelf.database, self._row, items, self._took_in)
            self.reply(message, {"tools": shown})
            self.links.journal.add("list", tool=f"{self._name}/", detail={"tools": len(shown)})

        Listing(self._upstream, "tools/list", done).start()

    def _list_stored(self, message: Json) -> None:
        began = time.perf_counter()
        row = self._row
        tools = self.links.shelf.tools(server_id=row.id) if row else []
        level = self._slim_level()
        texts = [slim.tool_text(t.raw, level) for t in tools if t.shown and self._trusted]
        answer = '{"jsonrpc":"2.0","id":0,"result":{"tools":[' + ",".join(texts) + "]}}"
        line = answer.encode("utf-8", "replace")
        if self.links.host.is_modern(message["id"]):
            self.links.host.respond(message["id"], json.loads(line))
        else:
            self.links.host.respond(message["id"], {"id": 0}, line)
        ms = (time.perf_counter() - began) * 1000
        detail = {"tools": len(texts)}
        self.links.journal.add("list", tool=f"{self._name}/", ms=ms, detail=detail)

    def _slim_level(self) -> str:
        level = self.links.shelf.setting("gateway", "slim", "lossless")
        return slim.PLAIN if level == "lossless" else str(level)

    def _served(self, item: Json) -> Json:
        """The tool as it is, or as it was trusted if it has changed since."""
        row, shelf = self._row, self.links.shelf
        if row is not None and row.read_at > 0 and shelf.settings.get("new_tools") != "on":
            known = shelf.tool(row.id, str(item.get("name")))
            trusted = json.loads(known.raw) if known is not None else item
            if trusted != item:
                tool_id = f"{self._name}/{item.get('name')}"
                self.links.journal.add("held", tool=tool_id, problem="its text changed")
            item = trusted
        return slim.tool(item, self._slim_level())

    def _took_in(self, added: list[str]) -> None:
        kind = "load" if self.links.shelf.settings.get("new_tools") == "on" else "held"
        for name in added:
            self.links.journal.add(kind, tool=f"{self._name}/{name}", problem=intake.NEW)

    @property
    def _trusted(self) -> bool:
        row = self._row
        return row is None or row.trusted

    def _shows(self, item: Json) -> bool:
        return not self._refusal(item.get("name"))

    def _refusal(self, name: object) -> str:
        """Why a tool is not offered, "" when it is."""
        row = self._row
        if row is None or row.read_at == 0:
            return ""
        if not row.trusted:
            return "its server is not trusted yet"
        if not isinstance(name, str):
            return ""  # the server's to refuse
        tool = self.links.shelf.tool(row.id, name)
        if tool is not None:
            return refusal(tool)
        if self.links.shelf.settings.get("new_tools") == "on":
            return ""
        return "" if self._live is not None and name not in self._live else _NEW

    # ---- tools/call

    def _call(self, line: bytes, message: Json) -> None:
        name = params_of(message).get("name")
        reason = self._refusal(name)
        if reason == _NEW and self._live is None:
            self._look(line, message)
            return
        if reason:
            self._refuse(message, name, reason)
            return
        call = _Call(self._upstream, line, message, self.links.journal)
        self.links.forwarder.send(call)

    def _refuse(self, message: Json, name: object, reason: str) -> None:
        self.links.journal.add("miss", tool=f"{self._name}/{name}", problem=reason)
        text = f"{name} is not available: {reason}. It can be allowed in Toolcrib."
        self.reply(message, text_result(text, is_error=True))

    def _look(self, line: bytes, message: Json) -> None:
        """Call a tool that the store does not know once the server has said if it has it."""

        def done(items: list[Json] | None) -> None:
            if items is None:
                self._refuse(message, params_of(message).get("name"), _NEW)
                return
            self._live = {str(item.get("name")) for item in items}
            self._call(line, message)

        Listing(self._upstream, "tools/list", done).start()

    # ---- what the window or the server changed

    def tick(self) -> None:
        """Tell the host when ticks changed what it should see."""
        self.links.shelf.refresh()
        if self._generation != self.links.shelf.generation:
            self._generation = self.links.shelf.generation
            row = self._row
            if row is not None and (row.capabilities.get("tools") or {}).get("listChanged"):
                self.links.host.send(wire.notification("notifications/tools/list_changed"))

    def told(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """A changed list makes the last one that was read stale."""
        if message.get("method") == "notifications/tools/list_changed":
            self._live = None
        super().told(upstream, line, message)


class _Call(Route):
    """A call of one of the server's tools, for the journal."""

    __slots__ = ("_began", "_journal", "_problem", "_tool_id")

    def __init__(self, upstream: Upstream, line: bytes, message: Json, journal: Journal) -> None:
        super().__init__(upstream, line, message)
        self._journal = journal
        self._tool_id = f"{upstream.name}/{params_of(message).get('name')}"
        self._began = time.perf_counter()
        self._problem = ""

    def finish(self, _line: bytes, answer: Json) -> None:
        """Note what went wrong; the answer is left as it came."""
        self._problem = problem_of(answer)

    def done(self) -> None:
        """The host has its answer."""
        ms = (time.perf_counter() - self._began) * 1000
        self._journal.add("call", tool=self._tool_id, ms=ms, problem=self._problem)

    def unreached(self, reason: str) -> None:
        """The server could not be reached."""
        self._journal.add("error", tool=self._tool_id, problem=reason)


def refusal(tool: ToolRow) -> str:
    """Why a stored tool may not be used in this profile, "" when it may."""
    if not tool.on:
        return "it is switched off in this profile"
    if tool.held:
        return f"it is held back ({tool.held})"
    if tool.changed:
        return "its text changed after you trusted it"
    return tool.problem and f"it cannot be used ({tool.problem})"


def problem_of(answer: Json) -> str:
    """What went wrong in an answer to tools/call, at most 300 characters, "" when nothing did."""
    error = answer.get("error")
    if isinstance(error, dict):
        return str(error.get("message", "error"))[:300]
    result = answer.get("result")
    if isinstance(result, dict) and result.get("isError"):
        return first_text(result.get("content"))[:300] or "error"
    return ""


def first_text(content: object) -> str:
    """The first text of a result's content."""
    items: Sequence[object] = content if isinstance(content, list) else ()
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("text"), str):
            return str(item["text"])
    return ""


def _described(version: str, capabilities: Json, info: Json, instructions: str) -> Json:
    found: Json = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": "toolcrib", "version": "0"} | info,
    }
    if instructions:
        found["instructions"] = instructions
    return found
