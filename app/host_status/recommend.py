"""The mode that fits a host best, with the reason and the real saving."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.catalog.catalog import Catalog, CatalogTool
from app.core.text import plural
from app.export.limits import long_names
from app.export.model_tools import host_rows, model_tools
from app.hosts.facts import HostFacts
from store.records import AS_IS, NATIVE, PRUNED, THROUGH


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A mode, one sentence why, and what it saves."""

    mode: str
    reason: str
    saving: int  # tokens of tool definitions that the model no longer gets
    saving_note: str = ""  # why the host really saves less, or what was measured
    hook: bool = False  # whether a hook would serve as well as that mode


def recommend(host: HostFacts, catalog: Catalog) -> Recommendation:
    """The mode for this host under the catalogue's profile."""
    rows = [row for row in host_rows(host, catalog) if row.server.trusted]
    shown = [row for row in rows if row.shown]
    all_tokens, on_tokens = (sum(row.cost for row in some) for some in (rows, shown))
    measured = _measured(host)
    note = f"{host.defers_why} {measured}".strip()
    if not rows:
        return Recommendation(AS_IS, "No tool of its servers is known yet: read tools first.", 0)
    if host.defers_tools and len(shown) == len(rows):
        return Recommendation(AS_IS, host.defers_why, 0, measured)
    if reason := _too_much(host, shown, on_tokens, catalog.settings.budget.tokens):
        through = all_tokens - model_tools(host, THROUGH, catalog).tokens
        return Recommendation(THROUGH, reason, through, note)
    off = len(rows) - len(shown)
    if not off:
        return Recommendation(AS_IS, "Every tool is on and within the limits.", 0, note)
    cut = 0 if host.defers_tools else all_tokens - on_tokens
    if host.native is not None and not host.native.partial:
        named = "the tool that is" if off == 1 else f"the {off} tools that are"
        reason = f"{host.name} can hide {named} off by itself."
        return Recommendation(NATIVE, reason, cut, note)
    hidden = plural(off, "tool")
    reason = f"{host.name} has no switches of its own, so the gateway hides {hidden}."
    return Recommendation(PRUNED, reason, cut, note)


def _too_much(host: HostFacts, shown: Sequence[CatalogTool], tokens: int, budget: int) -> str:
    """Reason that these tools cannot all be in the host's list, a sentence; "" if they can."""
    if host.defers_tools:
        return ""
    limit = host.tool_limit
    if limit and len(shown) > limit:
        return f"{host.name} takes about {limit:,} tools and {len(shown):,} are on."
    if tokens > budget:
        return f"The tools that are on take {tokens:,} tokens, over the profile's budget."
    if long := long_names(host, shown):
        return f"{len(long)} tool names are too long for {host.name}; behind one entry they fit."
    return ""


def _measured(host: HostFacts) -> str:
    if not host.measured:
        return ""
    return f"Measured with 10 of 60 tools on: its requests are smaller by {host.measured}."
