"""Tools behind those that hide others, by the server's own search and switches.

Only after consent: the server is started, its search tools are called with common words, and its
switches are switched on in that process alone, which ends afterwards.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event

import apsw

from app.catalog.catalog import CatalogTool
from app.catalog.conditions import is_destructive
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.policy.hidden_names import MOST, groups_in_answer, named_in_answer
from app.policy.hiding import CALLS, SEARCHES, SWITCHES, hiding_kind
from app.registry.calling import CallSession
from app.registry.gateway_servers import configured_servers
from app.registry.register import RegisterResult, register
from app.tokens.counters import Counter
from app.tokens.counters import counter as make_counter
from app.tokens.host_text import host_text
from store import hidden_tools
from store.connection import transaction
from store.typed import Any, Json, list_or_empty, object_or_empty

CONSENT = (
    "Each of them is started. Its own search tools are called with common words, and switches for"
    " more tools are switched on until it ends. Names of servers are read in its own config."
)
MOST_CALLS = 300  # of one server
_DRY = 8  # calls in a row that name nothing new
_QUERY = frozenset(
    {"query", "q", "search", "keyword", "keywords", "pattern", "filter", "text", "intent", "task",
     "need", "goal", "search_query"}
)  # fmt: skip
_LIMIT = frozenset({"limit", "k", "top_k", "max_results", "n", "count", "page_size", "maxresults"})
_WORDS = (
    "", "*", "list", "get", "create", "read", "write", "search", "file", "delete", "update",
    "send", "time", "message", "issue", "user", "data", "run", "add", "convert",
)  # fmt: skip
_GROUPS = frozenset(
    {"group", "server", "server_name", "mcp_name", "category", "categories", "toolset", "toolsets",
     "toolset_name", "servers", "namespace", "path", "tool_path", "domain", "domain_name", "groups",
     "workflows", "workflow_names", "workflownames", "modules"}
)  # fmt: skip
_TOOLS = frozenset({"tools", "tool_names", "toolnames", "tool", "tool_name", "toolname"})
_MANY = 100
_LISTS_GROUPS = re.compile(
    r"(?i)^(?:\w+[-_])?list[-_](?:servers|mcps|categories|toolsets|groups|namespaces|domains)$"
)
_SWITCHES_OFF = re.compile(r"(?i)(?:^|[-_.])(?:disable|deactivate|unload)[-_.]")
_MENU = 20  # tools of a gateway's own, at most
_REFUSALS = 5
_ROUNDS, _WAIT_SECONDS = 8, 1.5  # for a gateway that reaches its servers only when asked
_MISSED = 3  # rounds that name nothing new, while a server of its config is missing


@dataclass(slots=True)
class Expanding:
    """Names behind one server's tools, with the tokens of definitions that were given."""

    server: str
    rows: dict[str, tuple[str, int]] = field(default_factory=dict)  # name: (tool, tokens)
    calls: int = 0
    problem: str = ""  # why nothing, or not all, could be asked
    missing: tuple[str, ...] = ()  # servers of its config of which no tool was found


def expand_server(
    ctx: AppContext,
    server_id: int,
    tools: Sequence[CatalogTool],
    counter: Counter,
    *,
    registered: RegisterResult | None,
    cancelled: Callable[[], bool],
) -> Expanding:
    """Ask one trusted server; blocks, and says in `problem` why it could not be asked."""
    done = Expanding(tools[0].server.name)
    configured = configured_servers(tools[0].server.spec)
    session = CallSession(ctx, server_id, registered)
    allowed = {row.tool.name for row in tools}
    missed = 0
    try:
        asker = _Asker(session, counter, done, allowed, cancelled)
        for _ in range(_ROUNDS):  # a gateway may still be reaching the servers behind it
            before = len(done.rows)
            asker.query_all()
            quiet = len(done.rows) == before and (done.rows or not asker.searches)
            done.missing = asker.missing(configured)
            missed += bool(quiet and done.missing)
            if (quiet and (not done.missing or missed == _MISSED)) or done.calls >= MOST_CALLS:
                break
            if asker.waits(_WAIT_SECONDS):
                break
    except ToolcribError as error:
        done.problem = error.text
    finally:
        session.close()
    return done


def keep(db: apsw.Connection, server_id: int, done: Expanding, at: float) -> None:
    """Store what was answered."""
    rows = [(tool, name, tokens) for name, (tool, tokens) in sorted(done.rows.items())]
    with transaction(db):
        hidden_tools.replace(db, server_id, rows, at, done.missing)


def askable(rows: Iterable[CatalogTool]) -> dict[int, list[CatalogTool]]:
    """Servers, by id, with a tool that can be asked what it hides, with their tools on."""
    servers: dict[int, list[CatalogTool]] = {}
    for row in rows:
        if row.shown:
            servers.setdefault(row.server.id, []).append(row)
    return {number: tools for number, tools in servers.items() if may_be_asked(tools)}


