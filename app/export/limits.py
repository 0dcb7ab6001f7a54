"""A host's own limits on how many tools it takes and how long their names may be."""

from collections.abc import Sequence

from app.catalog.catalog import CatalogTool
from app.hosts.facts import HostFacts


def limit_warnings(host: HostFacts, rows: Sequence[CatalogTool]) -> list[str]:
    """Sentences for what goes over this host's limits."""
    warnings: list[str] = []
    if host.tool_limit and len(rows) > host.tool_limit:
        takes = "takes at most" if host.limit_kind == "hard" else "works best with at most"
        warnings.append(f"{host.name} {takes} {host.tool_limit:,} tools; {len(rows):,} are on.")
    if long := long_names(host, rows):
        example = long[0].tool.tool_id
        warnings.append(
            f"{len(long)} tool names are longer than the {host.names.max} characters that"
            f" {host.name} takes, for instance {example}."
        )
    if clashes := name_clashes(host, rows):
        warnings.append(
            f"{host.name} shows different tools as {clashes[0]}, so one of them is lost."
        )
    return warnings


def long_names(host: HostFacts, rows: Sequence[CatalogTool]) -> list[CatalogTool]:
    """Tools whose name in this host is over its limit."""
    if not host.names.max:
        return []
    return [row for row in rows if len(host_name(host, row)) > host.names.max]


def name_clashes(host: HostFacts, rows: Sequence[CatalogTool]) -> list[str]:
    """Names under which this host shows more than one tool of different servers or spelling."""
    if "{server}" not in host.names.form:
        return []
    seen: dict[str, str] = {}
    clashes = []
    for row in rows:
        name = host_name(host, row)
        if seen.setdefault(name, row.tool.tool_id) != row.tool.tool_id:
            clashes.append(name)
    return clashes


def host_name(host: HostFacts, row: CatalogTool) -> str:
    """The name under which the host shows a tool to its model."""
    return host.names.name(entry_name(host, row), row.tool.name)


def entry_name(host: HostFacts, row: CatalogTool) -> str:
    """The name that the host's file gives a tool's server."""
    return next((e.name for e in row.server.entries if e.host == host.id), row.server.name)
