"""`toolcrib profile ...`: which tools are on, and the profile's settings."""

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial

import apsw

from app.catalog import catalog as catalogs
from app.catalog.catalog import Catalog, load_catalog, match_tools
from app.catalog.reasons import sentence
from app.catalog.setting_checks import check_change
from app.cli import profile_fit, splits
from app.cli.console import Console, number, table
from app.cli.options import Run, Verbs, add_group, add_profile, add_verb
from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.settings import PARTS, ProfileSettings, with_settings
from app.core.text import plural
from app.export.policy_writing import change_profile
from app.policy import profiles
from app.system.quoting import joined


def add(verbs: Verbs) -> None:
    """Add the verb and its actions."""
    actions = add_group(verbs, "profile")
    add_verb(actions, "list", _list, "every profile")
    show = add_verb(actions, "show", _show, "a profile's tools and settings")
    show.add_argument("profile", nargs="?", default="default", help="default: default")
    for name, help_ in (
        ("on", "turn tools on"),
        ("off", "turn tools off"),
        ("pin", "always show these tools"),
        ("unpin", "no longer always show them"),
    ):
        change = add_verb(actions, name, _CHANGES[name], help_)
        change.add_argument("tools", nargs="+", help="server, server/tool, or a pattern with *")
        add_profile(change)
    profile_fit.add(actions)
    create = add_verb(actions, "create", _create, "a new profile")
    create.add_argument("name", help="a new name")
    create.add_argument("--copy", metavar="P", help="start from this profile")
    rename = add_verb(actions, "rename", _rename, "give a profile another name")
    rename.add_argument("name", help="its name now")
    rename.add_argument("new", help="its new name")
    delete = add_verb(actions, "delete", _delete, "forget a profile")
    delete.add_argument("name", help="as in toolcrib profile list")
    splits.add(actions)
    setting = add_verb(actions, "set", _set, "change a setting, as in routing.k=8")
    setting.add_argument("assignment", metavar="NAME=VALUE", help="names: toolcrib profile show")
    add_profile(setting)


Change = Callable[[apsw.Connection, str, Iterable[int], bool], Changes]


def _list(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    with ctx.store() as db:
        summaries = []
        for name in profiles.names(db):
            seen = load_catalog(db, name, ctx.settings.encoding)
            summaries.append(_summary(seen))
    rows = [["profile", "tools on", "tokens ≈"]]
    rows += [[str(p["name"]), f"{p['on']} of {p['tools']}", f"{p['tokens']:,}"] for p in summaries]
    console.result({"profiles": summaries}, lambda: table(rows, right=frozenset({1, 2})))
    return 0


def _summary(catalog: Catalog) -> dict[str, object]:
    return {
        "name": catalog.profile.name,
        "tools": len(catalog.tools),
        "on": len(catalog.shown),
        "tokens": sum(t.cost for t in catalog.shown),
    }


def _show(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    with ctx.store() as db:
        seen = load_catalog(db, args.profile, ctx.settings.encoding)
    tools = [
        {
            "tool": t.tool.tool_id,
            "on": t.on,
            "pinned": t.pinned,
            "held": sentence(t.held),
            "tokens": t.cost,
        }
        for t in seen.tools
    ]
    value = {**_summary(seen), "settings": seen.profile.settings, "list": tools}
    rows = [["tool", "state", "tokens ≈"]]
    rows += [[str(t["tool"]), _state(t), number(int(str(t["tokens"])))] for t in tools]
    settings = ProfileSettings.from_json(seen.profile.settings)

    def text() -> str:
        known = table(rows, right=frozenset({2})) if tools else seen.why_empty
        return "\n".join(
            [known, "", "Settings, changed by toolcrib profile set:", *_lines(settings)]
        )

    console.result(value, text)
    return 0


def _lines(settings: ProfileSettings) -> Iterable[str]:
    """Every setting as `toolcrib profile set` takes it."""
    for name, value in asdict(settings).items():
        if name in PARTS:
            yield from (_line(f"{name}.{key}", one) for key, one in value.items())
        elif name != "other":
            yield _line(name, value)


def _line(name: str, value: object) -> str:
    return joined([f"{name}={value if isinstance(value, str) else json.dumps(value)}"])


def _state(tool: dict[str, object]) -> str:
    if tool["held"]:
        return f"held: {tool['held']}"
    return ("pinned" if tool["pinned"] else "on") if tool["on"] else "off"


def _change(
    change: Change,
    to: bool,
    word: str,
    args: argparse.Namespace,
    ctx: AppContext,
    console: Console,
) -> int:
    with ctx.store() as db:
        seen = load_catalog(db, args.profile, ctx.settings.encoding)
        picked = match_tools(seen, args.tools)
        ids = [t.tool.id for t in picked]
        write = partial(change, db, args.profile, ids, to)
        change_profile(db, args.profile, ctx.paths, ctx.clock(), write)
        after = load_catalog(db, args.profile, ctx.settings.encoding)
    names = [t.tool.tool_id for t in picked]
    value = {"changed": names, "state": word, **_summary(after)}
    console.result(
        value,
        lambda: (
            f"{plural(len(names), 'tool')} {word}. Now {value['on']} of {value['tools']} are on,"
            f" {number(int(str(value['tokens'])))} tokens ≈"
        ),
    )
    return 0


_CHANGES: dict[str, Run] = {
    "on": partial(_change, catalogs.set_on, True, "on"),
    "off": partial(_change, catalogs.set_on, False, "off"),
    "pin": partial(_change, catalogs.set_pinned, True, "pinned"),
    "unpin": partial(_change, catalogs.set_pinned, False, "not pinned"),
}


def _create(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    with ctx.store() as db:
        profiles.create(db, args.name, args.copy or "")
    console.result({"created": args.name}, lambda: f"Created the profile {args.name}.")
    return 0


def _rename(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    with ctx.store() as db:
        profiles.rename(db, args.name, args.new)
    console.result({"renamed": args.new}, lambda: f"{args.name} is called {args.new} now.")
    return 0


def _delete(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    with ctx.store() as db:
        profiles.forget(db, args.name)
    console.result({"deleted": args.name}, lambda: f"Deleted the profile {args.name}.")
    return 0


def _set(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    name, _, text = args.assignment.partition("=")
    with ctx.store() as db:
        record = catalogs.find_profile(db, args.profile)
        changed = changed_settings(ProfileSettings.from_json(record.settings), name, text)
        save = partial(catalogs.save_settings, db, args.profile, changed)
        change_profile(db, args.profile, ctx.paths, ctx.clock(), save)
    console.result({"settings": changed.to_json()}, lambda: f"{name} = {text}")
    return 0


def changed_settings(settings: ProfileSettings, name: str, text: str) -> ProfileSettings:
    """The settings with one changed; raises ToolcribError for an unknown name or a wrong value."""
    group, _, key = name.rpartition(".")
    holder = getattr(settings, group, None) if group else settings
    if holder is None or not hasattr(holder, key) or key == "other":
        raise ToolcribError(f"There is no setting called {name}.", "See: toolcrib profile show")
    now = getattr(holder, key)
    changed = with_settings(settings, {name: _value(name, now, text)})
    check_change(settings, changed)
    return changed


def _value(name: str, now: object, text: str) -> object:
    if isinstance(now, str):
        return text
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ToolcribError(f"{name} cannot be {text!r}.", f"It stays {now!r}.") from error
    if isinstance(now, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, list):
        value = tuple(value)
    if now is not None and value is not None and type(value) is not type(now):
        raise ToolcribError(f"{name} cannot be {text!r}.", f"It stays {now!r}.")
    return value
