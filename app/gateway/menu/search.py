"""search_tools: the router's ranking as one short text, the best tool with its arguments."""

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.gateway.menu.compact import describe
from app.hooks.signatures import cut, own_words, signature
from app.system.threads import start_thread
from store.typed import Json

if TYPE_CHECKING:
    from app.catalog.catalog import Catalog, CatalogTool
    from app.catalog.conditions import State
    from app.encoder.onnx import Encoder
    from app.gateway.environment import GatewayEnvironment
    from app.ranking.ranked import Ranked, RankedTool
    from app.ranking.router import Router

CHARACTERS_A_TOKEN = 3.6  # an estimate for names, prose and JSON together
# The best tool's score must lead by this much for its schema to be alone: then it is right in 87
# of 100 searches; else the first three hold a right one in 86 (half of four public sets).
_CLEAR = 0.1
_UNCLEAR = 3  # signatures that are given otherwise
_BEST_SHARE = 0.75  # of an answer's room, for the best tool or for the signatures
_STEP = 60  # characters of a step's words
_SUMMARY = 80  # characters of a roster line's summary
_LEAST_ROSTER = 3  # names that are given whatever the best tool's schema costs
_DEFAULT_LIMIT = 8
_FIRST = "read a file"  # ranked once to warm up
POOL = 20  # tools asked of the router,
SERVER_POOL = 40  # and where one server's are to be picked from them
_MOST = 50
LOADING = "(Words only: the encoder is still loading.)"
# A best match that is off leaves weak ones, which only the encoder's floor keeps out: a search
# that meets one while the encoder is not there waits for it, once in a process.
_FLOOR_SECONDS = 10.0
NO_OTHER = "No other tool fits."
SEARCH_AGAIN = "Search again for other tools."
UNPREPARED = "(Words only: open the Playground in Toolcrib to prepare the encoder.)"


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """One search's answer."""

    text: str
    best: "CatalogTool | None"  # whose schema is in the text
    ranked: "Ranked | None"
    listed: tuple[str, ...]  # tool ids named in the text, best first
    ms: float

    def decision(self) -> Json:
        """Record of the answer for an event: the best candidates, their gates, the named tools."""
        ranked = self.ranked
        tools = ranked.tools if ranked is not None else ()
        return {
            "candidates": [t.tool_id for t in tools[:10]],
            "scores": [round(t.score, 4) for t in tools[:10]],
            "gates": [t.gate for t in tools[:10]],
            "shown": list(self.listed),
            "gated_out_by_state": [t.tool_id for t in tools if t.gate == "precondition"][:10],
            "best_off": ranked.best_off.tool_id if ranked and ranked.best_off else "",
            "words_only": bool(ranked and ranked.words_only),
        }


