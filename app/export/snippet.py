"""The text to paste into a host whose files Toolcrib does not write."""

import json

from app.export.wrapping import GatewayCall, through_entry
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import HostFacts


def snippet(host: HostFacts, call: GatewayCall) -> str:
    """Toolcrib's one entry, in the host's own spelling."""
    kind = next(iter(host.server_files), None)
    entry = through_entry(host.style, call, THROUGH_NAME)
    if kind is not None and kind.format == "toml":
        from app.hosts.documents.toml_edit import table_text

        return table_text((*kind.at, THROUGH_NAME), entry)
    if kind is not None and kind.format == "yaml":
        from app.hosts.documents.edits import Path, Set
        from app.hosts.documents.yaml_edit import edit_yaml

        named = {"name": THROUGH_NAME, **entry}
        as_list = host.style.headers == "requestOptions.headers"
        at: Path = (*kind.at, 0) if as_list else (*kind.at, THROUGH_NAME)
        return edit_yaml("", [Set(at, named if as_list else entry)])
    tree: object = {THROUGH_NAME: entry}
    for key in reversed(kind.at if kind is not None and kind.at else ("mcpServers",)):
        tree = {key: tree}
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
