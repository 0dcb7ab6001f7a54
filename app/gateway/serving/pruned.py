"""Pruned: one server under its own name, only the tools that are on, all else as it is."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial

from app.catalog.reasons import CHANGED, DISABLED, UNTRUSTED, UNUSABLE, sentence
from app.gateway import slim
from app.gateway.server_lists import METHODS, ListRequest
from app.gateway.serving.conditions import SessionConditions
from app.gateway.serving.mode import Answer, GatewayContext, ServingMode, described
from app.mcp import jsonrpc, revisions
from app.mcp.listing import Listing
from app.mcp.protocol import (
    HANDSHAKE,
    INVALID_PARAMS,
    LEVELS,
    LISTS,
    negotiated,
    params_of,
    text_result,
)
from app.mcp.requests import OwnRequest
from app.mcp.session import Upstream
from store.serving import PROMPTS, RESOURCES, ServerRow, ToolRow
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from app.gateway.call import Call

_HELD = {"prompts/get": (PROMPTS, "name"), "resources/read": (RESOURCES, "uri")}
_CHANGED = "notifications/tools/list_changed"


class Pruned(ServingMode):
    """Serves one server of the store."""

    def __init__(self, context: GatewayContext, name: str, command: Sequence[str]) -> None:
        super().__init__(context)
        self._name = name
        self._conditions = SessionConditions(context.view, self.live)
        self._generation = context.view.generation
        self._due = False  # the server announced another list, and the host does not know yet
        self._announcing = threading.Lock()
        self._command = command
        self.upstream_of(name, self._row, command)  # overviews show it before its first request

    @property
    def _row(self) -> ServerRow | None:
        return self.context.view.servers.get(self._name)

    @property
    def _upstream(self) -> Upstream:
        return self.upstream_of(self._name, self._row, self._command)

    # ---- initialize

    def describe(self, params: Json, answer: Answer) -> None:
        """The server's own words: from the store, or from the server when never read."""
        row = self._row
        if row is not None and row.read_at > 0:
            newest = str(row.taken_with.get("protocol", ""))
            version = negotiated(params.get("protocolVersion"), newest)
            answer(described(version, row.capabilities, row.server_info, row.instructions))
            return
        if row is not None and row.disabled:
            self._disabled().describe(params, answer)
            return

        def started(_answer: Json) -> None:
            result = self.context.environment.scrubber.json(self._upstream.hello_result)
            if self._upstream.modern:
                info = revisions.server_info(result)
                instructions = str(result.get("instructions") or "")
                version = negotiated(params.get("protocolVersion"))
                result = described(version, result.get("capabilities") or {}, info, instructions)
            if row is not None:
                result = self.context.server_lists.hello(row, result)
            answer(result or described(HANDSHAKE[-1], {"tools": {}}, {"name": self._name}, ""))

        def failed(reason: str) -> None:
            version = negotiated(params.get("protocolVersion"))
            answer(described(version, {"tools": {}}, {"name": self._name}, reason))

        ping = jsonrpc.request("ping")
        self._upstream.request(OwnRequest(ping, answered=started, failed=failed))

    # ---- requests

    def request(self, line: bytes, message: Json) -> None:
        """Lists from the store until the server runs, calls checked, all else sent on."""
        method = message["method"]
        self.context.view.refresh()
        if self._row is not None and self._row.disabled:
            self._disabled().request(line, message)
        elif method == "tools/list":
            self._list(message)
        elif method == "tools/call":
            self._call(line, message)
        elif method in METHODS and self._row is not None:
            self._list_others(line, message)
        elif method in _HELD and self._is_held(method, message):
            self._refuse_held(message)
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            self.subscribe(self._upstream, line, message)
        elif method == "logging/setLevel" and self._keeps(params_of(message).get("level")):
            self.set_level(params_of(message)["level"])
            self.reply(message, {})
        else:
            if method == "logging/setLevel":
                self.context.level = str(params_of(message).get("level", ""))
            self.context.forwarder.forward(self._upstream, line, message)

    def _disabled(self) -> ServingMode:
        """Mode that answers for a server that the user disabled: nothing starts it."""
        from app.gateway.serving.unavailable import Unavailable

        reason = f"Nothing of {self._name} is available: {sentence(DISABLED)}."
        return Unavailable(self.context, self._name, reason)

    def _keeps(self, level: object) -> bool:
        """True if a log level is sent later, or in every request, and not by a call now."""
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

    def _list_others(self, line: bytes, message: Json) -> None:
        """Prompts, resources or templates as the store has them.

        Many servers with resources refuse to list templates, which the store has as none.
        """
        method, row = message["method"], self._row
        if row is not None and (self._upstream.started or not self._read):
            self._list_others_live(line, message, row)
            return
        if row is None or not self._declares(method.partition("/")[0]):
            self.refuse_method(message)
            return
        entries = self.context.view.lists(row)[method]
        if method == "resources/templates/list" and not entries:
            self._list_others_live(line, message, row)
        else:
            self.reply(message, {LISTS[method]: entries})

    def _list_others_live(self, line: bytes, message: Json, row: ServerRow) -> None:
        """The same from the running server."""
        lists = self.context.server_lists
        self.context.forwarder.send(ListRequest(self._upstream, line, message, row, lists))

    def _is_held(self, method: str, message: Json) -> bool:
        row, (kind, key) = self._row, _HELD[method]
        name = params_of(message).get(key)
        return row is not None and self.context.server_lists.is_held(row, kind, name)

    def _refuse_held(self, message: Json) -> None:
        text = "Its description is held back until it is looked at in Toolcrib's Review."
        self.refuse(message, INVALID_PARAMS, text)

    # ---- tools/list

    def _list(self, message: Json) -> None:
        if not self._upstream.started and self._read:
            self._list_stored(message)
            return

        def done(items: list[Json] | None) -> None:
            if items is None:
                self._list_stored(message)
                return
            if self._read or self._row is None:
                self.live.take(self._name, items)
                self._list_live(message, items)
            else:  # the first that is seen of this server: what it may list is known in a second
                self.live.take(self._name, items, partial(self._list_first, message, items))

        Listing(self._upstream, "tools/list", done).start()

    def _list_first(self, message: Json, items: list[Json]) -> None:
        try:
            self._list_live(message, items)
        except Exception:  # noqa: BLE001 - whatever it was, the host waits for its list
            self._list_stored(message)

    def _list_live(self, message: Json, items: list[Json]) -> None:
        """The running server's tools without those that the host may not get."""
        private = self._conditions.private()
        shown = [
            self._shown(item)
            for item in items
            if not self._refusal(item.get("name"))
            and not private(f"{self._name}/{item.get('name')}")
        ]
        self.reply(message, {"tools": shown})
        self.context.journal.add("list", tool=f"{self._name}/", detail={"tools": len(shown)})

    def _list_stored(self, message: Json) -> None:
        began = time.perf_counter()
        row = self._row
        tools = self.context.view.tools(server_id=row.id) if row else []
        level = self._slim_level()
        private = self._conditions.private()
        shown = [t for t in tools if t.shown and not private(f"{self._name}/{t.name}")]
        texts = [slim.tool_text(self.context.view.text(t), level) for t in shown]
        answer = '{"jsonrpc":"2.0","id":0,"result":{"tools":[' + ",".join(texts) + "]}}"
        line = answer.encode("utf-8", "replace")
        if self.context.host.is_modern(message["id"]):
            self.context.host.respond(message["id"], json.loads(line))
        else:
            self.context.host.respond(message["id"], {"id": 0}, line)
        ms = (time.perf_counter() - began) * 1000
        detail = {"tools": len(texts)}
        damaged = [t.name for t in tools if t.reason == UNUSABLE and t.raw == "{}"]
        problem = f"Left out, as damaged in the store: {', '.join(damaged)}." if damaged else ""
        self.context.journal.add(
            "list", tool=f"{self._name}/", ms=ms, detail=detail, problem=problem
        )

    def _slim_level(self) -> str:
        level = self.context.view.setting("slim", "lossless")
        return slim.PLAIN if level == "lossless" else str(level)

    def _shown(self, item: Json) -> Json:
        """A listed tool in the words that were reviewed: the list's may be in another order."""
        stored = self._stored(item.get("name"))
        scrub = self.context.environment.scrubber.json
        known = scrub(item) if stored is None else json.loads(self.context.view.text(stored))
        return slim.tool(known, self._slim_level())

    def _refusal(self, name: object) -> str:
        """The kind of reason for which a tool is not offered, "" when it is."""
        row = self._row
        if row is None or not isinstance(name, str):
            return ""  # the server's to refuse
        return self.live.kind(row, name) if row.trusted else UNTRUSTED

    def _stored(self, name: object) -> ToolRow | None:
        row = self._row
        return self.context.view.tool(row.id, name) if row and isinstance(name, str) else None

    # ---- tools/call

    def _call(self, line: bytes, message: Json) -> None:
        name = params_of(message).get("name")
        row, tool = self._row, self._stored(name)
        held = tool.reason if tool is not None else ""
        held = held if held and self.context.may_ask(held) else ""
        if tool is not None and tool.reason and not held:
            self.reply(message, self._refused(name, tool.reason))
            return
        if reason := self._conditions.reason(f"{self._name}/{name}"):
            self.reply(message, self._not_now(name, reason))
            return
        call_class, _ = self._at_calls
        text = "" if tool is None else tool.raw
        call = call_class(
            self.calls,
            self._conditions,
            self._upstream,
            line,
            message,
            text=text,
            held=held,
            check=None if row is None else partial(self._refusal_of, row, message, text, held),
        )
        self.context.forwarder.send(call)

    def _refusal_of(self, row: ServerRow, message: Json, text: str, held: str) -> Json | None:
        """The answer to a call that is refused now that the server's list is known, else None.

        `text`: the stored one when the call came, which a person was asked about where it is held.
        """
        params = params_of(message)
        name = params.get("name")
        if held:
            kind = "" if self.live.has_text(row, str(name), text) else CHANGED
        else:
            kind = self._refusal(name)
        tool = self._stored(name)
        if not kind and tool is None and self._is_unlisted(name) and params.get("arguments"):
            problem = f"Unknown tool: {name}"  # as most servers do
            self.context.journal.add("miss", tool=f"{self._name}/{name}", problem=problem)
            return jsonrpc.error(message["id"], INVALID_PARAMS, problem)
        refused = self._refused(name, kind) if kind else self._undeclared(tool, params)
        return None if refused is None else jsonrpc.result(message["id"], refused)

    def _is_unlisted(self, name: object) -> bool:
        """True if the running server knows no tool of that name, as the store does not.

        A call without arguments is the server's to refuse; what the model says reaches no tool
        that could not be reviewed.
        """
        if not isinstance(name, str):
            return True
        listed = self.live.names(self._name)
        return listed is None or name not in listed

    def _undeclared(self, tool: ToolRow | None, params: Json) -> Json | None:
        """The refusal of arguments that the trusted text does not have, None without any."""
        _, undeclared = self._at_calls
        names = undeclared(tool.raw, params.get("arguments")) if tool else []
        if tool is None or not names:
            return None
        listed = ", ".join(names)
        text = f"{tool.name} was trusted without the arguments {listed}; it was not called."
        self.context.journal.add("miss", tool=f"{self._name}/{tool.name}", problem=text)
        return text_result(text, is_error=True)

    @cached_property
    def _at_calls(self) -> "tuple[type[Call], Callable[[str, object], list[str]]]":
        """Class of a call and the check of its arguments, loaded with the first.

        An import in each call would cost half a microsecond.
        """
        from app.gateway.call import Call
        from app.gateway.menu.arguments import undeclared

        return Call, undeclared

    def _refused(self, name: object, kind: str) -> Json:
        tool = self._stored(name)
        return self._not_now(
            name, sentence(kind, tool.problem if tool else ""), " It can be allowed in Toolcrib."
        )

    def _not_now(self, name: object, reason: str, remedy: str = "") -> Json:
        self.context.journal.add("miss", tool=f"{self._name}/{name}", problem=reason)
        return text_result(f"{name} is not available: {reason}.{remedy}", is_error=True)

    def notification(self, message: Json) -> None:
        """A milestone is for us, the rest for the server."""
        if message.get("method") == "notifications/toolcrib/milestone":
            self._conditions.milestones.add(str(params_of(message).get("name", ""))[:200])
        else:
            super().notification(message)

    # ---- what the window or the server changed

    def tick(self) -> None:
        """Tell the host when ticks changed what it should see."""
        super().tick()
        self.context.view.refresh()
        row = self._row
        if row is not None and (row.capabilities.get("tools") or {}).get("listChanged"):
            self._announce(due=False)

    def on_notification(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """As it came, but another list of tools is announced when its texts were checked."""
        if message.get("method") != _CHANGED:
            super().on_notification(upstream, line, message)
            return
        if self.context.modern:  # a stream tells of a change at once; new texts follow
            super().on_notification(upstream, line, message)
        else:
            self._due = True
        self.live.read(upstream, changed=True, settled=self._settled)

    def _settled(self) -> None:
        self._announce(due=self._due)

    def _announce(self, *, due: bool) -> None:
        """Tell the host of another list where it is `due`, or the store's is another; once."""
        with self._announcing:
            generation = self.context.view.generation
            if not due and generation == self._generation:
                return
            self._due, self._generation = False, generation
        super().on_notification(self._upstream, b"", jsonrpc.notification(_CHANGED))
