"""A model endpoint on 127.0.0.1: records what reaches it, calls one tool, says that it is done."""

import gzip
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from judge.wire import Call, Item, Json, Reply, answer, menu

HOST_SEARCHES = ("ToolSearch", "tool_search")  # hosts' own ways to load a tool's schema
HOST_SEARCHES_MOST = 5  # a server may connect after the first search
HOST_SEARCH, DIRECT = "host search", "direct"
SEARCH, CALL = "search_tools", "call_tool"  # Toolcrib's


@dataclass(frozen=True, slots=True)
class Request:
    """One request with a menu; its text is never kept."""

    path: str
    size: int  # bytes of the body
    tools_size: int  # bytes of its tools, as JSON
    menu: tuple[Item, ...]
    named: frozenset[str]  # the watched tools whose name is anywhere in the body
    results: frozenset[str]  # the watched answers that came back
    begun: bool  # whether the model had asked for a tool of the servers before


@dataclass(frozen=True, slots=True)
class Script:
    """What the model wants: one tool, by its server's raw name, and its arguments."""

    tool: str  # server/tool
    arguments: Json
    query: str = ""
    through: bool = False  # by search_tools and call_tool
    watch: tuple[str, ...] = ()  # raw tool names
    answers: tuple[str, ...] = ()  # texts that a tool's result holds

    @property
    def name(self) -> str:
        """The tool's raw name."""
        return self.tool.partition("/")[2]


@dataclass(slots=True)
class Conversation:
    """The model's side: each thing is asked for once, in the order the menu allows."""

    script: Script
    requests: list[Request] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hear(self, path: str, raw: bytes) -> Reply | None:
        """Record a request and answer it; None for an unknown path."""
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        if not isinstance(body, dict):
            body = {}
        found = menu(body)
        with self._lock:
            if found:
                self.requests.append(self._request(path, raw, body, found))
            return answer(path, body, self._next(found, raw))

    def _request(self, path: str, raw: bytes, body: Json, found: tuple[Item, ...]) -> Request:
        text = raw.decode("utf-8", "replace")
        named = frozenset(name for name in self.script.watch if _spelled(name).search(text))
        results = frozenset(words for words in self.script.answers if words in text)
        tools = len(json.dumps(body["tools"]).encode())
        begun = bool({DIRECT, SEARCH} & set(self.asked))
        return Request(path, len(raw), tools, found, named, results, begun)

    def _next(self, found: Sequence[Item], raw: bytes) -> Call:
        for what, item, arguments in self._wishes(found, raw):
            if item is not None and (what == HOST_SEARCH or what not in self.asked):
                self.asked.append(what)
                return Call(f"call_{len(self.asked)}", item, arguments)
        return Call()

    def _wishes(self, found: Sequence[Item], raw: bytes) -> list[tuple[str, Item | None, Json]]:
        script = self.script
        loaded = [item for item in found if not item.deferred or HOST_SEARCH in self.asked]
        if script.through:
            arguments: Json = {"name": script.tool, "arguments": script.arguments}
            search, call = _ends(loaded, SEARCH), _ends(loaded, CALL)
            query: Json = {"query": script.query}
            wishes = [(SEARCH, search, query), (CALL, call, arguments)]
        else:
            wishes = [(DIRECT, _ends(loaded, script.name), script.arguments)]
        searched = self.asked == [HOST_SEARCH] * len(self.asked)
        if wishes[0][1] is None and searched and len(self.asked) < HOST_SEARCHES_MOST:
            own = next((item for item in found if item.name in HOST_SEARCHES), None)
            return [(HOST_SEARCH, own, _host_query(script, _words(raw)))]
        return wishes


def _host_query(script: Script, text: str) -> Json:
    """What to ask a host's own search for: the names it told, else words."""
    wanted = (SEARCH, CALL) if script.through else (script.name,)
    form = r"[A-Za-z0-9]+_[A-Za-z0-9_.-]*_{}(?![A-Za-z0-9_])"  # of every host that has a search
    names = [re.search(form.format(name), text) for name in wanted]
    if all(names):
        return {
            "query": "select:" + ",".join(found[0] for found in names if found),
            "max_results": 5,
        }
    return {"query": re.sub(r"[_/]", " ", " ".join((*wanted, script.tool))), "max_results": 100}


def _ends(found: Sequence[Item], name: str) -> Item | None:
    spelled = _spelled(name)
    return next((item for item in found if spelled.search(item.name)), None)


def _words(raw: bytes) -> str:
    """The body's text, its line ends as spaces: a name must not begin with an escape's letter."""
    return raw.decode("utf-8", "replace").replace("\\n", " ").replace("\\t", " ")


def _spelled(name: str) -> re.Pattern[str]:
    """A tool's name as any host writes it: other separators, a prefix, a hash behind."""
    parts = re.split(r"[^A-Za-z0-9]+", name)
    return re.compile(r"(?<![A-Za-z0-9])" + "[-_.]".join(parts) + r"(?![A-Za-z0-9])")


class FakeModel:
    """The endpoint, running while the `with` block does; `port` is free for it to choose."""

    def __init__(self, script: Script, *, delay: float = 0.0) -> None:
        self.conversation = Conversation(script)
        self.strays: list[str] = []  # requests that no model endpoint has
        self._delay = delay
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        return int(self._server.server_address[1])

    def __enter__(self) -> "FakeModel":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def think(self) -> None:
        """Take the time a model takes; hosts connect to their servers meanwhile."""
        self._closing.wait(self._delay)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

            def do_HEAD(self) -> None:
                self._send(Reply("application/json", b""))

            def do_GET(self) -> None:
                models = [{"id": "fake-model", "object": "model", "created": 1, "owned_by": "x"}]
                body = {"object": "list", "data": models, "models": []}
                self._send(Reply("application/json", json.dumps(body).encode()))

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    raw = gzip.decompress(raw)
                model.think()
                reply = model.conversation.hear(self.path.partition("?")[0], raw)
                if reply is None:
                    model.strays.append(self.path)
                    self._send(Reply("application/json", b'{"error":{"message":"no"}}'), 404)
                else:
                    self._send(reply)

            def _send(self, reply: Reply, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("content-type", reply.kind)
                if reply.kind == "text/event-stream":
                    self.send_header("connection", "close")
                    self.close_connection = True
                else:
                    self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        return Handler
