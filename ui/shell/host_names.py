"""Names of hosts, and of the entries in their files, as the window has them."""

from app.hosts.facts import load_hosts
from store.records import AS_IS, MANUAL, NATIVE, PRUNED, THROUGH, EntryRecord, ServerRecord

MODE_NAMES = {AS_IS: "As is", NATIVE: "Native", PRUNED: "Pruned", THROUGH: "Through Toolcrib"}


def host_names() -> dict[str, str]:
    """Host ids to short names: "Cursor (IDE + cursor-agent CLI)" is too long for a column."""
    names = {host.id: host.name.partition(" (")[0] for host in load_hosts()}
    return names | {"manual": "By hand"}


def host_entries(server: ServerRecord) -> tuple[EntryRecord, ...]:
    """Entries of a server in hosts' files; none for one that was added by hand."""
    return tuple(entry for entry in server.entries if entry.host != MANUAL)


def entry_place(server: ServerRecord, entry: EntryRecord) -> str:
    """Host of one of a server's entries, with what tells it from others in the same host."""
    name = host_names().get(entry.host, entry.host)
    beside = [one for one in server.entries if one.host == entry.host]
    if len(beside) == 1:
        return name
    same = any(one.file == entry.file and one is not entry for one in beside)
    return f"{name}, as {entry.name}" if same else f"{name}, {entry.file}"
