"""search_tools: the router's ranking as one short text, the best tool with its arguments."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.gateway import slim
from app.gateway.protocol import Json

if TYPE_CHECKING:
    from app.catalog import Catalog, CatalogTool
    from app.encoder.onnx import Encoder
    from app.paths import Paths
    from app.routing.ranked import Ranked, RankedTool
    from app.routing.router import Router
    from app.routing.state import State

_CHARACTERS_A_TOKEN = 3.6  # an estimate for names, prose and JSON together
_DESCRIPTION = 700  # characters of the best tool's description
_SUMMARY = 80  # characters of a roster line's summary
_LEAST_ROSTER = 3  # names that are given whatever the best tool's schema costs
_DEFAULT_LIMIT = 8
_POOL = 20  # tools asked of the router,
_SERVER_POOL = 40  # and where one server's are to be picked from them
_MOST = 50
LOADING = "(Words only: the encoder is still loading.)"
UNPREPARED = "(Words only: open the Playground in Toolcrib to prepare the encoder.)"


@dataclass(frozen=True, slots=True)
class Found:
    """One search's answer."""

    text: str
    best: "CatalogTool | None"  # whose schema is in the text
    ranked: "Ranked | None"
    listed: tuple[str, ...]  # tool ids named in the text, best first
    ms: float


class Finder:
    """Searches one profile; the encoder joins in when it is there."""

    def __init__(self, paths: "Callable[[], Paths]", profile: str, database: str) -> None:
        self._paths = paths
        self._profile = profile
        self._database = database
        self._lock = threading.RLock()
        self._db: Any = None
        self._catalog: Catalog | None = None
        self._rows: Mapping[int, CatalogTool] = {}
        self._router: Router | None = None
        self.encoder: Encoder | None = None
        self._warmed = False  # asked for,
        self._loaded = threading.Event()  # and over
        self._generation = -1

    def warm(self) -> None:
        """Load what a search needs, in the background; only once."""
        with self._lock:
            if self._warmed:
                return
            self._warmed = True
        threading.Thread(target=self._warm, daemon=True).start()

    def _warm(self) -> None:
        from app.errors import ToolcribError
        from store.errors import StoreError

        try:
            with self._lock:
                self._prepare(self._generation)
            encoder = self._load_encoder()
        except (ToolcribError, StoreError, OSError, ImportError):
            encoder = None  # words must do
        with self._lock:
            self.encoder = encoder
            self._router = None
        self._loaded.set()

    def _load_encoder(self) -> "Encoder | None":
        from app.encoder.onnx import Encoder
        from app.encoder.weights import find_model
        from app.settings import Settings

        paths = self._paths()
        files = find_model(paths, Settings.load(paths.settings_file).model)
        if files is None:
            return None
        encoder = Encoder.load(files)
        encoder.encode_bytes("warm", query=True)
        return encoder

    def wait(self, seconds: float) -> None:
        """Let an encoder that is on its way arrive."""
        if self._warmed:
            self._loaded.wait(seconds)

    def _prepare(self, generation: int) -> "Router":
        """The router over the present catalogue."""
        from app.catalog import load_catalog
        from app.routing.router import Router
        from store.connection import open_store

        if self._db is None:
            self._db = open_store(self._database)
        if self._catalog is None or generation != self._generation:
            self._catalog = load_catalog(self._db, self._profile)
            self._rows = {row.tool.id: row for row in self._catalog.tools}
            self._generation = generation
            self._router = None
        if self._router is None:
            self._router = Router.from_store(self._db, self._catalog, encoder=self.encoder)
        return self._router

    def rank(self, asked: Json, state: "State", generation: int, limit: int) -> "Ranked":
        """The ranking of a search's arguments; `{server, tool}` requests route by both."""
        from app.routing.ranked import Request

        query = str(asked.get("query") or asked.get("tool") or "")
        request = Request(query, str(asked.get("server") or ""), str(asked.get("tool") or ""))
        with self._lock:
            return self._prepare(generation).route(request, state=state, limit=limit)

    def tool(self, row_id: int) -> "CatalogTool | None":
        """A tool of the catalogue that was searched last."""
        return self._rows.get(row_id)

    def search(
        self, asked: Json, state: "State", *, generation: int, tokens: int, level: str, note: str
    ) -> Found:
        """The answer to one search."""
        began = time.perf_counter()
        limit = _limit(asked.get("limit"))
        server = str(asked.get("server") or "")
        pool = max(limit, _SERVER_POOL if server else _POOL)
        ranked = self.rank(asked, state, generation, pool)
        tools = self._tiered(_of_server(ranked.tools, server))
        answer = _Answer(self, tools, limit, int(tokens * _CHARACTERS_A_TOKEN), level)
        if not self._loaded.is_set():
            note = f"{LOADING} {note}".strip()
        elif ranked.words_only and ranked.tools:
            note = f"{UNPREPARED} {note}".strip()
        text = answer.text(note)
        ms = (time.perf_counter() - began) * 1000
        return Found(text, answer.best, ranked, tuple(answer.listed), ms)

    def _tiered(self, tools: "Sequence[RankedTool]") -> "Sequence[RankedTool]":
        """The user's own choice first; without pinned tools nothing changes."""
        catalog = self._catalog
        pinned = {row.tool.id for row in catalog.tools if row.pinned} if catalog else None
        if catalog is None or not pinned:
            return tools
        from app.routing.tiers import in_tiers

        return in_tiers(tools, pinned, catalog.settings.routing)

    def near(self, text: str, state: "State", generation: int) -> list[str]:
        """Names of tools that a wrong name or query may have meant."""
        ranked = self.rank({"query": text.replace("/", " ")}, state, generation, 5)
        return [tool.tool_id for tool in ranked.tools[:5]]

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None


