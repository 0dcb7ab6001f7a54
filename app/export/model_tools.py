"""Tool definitions that a host's model gets: one answer for every page, the CLI and the plans.

Counted is what the host sends at the first request of a session outside any project: the servers
of the user's own files, of extensions and of managed files. A host that always or by default loads
schemas on demand sends names only; what it would load is `later`. Hosts that defer with some models
or settings only are counted as sending everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.catalog.catalog import Catalog, CatalogTool
from app.export.limits import host_name
from app.export.wrapping import narrowed_servers
from app.hosts.facts import HostFacts
from app.tokens.menu import MENU_TOOLS, menu_tokens, name_tokens
from store.records import AS_IS, NATIVE, PRUNED, THROUGH, ServerRecord

LEFT_ALONE = ("extension", "managed")  # scopes of files that no export changes


@dataclass(frozen=True, slots=True)
class ModelTools:
    """Tools that a host's model gets in a mode; the gateway's own menu is in the numbers only.

    Of a tool that the host defers, `tools` holds the row with the cost of its name alone.
    """

    tools: tuple[CatalogTool, ...]
    tokens: int  # at the first request
    count: int
    later: int = 0  # tokens of the schemas that the host itself holds back until they are searched
    deferred: frozenset[int] = frozenset()  # row ids of those tools
    direct: tuple[CatalogTool, ...] = ()  # that come from their servers, not through a gateway
    # sent once more, under another entry's name; in the numbers, but not among `tools`
    again: tuple[tuple[str, CatalogTool], ...] = ()

    def with_again(self, host: HostFacts, again: Sequence[tuple[str, CatalogTool]]) -> "ModelTools":
        """The same with tools of servers that the host names twice."""
        more = as_sent(host, [row for _name, row in again])
        return replace(
            self,
            tokens=self.tokens + more.tokens,
            count=self.count + more.count,
            later=self.later + more.later,
            again=tuple(zip((name for name, _row in again), more.tools, strict=True)),
        )


def host_rows(host: HostFacts, catalog: Catalog) -> list[CatalogTool]:
    """The usable tools of the servers that this host's files name, projects' files aside.

    Trust is Toolcrib's: a host that is left as it is starts an untrusted server too.
    """
    ids = {server.id for server in catalog.servers if _scopes(host, server)}
    return [row for row in catalog.tools if row.server.id in ids and row.usable]


def model_tools(host: HostFacts, mode: str, catalog: Catalog) -> ModelTools:
    """The part of a host's tools that its model gets in that mode.

    Servers of extensions and managed files stay as they are in every mode; through Toolcrib the
    rest is the menu of the host's own servers, with their pinned tools. What it gets now is in
    app.export.file_tools.
    """
    every = host_rows(host, catalog)
    if mode == AS_IS or (mode == NATIVE and host.native is not None and host.native.partial):
        return replace(as_sent(host, every), direct=tuple(every))
    # an untrusted server stays as it is in the file, like entries that no export writes
    alone = {
        row.server.id for row in every if not row.server.trusted or _left_alone(host, row.server)
    }
    left = [row for row in every if row.server.id in alone]
    if mode != THROUGH:
        kept = [row for row in every if row.server.id in alone or row.shown]
        return replace(as_sent(host, kept), direct=tuple(_direct(mode, kept, alone, catalog)))
    served = catalog.only({row.server.name for row in every} - {row.server.name for row in left})
    return with_menu(host, replace(as_sent(host, left), direct=tuple(left)), left, served)


def with_menu(
    host: HostFacts, sent: ModelTools, rows: Sequence[CatalogTool], served: Catalog
) -> ModelTools:
    """Model's tools from `rows`, and the menu of the servers in `served` with their pinned tools.

    `sent` is what it gets of the rows alone.
    """
    menu = as_sent(host, rows, [row for row in served.shown if row.pinned])
    return replace(
        menu,
        tokens=menu.tokens + menu_tokens(served),
        count=menu.count + MENU_TOOLS,
        direct=sent.direct,
    )


def _direct(
    mode: str, kept: Sequence[CatalogTool], alone: set[int], catalog: Catalog
) -> list[CatalogTool]:
    """The kept tools that the host gets without a gateway."""
    if mode != PRUNED:
        return list(kept)
    wrapped = narrowed_servers(catalog) - alone
    return [row for row in kept if row.server.id not in wrapped]


def _scopes(host: HostFacts, server: ServerRecord) -> set[str]:
    """Scopes in which this host names the server, except projects and folders (`local:`)."""
    scopes = {e.scope for e in server.entries if e.host == host.id and not e.disabled}
    return {scope for scope in scopes if scope != "project" and not scope.startswith("local:")}


def _left_alone(host: HostFacts, server: ServerRecord) -> bool:
    scopes = _scopes(host, server)
    return bool(scopes) and scopes <= set(LEFT_ALONE)


def as_sent(
    host: HostFacts, rows: Sequence[CatalogTool], menu: Sequence[CatalogTool] = ()
) -> ModelTools:
    """The tools with their cost at the first request; those of the gateway's menu come whole."""
    if not host.defers_tools:
        tools = (*rows, *menu)
        return ModelTools(tools, sum(row.cost for row in tools), len(tools))
    tools = (*(_named_only(host, row) for row in rows), *menu)
    tokens = sum(row.cost for row in tools)
    every = sum(row.cost for row in (*rows, *menu))
    deferred = frozenset(row.tool.id for row in rows)
    return ModelTools(tools, tokens, len(tools), max(0, every - tokens), deferred)


def _named_only(host: HostFacts, row: CatalogTool) -> CatalogTool:
    if row.tokens is None:
        return row
    return replace(row, tokens=replace(row.tokens, host_text=name_tokens(host_name(host, row))))
