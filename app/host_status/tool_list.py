"""Exactly which tools a host's model gets, under which names, and what keeps the others from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.catalog.catalog import Catalog, CatalogTool
from app.catalog.menu_tools import CALL, SEARCH
from app.export.limits import host_name, long_names, name_clashes
from app.export.model_tools import host_rows
from app.host_status.sizes import HostSize
from app.hosts.entries import THROUGH_NAME
from app.tokens.menu import MENU_TOOLS, menu_tokens
from store.records import THROUGH

# in the order in which a list shows them
GIVEN, ON_DEMAND, BEHIND, OVER, HELD, OFF = (
    "given",
    "on demand",
    "behind the search",
    "over a limit",
    "held",
    "off",
)
_STATES = (GIVEN, OVER, ON_DEMAND, BEHIND, HELD, OFF)


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as a host's model meets it, or why it does not."""

    name: str  # that the model sees, or would see
    tool_id: str  # server/tool, "" for the gateway's own
    tokens: int  # at the first request
    later: int  # tokens that follow when the model asks for it
    state: str
    why: str


def listed_tools(size: HostSize) -> tuple[ListedTool, ...]:
    """Every tool that this host could have; those that its model gets first, largest first."""
    catalog = size.catalog if size.mode != THROUGH else size.catalog.only(size.behind)
    sent = {row.tool.id for row in size.sent.tools}
    direct = {row.tool.id for row in size.sent.direct}
    rows = [*_menu(size, catalog), *_sent(size, catalog, direct)]
    through = size.mode == THROUGH
    others: Sequence[CatalogTool] = catalog.tools if through else host_rows(size.facts, catalog)
    rows += [
        _withheld(size, row) for row in others if row.tool.id not in sent and not row.tool.gone
    ]
    return tuple(sorted(rows, key=lambda one: (_STATES.index(one.state), -one.tokens, one.name)))


def _menu(size: HostSize, catalog: Catalog) -> Iterator[ListedTool]:
    """The gateway's own two; their cost with the greeting is counted with the first."""
    if size.mode != THROUGH or size.sent.count - len(size.sent.tools) < MENU_TOOLS:
        return
    tokens = menu_tokens(catalog)
    names = size.facts.names
    search, call = (names.name(THROUGH_NAME, tool) for tool in (SEARCH, CALL))
    yield ListedTool(search, "", tokens, 0, GIVEN, "Toolcrib's menu, with what it says at start")
    yield ListedTool(call, "", 0, 0, GIVEN, "Toolcrib's menu, counted with the search")


def _sent(size: HostSize, catalog: Catalog, direct: set[int]) -> Iterator[ListedTool]:
    facts = size.facts
    too_long = {row.tool.id for row in long_names(facts, size.sent.tools)}
    clashing = set(name_clashes(facts, size.sent.tools))
    known = {row.tool.id: row for row in catalog.tools}
    for number, row in enumerate(size.sent.tools):
        name = host_name(facts, row)
        if size.mode == THROUGH and row.tool.id not in direct:
            name = facts.names.name(THROUGH_NAME, f"{row.server.name}__{row.tool.name}")
        later = 0
        state, why = GIVEN, _not_followed(row)
        if row.tool.id in size.sent.deferred:
            later = known[row.tool.id].cost if row.tool.id in known else 0
            state = ON_DEMAND
            why = f"{facts.name} sends the name and loads the schema when asked. {why}".strip()
        if row.tool.id in too_long:
            state, why = OVER, f"its name is longer than the {facts.names.max} characters it takes"
        elif name in clashing:
            state, why = OVER, "another tool has the same name here, so one of them is lost"
        elif facts.tool_limit and number >= facts.tool_limit:
            state, why = OVER, f"more than the {facts.tool_limit} tools that {facts.name} takes"
        yield ListedTool(name, row.tool.tool_id, row.cost, later, state, why)
    for entry, row in size.sent.again:
        why = f"{facts.name} names its server twice, here as {entry}"
        name = facts.names.name(entry, row.tool.name)
        yield ListedTool(name, row.tool.tool_id, row.cost, 0, GIVEN, why)


def _not_followed(row: CatalogTool) -> str:
    """Reason that the model will not get a tool, once Toolcrib has written the host's file."""
    if row.shown or not row.reasons:
        return ""
    reason = row.reasons[0]
    return f"given although {reason.sentence}: the host's file decides"


def _withheld(size: HostSize, row: CatalogTool) -> ListedTool:
    name = host_name(size.facts, row)
    if row.shown:
        why = f"{SEARCH} finds it, {CALL} calls it"
        return ListedTool(name, row.tool.tool_id, 0, row.cost, BEHIND, why)
    reason = row.reasons[0]
    state = HELD if row.held else OFF
    why = reason.sentence
    return ListedTool(name, row.tool.tool_id, 0, 0, state, why)
