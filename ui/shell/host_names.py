"""Names of hosts in columns."""

from app.hosts.facts import load_hosts
from store.records import AS_IS, NATIVE, PRUNED, THROUGH

MODE_NAMES = {AS_IS: "As is", NATIVE: "Native", PRUNED: "Pruned", THROUGH: "Through Toolcrib"}


def host_names() -> dict[str, str]:
    """Host ids to short names: "Cursor (IDE + cursor-agent CLI)" is too long for a column."""
    names = {host.id: host.name.partition(" (")[0] for host in load_hosts()}
    return names | {"manual": "By hand"}
