"""Native pruning: the host's own per-tool switches, spelled as each host spells them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.text import plural
from app.hosts.documents.edits import Delete, Edit, Path, Set, value_at
from app.hosts.facts import EntryStyle, HostFacts, NativeRoute
from store.typed import JsonMapping, list_or_empty

PROFILE_KEY = "toolcrib"
# Tools of Zed's own `write` profile; a profile without tools would switch all of them off.
_ZED_TOOLS = (
    *("copy_path", "create_directory", "delete_path", "diagnostics", "edit_file", "fetch"),
    *("list_directory", "move_path", "now", "find_path", "read_file", "save_file", "open"),
    *("grep", "terminal", "thinking", "web_search"),
)


@dataclass(frozen=True, slots=True)
class ServerTools:
    """One entry of the host with the raw names of its tools: those kept, and the others."""

    name: str  # the entry's key in the host's file
    at: Path
    raw: JsonMapping
    kept: tuple[str, ...]
    hidden: tuple[str, ...]


@dataclass(slots=True)
class NativeEdits:
    """Edits of one file, the list items added to lists of the user, and what to say about it."""

    edits: list[Edit] = field(default_factory=list)
    items: dict[Path, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)

    def put(self, server: ServerTools, key: str, value: object) -> None:
        """Set a key of the server's entry, where it is another one."""
        present = server.raw.get(key)
        if present != value or type(present) is not type(value):
            self.edits.append(Set((*server.at, key), value))

    def count(self, server: ServerTools) -> None:
        """Note how many of a server's tools are kept, where some are hidden."""
        total = len(server.kept) + len(server.hidden)
        if server.hidden:
            self.changes.append(f"{server.name}: {len(server.kept)} of {total} tools")


def entry_edits(
    servers: Sequence[ServerTools], style: EntryStyle, route: NativeRoute
) -> NativeEdits:
    """Edits of the allow and deny lists in the server's entry."""
    out = NativeEdits()
    for server in servers:
        if not server.hidden:
            _clear(out, server, route)
        elif not server.kept:
            _switch_off(out, server, style, route)
        elif route.allow:
            _allow(out, server, route)
        else:
            out.put(server, route.deny, list(server.hidden))
            out.count(server)
    return out


def rule_edits(servers: Sequence[ServerTools], host: HostFacts, tree: Any) -> NativeEdits:
    """Claude Code: deny rules in its settings file; a server without tools is denied whole."""
    out = NativeEdits()
    at: Path = ("permissions", "deny")
    have = value_at(tree, at) or []
    wanted: list[str] = []
    for server in servers:
        if server.hidden and not server.kept:
            wanted.append(f"mcp__{host.names.clean(server.name)}")
            out.changes.append(f"{server.name}: denied as a whole")
        elif server.hidden:
            wanted += [host.names.name(server.name, tool) for tool in server.hidden]
            out.count(server)
    new = [rule for rule in dict.fromkeys(wanted) if rule not in have]
    if not new:
        return out
    if isinstance(value_at(tree, at), list):
        out.edits = [Set((*at, len(have) + index), rule) for index, rule in enumerate(new)]
        out.items = {at: new}
    else:
        out.edits = [Set(at, new)]
    return out


def permission_edits(servers: Sequence[ServerTools], host: HostFacts, tree: Any) -> NativeEdits:
    """opencode and Kilo: permission rules, where the last rule that matches wins."""
    out = NativeEdits()
    rules = value_at(tree, ("permission",))
    if rules is not None and not isinstance(rules, Mapping):
        out.warnings.append("`permission` is one word for everything; it becomes a map.")
        out.edits.append(Set(("permission",), {"*": rules}))
        rules = {"*": rules}
    for server in servers:
        if not server.hidden:
            continue
        if server.kept:
            names = [host.names.name(server.name, tool) for tool in server.hidden]
            out.count(server)
        else:
            names = [f"{host.names.clean(server.name)}_*"]
            out.changes.append(f"{server.name}: denied as a whole")
        for name in names:
            if rules and name in rules:
                if rules[name] == "deny" and not _is_overruled(name, rules):
                    continue
                out.edits.append(Delete(("permission", name)))  # it moves to the end, so it wins
            out.edits.append(Set(("permission", name), "deny"))
    return out


