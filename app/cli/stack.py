"""`toolcrib stack save` and `open`: servers, profile and policy as one file or link."""

import argparse
from pathlib import Path

from app.cli.console import Console
from app.cli.options import Verbs, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.hosts.display import launch_text
from app.market.stack import Stack
from app.registry.stacks import launches
from app.stacks.whole import load_stack, open_stack, profile_stack, write_stack
from store.typed import Json


def add(verbs: Verbs) -> None:
    """Add the verb."""
    actions = add_group(verbs, "stack")
    saves = add_verb(
        actions,
        "save",
        run_save,
        "write servers and a profile's policy to one file; no secret is in it",
        'JSON: {"path", "link", "servers": [NAME]}; with --link "path" is empty.',
    )
    saves.add_argument("file", nargs="?", type=Path, help="a new file")
    saves.add_argument("--name", default="", help="its name (default: the profile's)")
    saves.add_argument("--server", action="append", default=[], dest="servers", metavar="NAME",
                       help="only these (default: all of the profile)")  # fmt: skip
    saves.add_argument("--link", action="store_true", help="print a link instead")
    add_profile(saves)
    opens = add_verb(
        actions,
        "open",
        run_open,
        "add the servers of a stack, with a profile of their own",
        'JSON: {"added": [NAME], "profile", "commands": {NAME: COMMAND}, "lacking":'
        " [SERVER.KEY]}. Nothing is started; tools wait in Review once they are read.",
    )
    opens.add_argument("file", help="the file, or the link")
    opens.add_argument("--profile", default="", metavar="P", help="its name here, a new one")
    opens.add_argument("--set", action="append", default=[], metavar="SERVER.KEY=VALUE",
                       dest="values", help="a missing value; without =VALUE it is asked for, unseen"
                       )  # fmt: skip
    opens.add_argument("--dry-run", action="store_true", help="show what it holds, change nothing")


def run_save(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Write a stack."""
    if bool(args.file) is args.link:
        raise ToolcribError("Name a new file, or give --link.")
    with ctx.store() as db:
        stack = profile_stack(ctx, db, args.profile, args.servers, args.name)
    if args.file:
        write_stack(stack, args.file)
    names = [one.name for one in stack.servers]
    link = stack.link if args.link else ""
    console.result(
        {"path": str(args.file or ""), "link": link, "servers": names},
        lambda: link or f"Wrote {plural(len(names), 'server')} to {args.file}. No secret is in it.",
    )
    return 0


def run_open(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Show a stack, then add it."""
    stack = load_stack(args.file)
    values = _values(args.values, stack, console, may_ask=not args.dry_run)
    lacking = [f"{one.name}.{field.key}" for one in stack.servers for field in one.lacking
               if not values.get(one.name, {}).get(field.key)]  # fmt: skip
    if args.dry_run or lacking:
        value: Json = {"added": [], "profile": "", "commands": {}, "lacking": lacking}
        console.result(value, lambda: "\n".join(_lacking_lines(stack, lacking)))
        return 1 if lacking and not args.dry_run else 0
    with ctx.store() as db:
        profile = open_stack(ctx, db, stack, values, args.profile)
    commands = {name: launch_text(one).line for name, one in launches(stack, values).items()}
    names = [one.name for one in stack.servers]
    console.result(
        {"added": names, "profile": profile, "commands": commands, "lacking": []},
        lambda: "\n".join(
            [
                *(f"  {visible(name)}: {line}" for name, line in commands.items()),
                f"Added with the profile {profile}. Nothing was started.",
                f"Read their tools: toolcrib scan {' '.join(names)}",
            ]
        ),
    )
    return 0


def _values(
    given: list[str], stack: Stack, console: Console, *, may_ask: bool
) -> dict[str, dict[str, str]]:
    """Values by server and key; what is missing is asked for where a person can answer."""
    names = {one.name for one in stack.servers}
    values: dict[str, dict[str, str]] = {}
    for text in given:
        place, equals, value = text.partition("=")
        server = next((n for n in names if place.startswith(f"{n}.")), "")
        if not server:
            raise ToolcribError(f"{place} is not of the form SERVER.KEY=VALUE.")
        key = place.removeprefix(f"{server}.")
        values.setdefault(server, {})[key] = value if equals else console.ask_secret(place)
    for one in stack.servers if may_ask and console.can_ask else ():
        for field in one.lacking:
            mine = values.setdefault(one.name, {})
            if not mine.get(field.key):
                mine[field.key] = console.ask_secret(f"{one.name}: {field.key}")
    return values


def _lacking_lines(stack: Stack, lacking: list[str]) -> list[str]:
    lines = [f"{visible(stack.name)}: {plural(len(stack.servers), 'server')}"]
    for one in stack.servers:
        own = one.launch
        what = " ".join((own.command, *own.args)) or own.url if own else one.listed.name
        lines.append(f"  {visible(one.name)}: {visible(what)}")
    if lacking:
        lines.append("Missing values: " + " ".join(f"--set {visible(key)}=…" for key in lacking))
    return [*lines, "Nothing was added."]