def ask_servers(
    ctx: AppContext,
    places: Places,
    servers: Mapping[int, Sequence[CatalogTool]],
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Expanding]:
    """Ask one server after the other and store what each answered; blocks."""
    counter = make_counter(ctx.settings.encoding)
    with ctx.store() as db:
        registered = register(ctx, db, read_hosts(places))
        for number, rows in servers.items():
            if cancelled():
                return
            done = expand_server(
                ctx, number, rows, counter, registered=registered, cancelled=cancelled
            )
            keep(db, number, done, ctx.clock())
            yield done


def may_be_asked(tools: Sequence[CatalogTool]) -> bool:
    """True if a server has a tool that can be asked what it hides."""
    kinds = {hiding_kind(row.tool.name, row.tool.raw) for row in tools if row.shown}
    return SWITCHES in kinds or (SEARCHES in kinds and CALLS in kinds)


class _Asker:
    """Calls of one server's search and switch tools."""

    def __init__(
        self,
        session: CallSession,
        counter: Counter,
        done: Expanding,
        listed: set[str],
        cancelled: Callable[[], bool],
    ) -> None:
        self._session, self._counter, self._done = session, counter, done
        self._listed, self._cancelled = listed, cancelled
        self.groups: list[str] = []
        self._owners: set[str] = set()  # servers whose tools were named
        self._own: dict[str, Json] = {}  # searches among the present list
        self._refused = 0  # calls without a result
        self.searches = False  # the server has something to be asked

    def query_all(self) -> None:
        """Ask by the server's present list: groups, searches, then switches."""
        entries = {
            str(e.get("name")): e for e in self._session.list_tools(cancelled=self._cancelled)
        }
        own = {n: e for n, e in entries.items() if n in self._listed and not is_destructive(e)}
        kinds = {name: hiding_kind(name, entry) for name, entry in own.items()}
        calls = CALLS in kinds.values()
        self.groups = _groups_written(own, kinds)
        # of a server with many tools, a list of groups is about what it serves
        if (calls or SWITCHES in kinds.values()) and len(own) <= _MENU:
            for name in own:
                if _LISTS_GROUPS.search(name):
                    self.query_groups(name, own[name])
        # a gateway's "discover_tools" beside a tool that calls by name is a search
        kinds_searched = (SEARCHES, SWITCHES) if calls else (SEARCHES,)
        searches = [name for name, kind in kinds.items() if kind in kinds_searched]
        self.searches = bool(searches)
        self._own = {name: own[name] for name in searches}
        for name in searches:
            self.query(name, own[name], switches=False)
        for name, kind in kinds.items():
            if not calls and kind == SWITCHES and not _SWITCHES_OFF.search(name):
                self.query(name, own[name], switches=True)

    def query(self, tool: str, raw: Json, *, switches: bool) -> None:
        """Call a tool with all that its arguments may hold, until nothing new is named."""
        dry = 0
        tools = list(self._done.rows) if switches else []
        for arguments in arguments_for(raw, self.groups, tools):
            if dry >= _DRY or self._is_over():
                return
            result = self._call(tool, arguments)
            before = len(self._done.rows)
            if switches:  # one may push another out
                self.list_again(tool)
            else:
                self._take(tool, named_in_answer(result))
            self.groups += [g for g in groups_in_answer(result) if g not in self.groups]
            dry = 0 if switches or len(self._done.rows) > before else dry + 1

    def query_groups(self, tool: str, raw: Json) -> None:
        """Call a tool that lists groups, servers or categories."""
        for arguments in [] if self._is_over() else list(arguments_for(raw, ()))[:1]:
            result = self._call(tool, arguments)
            self.groups += [g for g in groups_in_answer(result) if g not in self.groups]

    def missing(self, servers: Sequence[str]) -> tuple[str, ...]:
        """Of these, the servers that own no tool named so far, and whose name finds none."""
        names = (*self._listed, *self._done.rows)
        return tuple(
            server
            for server in servers
            if self._own
            and server not in self._owners
            and not any(_is_under(server, name) for name in names)
            and not self._finds(server)
        )

    def _finds(self, server: str) -> bool:
        for tool, raw in self._own.items():
            for arguments in arguments_for(raw, (server,), words=(server,)):
                if server not in arguments.values() and [server] not in arguments.values():
                    continue
                if self._is_over():
                    return False
                named = named_in_answer(self._call(tool, arguments))
                self._take(tool, named)
                owners = {one for definition in named.values() for one in _owners(definition)}
                if named and (not owners or server in owners):
                    return True
        return False

    def _is_over(self) -> bool:
        """True once it may be called no more."""
        return self._done.calls >= MOST_CALLS or self._cancelled()

    def waits(self, seconds: float) -> bool:
        """Give the server time to reach those behind it; True if it was cancelled."""
        return self._cancelled() or Event().wait(seconds)

    def list_again(self, tool: str) -> None:
        """Take the tools that are listed since a switch."""
        named: dict[str, Json] = {}
        for entry in self._session.list_tools(cancelled=self._cancelled):
            name = entry.get("name")
            if isinstance(name, str):
                named[name] = entry
        self._take(tool, named)

    def _take(self, tool: str, named: Mapping[str, Json]) -> None:
        for name, definition in named.items():
            self._owners.update(_owners(definition))
            if name in self._listed or len(self._done.rows) >= MOST:
                continue
            tokens = self._tokens(name, definition)
            known = self._done.rows.get(name)
            if known is None or known[1] < tokens:
                self._done.rows[name] = (tool, tokens)

    def _tokens(self, name: str, definition: Json) -> int:
        schema = next(
            (definition[k] for k in ("inputSchema", "input_schema", "parameters", "schema")
             if isinstance(definition.get(k), dict)),
            None,
        )  # fmt: skip
        if schema is None:
            return 0
        raw = {"name": name, "description": definition.get("description") or ""}
        return self._counter.count(host_text(raw | {"inputSchema": schema}))

    def _call(self, tool: str, arguments: Json) -> Json:
        self._done.calls += 1
        answer = self._session.call(tool, arguments, cancelled=self._cancelled)
        self._refused += bool(answer.problem)
        if self._refused > _REFUSALS:
            raise ToolcribError(answer.problem)
        return {} if answer.failed else answer.result