def _is_overruled(name: str, rules: JsonMapping) -> bool:
    """True if a later rule that is no denial may match what this one denies."""
    later = list(rules)[list(rules).index(name) + 1 :]
    return any(rules[one] != "deny" and set("*?") & {*name, *one} for one in later)


def profile_edits(servers: Sequence[ServerTools], tree: Any) -> NativeEdits:
    """Zed: an agent profile of Toolcrib's own, made the default one."""
    out = NativeEdits()
    default = value_at(tree, ("agent", "default_profile"))
    profiles = value_at(tree, ("agent", "profiles")) or {}
    based_on = profiles.get(default, {}) if isinstance(default, str) else {}
    base = {key: value for key, value in based_on.items() if key != "context_servers"}
    if "tools" not in base:
        base["tools"] = dict.fromkeys(_ZED_TOOLS, True)
        out.warnings.append("The new profile has Zed's usual built-in tools on; check them in Zed.")
    tools = {
        server.name: {
            "tools": {**dict.fromkeys(server.kept, True), **dict.fromkeys(server.hidden, False)}
        }
        for server in servers
    }
    others = based_on.get("context_servers", {})
    profile = {
        **base,
        "name": "Toolcrib",
        "enable_all_context_servers": False,
        "context_servers": {**(others if isinstance(others, Mapping) else {}), **tools},
    }
    out.edits = [
        Set(("agent", "profiles", PROFILE_KEY), profile),
        Set(("agent", "default_profile"), PROFILE_KEY),
    ]
    for server in servers:
        out.count(server)
    out.changes.append("agent profile Toolcrib becomes the default")
    return out


def toolset_edits(servers: Sequence[ServerTools], route: NativeRoute) -> NativeEdits:
    """VS Code: a tool set; it narrows only the chats in which the user picks it."""
    kept = [f"{server.name}/{tool}" for server in servers for tool in server.kept]
    entry = {"tools": kept, "description": "The tools that Toolcrib keeps", "icon": "tools"}
    return NativeEdits(
        [Set((PROFILE_KEY,), entry)],
        warnings=[route.partial],
        changes=[f"tool set toolcrib with {plural(len(kept), 'tool')}"],
    )


def _allow(out: NativeEdits, server: ServerTools, route: NativeRoute) -> None:
    out.put(server, route.allow, list(server.kept))
    _undeny(out, server, route)  # that list wins over the allow list in every host that has both
    out.count(server)


def _clear(out: NativeEdits, server: ServerTools, route: NativeRoute) -> None:
    """Open the lists that hide tools: every tool is on."""
    if route.allow and server.raw.get(route.allow) not in (None, [], list(route.all)):
        missing = [tool for tool in server.kept if tool not in server.raw[route.allow]]
        if missing:
            out.put(server, route.allow, list(server.kept))
            out.changes.append(f"{server.name}: all {len(server.kept)} tools")
    if number := _undeny(out, server, route):
        out.changes.append(f"{server.name}: no longer hides {plural(number, 'tool')}")


def _undeny(out: NativeEdits, server: ServerTools, route: NativeRoute) -> int:
    """Take the kept tools out of the deny list; how many were in it."""
    denied = list_or_empty(server.raw.get(route.deny)) if route.deny else []
    left = [tool for tool in denied if tool not in server.kept]
    if len(left) < len(denied):
        out.edits.append(Set((*server.at, route.deny), left))
    return len(denied) - len(left)


def _switch_off(
    out: NativeEdits, server: ServerTools, style: EntryStyle, route: NativeRoute
) -> None:
    """No tool is on. An empty allow list means every tool in some hosts, so the server goes off."""
    if style.off is not None:
        key, value = style.off
        out.put(server, key, value)
        out.changes.append(f"{server.name}: switched off, it keeps no tool")
        return
    out.put(server, route.deny, list(server.hidden))
    out.changes.append(f"{server.name}: all {len(server.hidden)} tools hidden")
