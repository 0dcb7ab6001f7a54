"""The values of a profile in the form of a policy file: read from the store, put into it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import apsw

from app.catalog.catalog import find_profile
from app.catalog.conditions import DESTRUCTIVE
from app.catalog.setting_checks import check_change
from app.core.settings import ProfileSettings
from app.hosts.documents.edits import Delete, Edit, Path, Set
from app.policy.policy_file import Policy, names_tool
from store import profiles, tools
from store.connection import transaction
from store.records import ToolState
from store.typed import Any, Json

# key of the file -> attribute of the profile's settings
_BUDGET = {
    "strategy": "strategy",
    "max_tools": "max_tools",
    "max_schema_tokens": "tokens",
    "warn_percent": "warn_percent",
    "block_percent": "block_percent",
    "on_block": "on_block",
}
_ROUTING = ("cut", "theta", "delta", "floor", "k")
_TABLES = ("budget", "tools", "conditions", "scopes", "routing")


@dataclass(frozen=True, slots=True)
class ProfileValues:
    """Everything of a profile that a policy file can say, to be put back as it was."""

    settings: ProfileSettings
    states: Mapping[int, ToolState]


def read_values_of(db: apsw.Connection, profile: str) -> ProfileValues:
    """The values as they are stored."""
    record = find_profile(db, profile)
    return ProfileValues(ProfileSettings.from_json(record.settings), profiles.states(db, record.id))


def as_tree(values: ProfileValues, names: Mapping[int, str]) -> Json:
    """The values as keys of a policy file, defaults too; `names` are ids of tools by row."""
    settings = values.settings
    off = [names[i] for i, state in values.states.items() if not state.on and i in names]
    pinned = [names[i] for i, state in values.states.items() if state.pinned and i in names]
    return {
        "servers": None if settings.servers is None else list(settings.servers),
        "budget": {key: getattr(settings.budget, name) for key, name in _BUDGET.items()},
        "tools": {
            "off": sorted(off),
            "always_include": sorted(pinned),
            "confirm": [_whole(pattern) for pattern in settings.gateway.approve],
        },
        "conditions": {_whole(key): value for key, value in settings.preconditions.items()},
        "scopes": {_whole(key): value for key, value in settings.scopes.items()},
        "routing": {key: getattr(settings.routing, key) for key in _ROUTING},
    }


def _whole(pattern: str) -> str:
    """A pattern of the settings as a file takes it: there a word alone is a server's name."""
    return pattern if "/" in pattern or pattern == DESTRUCTIVE else f"*/{pattern}"


def names_of_tools(db: apsw.Connection) -> dict[int, str]:
    """Row and id of every tool."""
    return {tool.id: tool.tool_id for tool in tools.tools(db)}


def settings_of(policy: Policy, now: ProfileSettings) -> ProfileSettings:
    """The settings that the policy asks for; those that its format does not know stay."""
    default = ProfileSettings()
    budget = {"max_schema_tokens" if k == "limit" else k: v for k, v in policy.budget.items()}
    wanted = {name: budget.get(key, getattr(default.budget, name)) for key, name in _BUDGET.items()}
    routing = {key: policy.routing.get(key, getattr(default.routing, key)) for key in _ROUTING}
    return replace(
        now,
        servers=policy.servers,
        budget=replace(now.budget, **wanted),
        gateway=replace(now.gateway, approve=policy.confirm),
        routing=replace(now.routing, **routing),
        preconditions=dict(policy.conditions),
        scopes=dict(policy.scopes),
    )


def put_policy(db: apsw.Connection, profile: str, policy: Policy) -> None:
    """Give the profile the values of a policy; ToolcribError where one cannot be used."""
    record = find_profile(db, profile)
    now = ProfileSettings.from_json(record.settings)
    wanted = settings_of(policy, now)
    check_change(now, wanted)
    listed = replace(policy, servers=None)  # which servers count is a setting
    names = names_of_tools(db)
    on = {i for i, name in names.items() if listed.allows(name)}
    pinned = {i for i, name in names.items() if policy.includes(name)}
    with transaction(db):
        profiles.save_settings(db, record.id, wanted.to_json())
        profiles.set_on(db, record.id, on, True)
        profiles.set_on(db, record.id, names.keys() - on, False)
        profiles.set_pinned(db, record.id, pinned, True)
        profiles.set_pinned(db, record.id, names.keys() - pinned, False)


def put_values(db: apsw.Connection, profile: str, values: ProfileValues) -> None:
    """Put earlier values back; tools that came since stay as they are."""
    record = find_profile(db, profile)
    default = ToolState(0)
    states = {i: values.states.get(i, default) for i in names_of_tools(db)}
    with transaction(db):
        profiles.save_settings(db, record.id, values.settings.to_json())
        for flag in (True, False):
            profiles.set_on(db, record.id, [i for i, s in states.items() if s.on == flag], flag)
            pins = [i for i, s in states.items() if s.pinned == flag]
            profiles.set_pinned(db, record.id, pins, flag)


def whole_edits(tree: Json) -> list[Edit]:
    """Edits that make a file with a version alone say all of the tree but the defaults."""
    return edits_between(as_tree(ProfileValues(ProfileSettings(), {}), {}), tree, {})


def edits_between(before: Json, after: Json, file: Json) -> list[Edit]:
    """Edits of a file that carry a change of the profile over; other keys keep their bytes."""
    edits: list[Edit] = _list_edits(("servers",), before["servers"], after["servers"], file)
    for table in _TABLES:
        was, now = before[table], after[table]
        inside: list[Edit] = []
        for key in (*was, *(key for key in now if key not in was)):
            path, old, new = (table, key), was.get(key), now.get(key)
            if table == "tools":
                inside += _list_edits(path, old, new, file.get(table, {}))
            elif new is None:
                inside += [Delete(path)] if key in file.get(table, {}) else []
            elif new != old:
                inside.append(Set(path, list(new) if isinstance(new, tuple) else new))
        edits += _in_new_table(table, inside) if table not in file else inside
    return edits


def _in_new_table(table: str, edits: Iterable[Edit]) -> list[Edit]:
    """The same as one table, where the file has none of that name."""
    value = {str(edit.path[1]): edit.value for edit in edits if isinstance(edit, Set)}
    return [Set((table,), value)] if value else []


def _list_edits(path: Path, old: Any, new: Any, holder: Json) -> list[Edit]:
    """Items added to a list and taken out of it; the others stay where they are."""
    if old == new:
        return []
    present = holder.get(str(path[-1]))
    if new is None:
        return [] if present is None else [Delete(path)]
    if present is None or old is None:
        return [Set(path, list(new))]
    gone = [n for n, item in enumerate(present) if item in old and item not in new]
    added = [item for item in new if item not in old and item not in present]
    edits: list[Edit] = [Delete((*path, n)) for n in reversed(gone)]
    first = len(present) - len(gone)
    return [*edits, *(Set((*path, first + n), item) for n, item in enumerate(added))]


def hindrance(policy: Policy, tool_id: str) -> str:
    """The line of a policy that keeps a tool off whatever its own entry says, "" for none."""
    if policy.only is not None and not any(names_tool(p, tool_id) for p in policy.only):
        return "tools.only does not name it"
    for pattern in policy.off:
        if pattern != tool_id and names_tool(pattern, tool_id):
            return f"the pattern {pattern} in tools.off names it"
    return ""