class ToolSearch:
    """Searches one profile; the encoder joins in when it is there."""

    def __init__(
        self,
        encoders: "GatewayEnvironment",
        profile: str,
        database: str,
        served: Callable[[], Collection[str]] | None = None,
        narrow: "Callable[[Catalog], Catalog] | None" = None,
    ) -> None:
        """`served`: names of the servers that may be searched now, None for all; `narrow`:
        leaves out what the project's policy does.
        """
        self._served = served
        self._narrow = narrow
        self._encoders = encoders
        self._profile = profile
        self._database = database
        self._lock = threading.RLock()
        self._db: Any = None
        self._catalog: Catalog | None = None
        self._rows: Mapping[int, CatalogTool] = {}
        self._doubted: frozenset[int] = frozenset()
        self._router: Router | None = None
        self.encoder: Encoder | None = None
        self._warmed = False  # asked for,
        self._loaded = threading.Event()  # and over
        self._generation = -1
        self._closed = False

    def warm(self, generation: int) -> None:
        """Load what a search of this generation needs, in the background; only once."""
        with self._lock:
            if self._warmed:
                return
            self._warmed = True
        start_thread(lambda: self._warm(generation))

    def _warm(self, generation: int) -> None:
        from app.core.errors import ToolcribError
        from store.errors import StoreError

        try:
            with self._lock:
                self._prepare(generation)
            encoder = self._encoders.load_encoder()
        except (ToolcribError, StoreError, OSError, ImportError):
            encoder = None  # words must do
        with self._lock:
            self.encoder = encoder
            self._router = None
        self._loaded.set()
        with contextlib.suppress(ToolcribError, StoreError, OSError), self._lock:
            if not self._closed:  # what a first ranking loads is more than a hook may wait
                self._prepare(generation).route(_FIRST, limit=1)

    def _take_loaded(self) -> None:
        """Use an encoder that another session has loaded: the first search has it, too."""
        encoder = None if self._loaded.is_set() else self._encoders.loaded_encoder()
        if encoder is not None:
            with self._lock:
                self.encoder = encoder
                self._router = None
                self._warmed = True
            self._loaded.set()

    def wait(self, seconds: float) -> None:
        """Let an encoder that is on its way arrive."""
        if self._warmed:
            self._loaded.wait(seconds)

    def _prepare(self, generation: int) -> "Router":
        """The router over the present catalogue."""
        from app.catalog.catalog import load_catalog
        from app.ranking.router import Router
        from store import findings
        from store.connection import open_store

        if self._db is None:
            self._db = open_store(self._database)
        if self._catalog is None or generation != self._generation:
            catalog = load_catalog(self._db, self._profile)
            catalog = catalog if self._served is None else catalog.only(self._served())
            self._catalog = catalog if self._narrow is None else self._narrow(catalog)
            self._rows = {row.tool.id: row for row in self._catalog.tools}
            self._doubted = findings.doubted(self._db)
            self._generation = generation
            self._router = None
        if self._router is None:
            self._router = Router.from_store(self._db, self._catalog, encoder=self.encoder)
        return self._router

    def rank(self, fields: Json, state: "State", generation: int, limit: int) -> "Ranked":
        """The ranking of a search's arguments; `{server, tool}` requests route by both."""
        from app.ranking.ranked import Request

        query = str(fields.get("query") or fields.get("tool") or "")
        request = Request(query, str(fields.get("server") or ""), str(fields.get("tool") or ""))
        self._take_loaded()
        with self._lock:
            return self._prepare(generation).route(request, state=state, limit=limit)

    def tool(self, row_id: int) -> "CatalogTool | None":
        """A tool of the catalogue that was searched last."""
        return self._rows.get(row_id)

    def is_doubted(self, row_id: int) -> bool:
        """True if a tool's text has a finding that is not decided."""
        return row_id in self._doubted

    def search(
        self, fields: Json, state: "State", *, generation: int, tokens: int, level: str, note: str
    ) -> SearchAnswer:
        """The answer to one search."""
        from app.ranking.phrases import best_off

        began = time.perf_counter()
        limit = limit_of(fields.get("limit"))
        server = str(fields.get("server") or "")
        pool = max(limit, SERVER_POOL if server else POOL)
        ranked = self.rank(fields, state, generation, pool)
        if ranked.best_off is not None and not self._loaded.is_set():
            self.warm(generation)
            self._loaded.wait(_FLOOR_SECONDS)
            ranked = self.rank(fields, state, generation, pool)
        tools = self._tiered(tools_of_server(ranked.tools, server))
        room = int(tokens * CHARACTERS_A_TOKEN)
        first = best_off(ranked)
        room = max(0, room - len(first))
        if first:  # those that do not fit are no help beside it
            tools = [tool for tool in tools if tool.shown and ranked.cut.fits]
        answer = AnswerText(self.tool, tools, ranked, limit=limit, budget=room, level=level)
        loading = not self._loaded.is_set()
        if loading:
            note = f"{LOADING} {note}".strip()
        elif ranked.words_only and ranked.tools:
            note = f"{UNPREPARED} {note}".strip()
        if first and (loading or not tools):
            lines = [first, SEARCH_AGAIN if loading else NO_OTHER, note]
        else:
            lines = [first, answer.text(note)]
        text = "\n".join(filter(None, lines))
        if answer.best is None and not first:
            text = "\n".join(filter(None, [text, self._installable(fields)]))
        ms = (time.perf_counter() - began) * 1000
        return SearchAnswer(text, answer.best, ranked, tuple(answer.listed), ms)

    def _tiered(self, tools: "Sequence[RankedTool]") -> "Sequence[RankedTool]":
        """The user's own choice first; without pinned tools nothing changes."""
        catalog = self._catalog
        pinned = {row.tool.id for row in catalog.tools if row.pinned} if catalog else None
        if catalog is None or not pinned:
            return tools
        from app.ranking.tiers import in_tiers

        return in_tiers(tools, pinned, catalog.settings.routing)

    def _installable(self, fields: Json) -> str:
        """Listed servers that could be installed, where nothing fits and the profile allows it."""
        catalog = self._catalog
        if catalog is None or not catalog.settings.gateway.marketplace:
            return ""
        from app.market.index import MarketIndex  # most profiles have no use for it
        from app.market.suggestion import HEAD, TEAM_HEAD, suggestion
        from store import teams

        query = str(fields.get("query") or fields.get("tool") or "")
        with self._lock:  # an index that is kept would cost each session 12 MB of vectors
            head = TEAM_HEAD if catalog.profile.id in teams.profiles(self._db) else HEAD
            return suggestion(MarketIndex(self._db, self.encoder), query, head)

    def candidates(self, text: str, state: "State", generation: int) -> list[str]:
        """Names of tools that a wrong name or query may have meant."""
        ranked = self.rank({"query": text.replace("/", " ")}, state, generation, 5)
        return [tool.tool_id for tool in ranked.tools[:5]]

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            if self._db is not None:
                self._db.close()
                self._db = None