class _Answer:
    """The text of one answer, built line by line inside a budget of characters."""

    def __init__(
        self,
        finder: Finder,
        tools: "Sequence[RankedTool]",
        limit: int,
        budget: int,
        level: str,
    ) -> None:
        self._finder = finder
        self._tools = tools
        self._limit = limit
        self._left = budget
        self._level = level
        self.best: CatalogTool | None = None
        self.listed: list[str] = []

    def text(self, note: str) -> str:
        shown = [tool for tool in self._tools if tool.shown]
        if not shown:
            return "\n".join(filter(None, [self._nothing(), note]))
        self.best = self._finder.tool(shown[0].id)
        lines = [self._first(shown[0])]
        self._left -= len(lines[0]) + len(note)
        rest = shown[1:] + [t for t in self._tools if t.gate in ("top-k", "score")]
        roster = self._roster(rest[: self._limit - 1])
        if roster:
            lines += ["Also:", *roster]
        return "\n".join(filter(None, [*lines, self._kept_out(), note]))

    def _first(self, ranked: "RankedTool") -> str:
        self.listed.append(ranked.tool_id)
        if self.best is None:
            return ranked.tool_id
        return describe(self.best.tool.tool_id, self.best.tool.raw, self._level)

    def _roster(self, tools: "list[RankedTool]") -> list[str]:
        lines: list[str] = []
        for tool in tools:
            found = self._finder.tool(tool.id)
            summary = found.summary if found is not None else ""
            line = f"- {tool.tool_id}: {_short(summary, tool.name)}".rstrip(": ")
            if self._left < len(line):
                if len(lines) >= _LEAST_ROSTER:
                    break
                line = f"- {tool.tool_id}"
            self._left -= len(line) + 1
            lines.append(line)
            self.listed.append(tool.tool_id)
        return lines

    def _kept_out(self) -> str:
        """The best of the tools that a precondition keeps out."""
        for tool in self._tools[:3]:
            if tool.gate == "precondition":
                return f"Not yet: {tool.tool_id} ({tool.why})"
        return ""

    def _nothing(self) -> str:
        nearest = [tool.tool_id for tool in self._tools[:3]]
        self.listed += nearest
        if not nearest:
            return "No tool fits."
        return f"No tool fits. Nearest: {', '.join(nearest)}."


def describe(tool_id: str, raw: Json, level: str) -> str:
    """A tool as the model needs it: name, description, arguments."""
    description = str(raw.get("description") or "").strip()
    if len(description) > _DESCRIPTION:
        description = description[:_DESCRIPTION].rsplit(" ", 1)[0] + " ..."
    schema = raw.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    text = json.dumps(
        slim.slimmed(schema, level) if level != slim.NONE else schema,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return f"{tool_id}: {description}\narguments: {text}"


def _of_server(tools: "Sequence[RankedTool]", server: str) -> "Sequence[RankedTool]":
    """The tools of the server that a request names exactly; all when it names none."""
    wanted = server.strip().lower()
    return [tool for tool in tools if tool.server.lower() == wanted] or tools


def _short(summary: str, name: str) -> str:
    """A summary without the name that stands before it anyway."""
    head, colon, rest = summary.partition(": ")
    text = rest if colon and len(head) <= len(name) + 8 else summary
    return text if len(text) <= _SUMMARY else text[:_SUMMARY].rsplit(" ", 1)[0] + " ..."


def _limit(value: object) -> int:
    return max(1, min(_MOST, value)) if isinstance(value, int) else _DEFAULT_LIMIT
