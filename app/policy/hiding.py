"""Tools that hide others: a count of definitions says little where one of them runs many.

The Tool Budget pattern asks for the count after expansion. A tool that hides others is recognised
by its shape; the number behind it is known only where the server was asked, and a surface says so.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.catalog.behind import ARGUMENT_FIELDS, NAME_FIELDS, VERB
from app.catalog.catalog import CatalogTool
from store.typed import Json, object_or_empty

CALLS, SEARCHES, SWITCHES, CODE = "calls", "searches", "switches", "code"
_KINDS = {
    CALLS: "calls tools by name",
    SEARCHES: "searches tools that are not listed",
    SWITCHES: "switches more tools on",
    CODE: "runs code, so that its definition does not say what it can do",
}
_VERB = re.compile(VERB)
_NOUN = r"(?:tool|function|action|capabilit|operation|endpoint|command)"
_SEARCH = re.compile(
    rf"(?i)(?:^|[-_.])(?:search|find|list|discover|get|describe|show|browse)[-_.]"
    rf"(?:\w+[-_.])?{_NOUN}(?:s|y|ies|sets?)?(?:$|[-_.])"
)
_SWITCH = re.compile(
    r"(?i)(?:^|[-_.])(?:enable|disable|activate|deactivate|load|unload|discover)[-_.]"
    r"(?:\w+[-_.])?(?:tools?|toolsets?|tool_?groups?|namespaces?|groups?|categor(?:y|ies)|plugins?)(?:$|[-_.])"
)
# "manage_workflows" is a tracker's word, too, unless it says on or off
_MANAGES = re.compile(
    r"(?i)(?:^|[-_.])(?:manage|toggle|configure|set)[-_.]"
    r"(?:tools?|toolsets?|tool_?groups?|workflows?|modules?|categor(?:y|ies))(?:$|[-_.])"
)
_ON_OR_OFF = frozenset({"enable", "enabled", "activate", "active"})
_CODE_NAMES = frozenset({"code", "script", "source", "program", "javascript", "python"})


@dataclass(frozen=True, slots=True)
class HidingTool:
    """A tool that hides others, by its id."""

    tool_id: str
    kind: str

    @property
    def text(self) -> str:
        """One sentence."""
        return f"{self.tool_id} {_KINDS[self.kind]}; how many are behind it is not known."


def hiding_kind(name: str, definition: Json) -> str:
    """Kind of a tool that hides others by its name and input schema, "" for any other."""
    fields = object_or_empty(object_or_empty(definition.get("inputSchema")).get("properties"))
    lower = {str(field).lower().replace("-", "_") for field in fields}
    verb = bool(_VERB.search(name))
    if verb and lower & NAME_FIELDS and lower & ARGUMENT_FIELDS:
        return CALLS
    if verb and lower & _CODE_NAMES:
        return CODE
    if _SWITCH.search(name) or (_MANAGES.search(name) and lower & _ON_OR_OFF):
        return SWITCHES
    return SEARCHES if _SEARCH.search(name) else ""


def hiding_tools(rows: Iterable[CatalogTool]) -> tuple[HidingTool, ...]:
    """The tools on that hide others, by their ids.

    A tool that only searches counts where its server also has one that calls or switches: a list
    of a tracker's actions is no menu of tools.
    """
    kinds = [(row, hiding_kind(row.tool.name, row.tool.raw)) for row in rows if row.shown]
    acting = {row.server.id for row, kind in kinds if kind in (CALLS, SWITCHES)}
    return tuple(
        sorted(
            (
                HidingTool(row.tool.tool_id, kind)
                for row, kind in kinds
                if kind and (kind != SEARCHES or row.server.id in acting)
            ),
            key=lambda tool: tool.tool_id,
        )
    )
