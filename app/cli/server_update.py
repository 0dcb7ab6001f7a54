"""`toolcrib server update NAME`: a later version, read and compared before it is taken."""

import argparse

import apsw

from app.cli.console import Console
from app.cli.market_add import given_values
from app.cli.options import NEEDS_CONSENT, Verbs, add_verb
from app.core.context import AppContext
from app.core.text import visible
from app.registry import updating
from app.registry.updating import Change, Offer
from store.typed import Json

_START = "Start it once, to compare?"
_MOST_LINES = 12  # of one text, before and after


def add(actions: Verbs) -> None:
    """Add the verb's action."""
    parser = add_verb(
        actions,
        "update",
        run_update,
        "take a listed server's later version, after a look; --back: the one before",
        'JSON without a name: {"newer": {NAME: VERSION}}; else {"server", "from", "to", "command",'
        ' "added", "removed", "changed", "tokens": [BEFORE, AFTER], "warnings", "taken"}. The new'
        " version is started in a folder that is thrown away; nothing changes before it is taken.",
    )
    parser.add_argument("server", nargs="?", default="", help="its name (default: list all)")
    parser.add_argument("--back", action="store_true", help="the version before the last update")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="values",
        help="a value that the new version needs; KEY alone asks for it, unseen",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="read and compare, take nothing")
    parser.add_argument("--yes", action="store_true", help="start and take it without asking")


def run_update(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List what is newer, or take one version, or the one before."""
    with ctx.store() as db:
        if not args.server:
            return _list(db, console)
        if args.back:
            return _back(args.server, ctx, db, console)
        return _update(args, ctx, db, console)


def _list(db: apsw.Connection, console: Console) -> int:
    known = updating.newer(db)
    lines = [f"{name}: {version} is listed." for name, version in known.items()]
    console.result(
        {"newer": known},
        lambda: "\n".join(lines or ["No listed server has a later version in the fetched lists."]),
    )
    return 0


def _back(name: str, ctx: AppContext, db: apsw.Connection, console: Console) -> int:
    version = updating.back(ctx, db, name)
    console.result(
        {"server": name, "version": version},
        lambda: f"{visible(name)} is {version} again. Read it: toolcrib scan {name}",
    )
    return 0


def _update(
    args: argparse.Namespace, ctx: AppContext, db: apsw.Connection, console: Console
) -> int:
    wanted = updating.offer(ctx, db, args.server)
    bundle = wanted.to_fetch
    if not bundle:
        wanted = _with_values(args, wanted, console)
    versions = f"{wanted.install.version} -> {wanted.entry.version}"
    console.note(f"{args.server} {versions}: {wanted.command}")
    for doubt in wanted.doubts:
        console.note(f"Warning: {visible(doubt.rule)} in its texts: {visible(doubt.detail)}")
    question = "Download it, check it and start it once, to compare?" if bundle else _START
    refused = "Nothing was started. Without being asked: --yes"
    if not console.agrees(question, refused, yes=args.yes):
        return NEEDS_CONSENT
    if bundle:
        wanted = _with_values(args, updating.fetched(ctx, wanted), console)
        console.note(f"It starts: {wanted.command}")
    change = updating.read(ctx, db, wanted)
    take = not args.dry_run
    if take and not args.yes:
        console.note(_lines(change))
        take = console.confirm("Take this version?")
    if take:
        updating.take(ctx, db, wanted)
    console.result(_json(wanted, change, taken=take), lambda: _text(args.server, change, take))
    return 0


def _with_values(args: argparse.Namespace, wanted: Offer, console: Console) -> Offer:
    return wanted.with_values(given_values(args.values, wanted.choice, console, wanted.values))


def _json(wanted: Offer, change: Change, *, taken: bool) -> Json:
    return {
        "server": wanted.server.name,
        "from": wanted.install.version,
        "to": wanted.entry.version,
        "command": wanted.command,
        "added": [{"tool": name, "tokens": cost} for name, cost in change.added],
        "removed": list(change.removed),
        "changed": [
            {
                "tool": one.name,
                "tokens": [one.before, one.after],
                "parts": [
                    {"place": part.place, "before": part.before, "after": part.after}
                    for part in one.parts
                ],
            }
            for one in change.changed
        ],
        "tokens": [change.before, change.after],
        "warnings": [f"{one.rule}: {one.detail}" for one in wanted.doubts],
        "taken": taken,
    }


def _lines(change: Change) -> str:
    return "\n".join([change.text, *(f"  {line}" for line in change.lines(_MOST_LINES))])


def _text(name: str, change: Change, taken: bool) -> str:
    if not taken:
        return f"{_lines(change)}\nNothing was changed."
    return "\n".join(
        [
            _lines(change),
            f"Taken. Read it: toolcrib scan {name}. New and changed tools wait in Review.",
            f"Back in one step: toolcrib server update {name} --back",
        ]
    )