def arguments_for(
    raw: Json, groups: Sequence[str], tools: Sequence[str] = (), words: Sequence[str] = _WORDS
) -> Iterator[Json]:
    """Arguments for a search or a switch, the widest first; none where one cannot be guessed.

    `tools`: names known to be behind, for a switch that takes them; `words` are searched for.
    """
    schema = object_or_empty(raw.get("inputSchema"))
    fields = object_or_empty(schema.get("properties"))
    required = [str(one) for one in schema.get("required") or ()]
    fixed: Json = {}
    query = group = ""
    for name, about in fields.items():
        plain = str(name).lower().replace("-", "_")
        if plain in _LIMIT:
            fixed[name] = _most(about)
        elif plain in _TOOLS and tools and not group:
            group, groups = name, tools
        elif plain in _GROUPS and not group:
            group = name
        elif plain in _QUERY and not query:
            query = name
        elif name in required:
            value = _any_value(about)
            if value is None:
                return
            fixed[name] = value
    if group:
        if group not in required:
            yield from _queries(fixed, query, words, is_required=query in required)
        values: list[Any] = list(_enum(fields[group]) or groups)  # its answer may name groups
        if isinstance(fields[group], dict) and fields[group].get("type") == "array":
            values = [values] if groups is tools else [[one] for one in values]
        for value in values:
            more = fixed | {group: value}
            yield from _queries(more, query, words[:2], is_required=query in required)
        return
    yield from _queries(fixed, query, words, is_required=query in required)


def _queries(fixed: Json, query: str, words: Sequence[str], *, is_required: bool) -> Iterator[Json]:
    if not query:
        yield fixed
        return
    if not is_required:
        yield fixed
    for word in words:
        yield fixed | {query: word}


def _owners(definition: Json) -> Iterator[str]:
    """Servers that a definition in an answer says it is of."""
    for key, value in definition.items():
        if str(key).lower().replace("-", "_") in _GROUPS and isinstance(value, str):
            yield value


def _is_under(server: str, name: str) -> bool:
    """True for a tool's name that begins with a server's, and not in the middle of a word."""
    own = re.escape(server.replace("-", "_"))
    end = "(?![A-Za-z0-9])|(?<=[a-z0-9])(?=[A-Z])"
    return re.match(f"(?i:{own})(?:{end})", name.replace("-", "_")) is not None


def _most(about: Any) -> int:
    most = object_or_empty(about).get("maximum")
    return int(most) if isinstance(most, int | float) and 0 < most <= MOST else _MANY


def _enum(about: Any) -> list[Any]:
    inner = object_or_empty(about).get("items", about)
    return list_or_empty(object_or_empty(inner).get("enum"))[:MOST_CALLS]


def _any_value(about: Any) -> Any:
    values = _enum(about)
    kind = object_or_empty(about).get("type")
    return values[0] if values else {"boolean": True, "array": [], "object": {}}.get(str(kind))


def _groups_written(own: Mapping[str, Json], kinds: Mapping[str, str]) -> list[str]:
    """Groups that the descriptions of hiding tools list, as `- name: ...`."""
    names: list[str] = []
    for name, entry in own.items():
        if kinds[name]:
            text = {"content": [{"text": str(entry.get("description") or "")}]}
            names += [one for one in named_in_answer(text) if one not in names]
    return names[:MOST_CALLS]