class AnswerText:
    """The text of one answer, built line by line inside a budget of characters."""

    def __init__(
        self,
        tool: "Callable[[int], CatalogTool | None]",
        tools: "Sequence[RankedTool]",
        ranked: "Ranked",
        *,
        limit: int,
        budget: int,
        level: str,
    ) -> None:
        self._row_of = tool
        self._tools = tools
        self._steps = ranked.steps
        self._fits = ranked.cut.fits
        self._limit = limit
        self._left = budget
        self._level = level
        self.best: CatalogTool | None = None
        self.listed: list[str] = []

    def text(self, note: str) -> str:
        """The whole answer, with a note at its end."""
        shown = [tool for tool in self._tools if tool.shown]
        if not shown or not self._fits:
            return "\n".join(filter(None, [self._nothing(), note]))
        self.best = self._row_of(shown[0].id)
        room = int(self._left * _BEST_SHARE)
        clear = len(shown) == 1 or shown[0].score - shown[1].score >= _CLEAR
        several = self._of_steps(shown) or shown[:_UNCLEAR]
        given = shown[:1] if clear else several[: self._limit]
        lines = [self._first(given[0], room)] if clear else self._signatures(given, room)
        self._left -= sum(map(len, lines)) + len(note)
        rest = [t for t in self._tools if t.gate in ("", "top-k", "score") and t not in given]
        rest.sort(key=lambda tool: not tool.shown)  # tools that are in before the others
        roster = self._roster(rest[: self._limit - len(given)])
        if roster:
            lines += ["Also:", *roster]
        return "\n".join(filter(None, [*lines, self._kept_out(), note]))

    def _first(self, ranked: "RankedTool", room: int) -> str:
        self.listed.append(ranked.tool_id)
        if self.best is None:
            return ranked.tool_id
        return describe(self.best.tool.tool_id, self.best.tool.raw, self._level, room)

    def _signatures(self, tools: "Sequence[RankedTool]", room: int) -> list[str]:
        """Signatures of the best tools, where none is clearly the right one."""
        lines: list[str] = []
        heads = self._heads(tools)
        room = max(0, room - sum(map(len, heads)))
        for ranked, head in zip(tools, heads, strict=True):
            self.listed.append(ranked.tool_id)
            row = self._row_of(ranked.id)
            if row is not None:
                lines += filter(None, [head])
                about = cut(_short(row.summary, ranked.name), _SUMMARY)
                line = f"{signature(ranked.tool_id, row.tool.raw)}: {about}"
                lines.append(line[: room // len(tools)].rstrip(": "))
        return lines

    def _of_steps(self, shown: "list[RankedTool]") -> "list[RankedTool]":
        """The best tool of each step, where the request has several that differ."""
        from app.ranking.ranked import first_of_steps

        steps = list(first_of_steps(shown).values())
        return steps if not steps or shown[0] in steps else [shown[0], *steps]

    def _heads(self, tools: "Sequence[RankedTool]") -> list[str]:
        """The step's own words before each tool that is the best of one."""
        if tools != self._of_steps(list(tools)):
            return [""] * len(tools)
        texts = [self._steps[tool.step] if tool.step >= 0 else "" for tool in tools]
        return [f"For “{cut(text, _STEP)}”:" if text else "" for text in texts]

    def _roster(self, tools: "list[RankedTool]") -> list[str]:
        lines: list[str] = []
        for tool in tools:
            row = self._row_of(tool.id)
            summary = row.summary if row is not None else ""
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
                return f"Not yet: {tool.tool_id} ({tool.verdict.reasons[0].sentence})"
        return ""

    def _nothing(self) -> str:
        from app.ranking.text import no_tool

        nearest = [tool.tool_id for tool in self._tools[:3]]
        self.listed += nearest
        return no_tool(nearest)


def tools_of_server(tools: "Sequence[RankedTool]", server: str) -> "Sequence[RankedTool]":
    """The tools of the server that a request names exactly; all when it names none."""
    name = server.strip().lower()
    return [tool for tool in tools if tool.server.lower() == name] or tools


def _short(summary: str, name: str) -> str:
    """A summary's first words, without the tool's name, which the line has already."""
    text = own_words(summary, name)
    return text if len(text) <= _SUMMARY else text[:_SUMMARY].rsplit(" ", 1)[0] + " ..."


def limit_of(value: object) -> int:
    """The number of tools that a request wants named."""
    return max(1, min(_MOST, value)) if isinstance(value, int) else _DEFAULT_LIMIT
