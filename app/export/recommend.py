"""Which mode fits a host best, with the reason and the real saving."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.catalog import Catalog, CatalogTool
from app.export.limits import long_names
from app.hosts.facts import HostFacts
from app.tokens.menu import menu_tokens
from store.records import AS_IS, NATIVE, PRUNED, THROUGH


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A mode, one sentence why, and what it saves."""

    mode: str
    reason: str
    saving: int  # tokens of tool definitions that the model no longer gets
    saving_note: str = ""  # why the host really saves less, or what was measured


def recommend(host: HostFacts, catalog: Catalog) -> Recommendation:
    """The mode for this host under the catalogue's profile."""
    rows = host_rows(host, catalog)
    shown = [row for row in rows if row.shown]
    all_tokens, on_tokens = _tokens(rows), _tokens(shown)
    cut = all_tokens - on_tokens
    note = _note(host)
    native = host.native is not None and not host.native.partial
    if not rows:
        return Recommendation(AS_IS, f"{host.name} has no server in the catalogue.", 0)
    if host.defers in ("always", "default"):
        if len(shown) == len(rows):
            return Recommendation(AS_IS, host.defers_why, 0, note)
        reason = f"{host.name} loads tools on demand; its own switches hide the rest from it."
        return Recommendation(NATIVE if native else PRUNED, reason, 0, note)
    limit = host.tool_limit
    if limit and len(shown) > limit:
        reason = f"{host.name} takes about {limit} tools and {len(shown)} are on."
        return Recommendation(THROUGH, reason, all_tokens - _menu(catalog), note)
    if on_tokens > catalog.settings.budget.tokens:
        reason = f"The tools that are on take {on_tokens:,} tokens, over the profile's budget."
        return Recommendation(THROUGH, reason, all_tokens - _menu(catalog), note)
    if long := long_names(host, shown):
        reason = f"{len(long)} tool names are too long for {host.name}; behind one entry they fit."
        return Recommendation(THROUGH, reason, all_tokens - _menu(catalog), note)
    if len(shown) == len(rows):
        return Recommendation(AS_IS, "Every tool is on and within the limits.", 0, note)
    off = len(rows) - len(shown)
    if native:
        named = "the tool that is" if off == 1 else f"the {off} tools that are"
        reason = f"{host.name} can hide {named} off by itself."
        return Recommendation(NATIVE, reason, cut, note)
    named = "1 tool" if off == 1 else f"{off} tools"
    reason = f"{host.name} has no switches of its own, so the gateway hides {named}."
    return Recommendation(PRUNED, reason, cut, note)


def host_rows(host: HostFacts, catalog: Catalog) -> list[CatalogTool]:
    """The usable tools of the servers that this host's files name."""
    return [
        row
        for row in catalog.tools
        if not row.tool.gone
        and not row.tool.problem
        and row.server.trusted
        and any(entry.host == host.id and not entry.disabled for entry in row.server.entries)
    ]


def _note(host: HostFacts) -> str:
    measured = f" Measured with 60 tools: {host.measured}." if host.measured else ""
    return f"{host.defers_why}{measured}".strip()


def _menu(catalog: Catalog) -> int:
    """What the model gets through Toolcrib."""
    return menu_tokens(catalog) + _tokens([row for row in catalog.shown if row.pinned])


def _tokens(rows: Sequence[CatalogTool]) -> int:
    return sum(row.cost for row in rows)
