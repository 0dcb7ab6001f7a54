"""`toolcrib profile split`: profiles by clusters of tools used together, made and undone."""

import argparse
from typing import TYPE_CHECKING

from app.catalog.catalog import load_catalog
from app.cli.console import Console, number, table
from app.cli.options import NEEDS_CONSENT, Verbs, add_verb
from app.core.context import AppContext
from app.core.text import plural
from store.typed import Json

if TYPE_CHECKING:
    from app.host_status.splitting import Assignment, Split
    from app.policy.clusters import NewProfile

_MADE = "Made. Undo all of it with: toolcrib profile split --undo"
_NOT_MADE = "Nothing was made."


def add(actions: Verbs) -> None:
    """Add the action."""
    split = add_verb(
        actions,
        "split",
        run_split,
        "profiles by tools used together, each inside the budget",
        "Makes profiles of the tools that sessions called together (else of one "
        'server\'s), and gives them to hosts and projects. JSON: {"profile", "profiles": [{"name", '
        '"servers", "tools", "tokens", "lost_tools", "lost_tokens"}], "assignments": [{"title", '
        '"kind", "profile", "calls", "kept", "writes", "refusal"}], "evidence", "made"}; of --undo '
        '{"undone", "profiles", "notes"}.',
    )
    split.add_argument("profile", nargs="?", default="default", help="default: default")
    split.add_argument("--tokens", type=int, metavar="N", help="of each (default: the budget)")
    split.add_argument("--max-tools", type=int, metavar="N", help="of each")
    split.add_argument(
        "--assign",
        action="append",
        default=[],
        metavar="WHOM",
        help="a host, a project's folder, or all: write its file so that it gets its profile",
    )
    split.add_argument("--dry-run", action="store_true", help="make nothing, show it")
    split.add_argument("--insist", action="store_true", help="write even if a host is running")
    split.add_argument("--yes", action="store_true", help="make the profiles without being asked")
    split.add_argument("--undo", action="store_true", help="take the newest split back")


def run_split(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Show, make or undo a split."""
    from app.gateway.backend.http_access import endpoint
    from app.host_status.splitting import look_at_split, make_split, owners_of
    from app.hosts.places import Places
    from app.policy.budget import Budget

    if args.undo:
        return _undo(ctx, console)
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        budget = Budget.from_settings(catalog.settings.budget)
        given = {"limit": args.tokens, "max_tools": args.max_tools}
        budget = budget.with_changes(**{k: v for k, v in given.items() if v is not None})
        split = look_at_split(
            db, Places.here(), catalog, budget, ctx.clock(), endpoint=endpoint(ctx)
        )
        owners = owners_of(split, args.assign)
        assigned = [one for one in split.assignments if one.owner in owners]
        if not args.dry_run:
            split.require_several()
            if not args.yes:
                console.note(_text(split, assigned, made=False))
            if not console.agrees("Make them?", f"{_NOT_MADE} Agree with --yes.", yes=args.yes):
                return NEEDS_CONSENT
            make_split(ctx, db, catalog, split, owners, insist=args.insist)
    value: Json = {
        "profile": args.profile,
        "profiles": [profile_json(one) for one in split.plan.profiles],
        "left_out": [tool.tool.tool_id for tool in split.plan.left_out],
        "assignments": [assignment_json(one) for one in split.assignments],
        "evidence": split.plan.evidence,
        "made": not args.dry_run,
    }
    end = _NOT_MADE if args.dry_run else _MADE
    console.result(value, lambda: f"{_text(split, assigned, made=not args.dry_run)}\n{end}")
    return 0


def _undo(ctx: AppContext, console: Console) -> int:
    from app.host_status.splitting import undo_split

    with ctx.store() as db:
        undone = undo_split(ctx, db)
    for note in undone.notes:
        console.note(note)
    value = {
        "undone": undone.profile,
        "profiles": list(undone.profiles),
        "notes": list(undone.notes),
    }
    count = plural(len(undone.profiles), "profile")
    console.result(value, lambda: f"The split of {undone.profile} is undone: {count} deleted.")
    return 0


def profile_json(profile: "NewProfile") -> Json:
    """The stable JSON form of a profile to be made."""
    return {
        "name": profile.name,
        "servers": list(profile.servers),
        "tools": len(profile.tools),
        "tokens": profile.tokens,
        "lost_tools": profile.lost_tools,
        "lost_tokens": profile.lost_tokens,
    }


def assignment_json(one: "Assignment") -> Json:
    """The stable JSON form of an owner with its profile."""
    files = [str(file.path) for file in one.host_plan.files] if one.host_plan else []
    return {
        "title": one.title,
        "kind": one.owner.kind,
        "profile": one.profile,
        "calls": one.calls,
        "kept": one.kept,
        "writes": [str(one.policy)] if one.policy else files,
        "refusal": one.refusal,
    }


def _text(split: "Split", assigned: "list[Assignment]", *, made: bool) -> str:
    rows = [["profile", "tools", "tokens ≈", "without"]]
    for profile in split.plan.profiles:
        lost = f"{number(profile.lost_tools)} tools"
        rows.append([profile.name, number(len(profile.tools)), number(profile.tokens), lost])
    lines = [split.plan.evidence, table(rows, right=frozenset({1, 2}))]
    lines += [
        f"In no profile, as it is over the budget alone: {tool.tool.tool_id}"
        for tool in split.plan.left_out
    ]
    for one in split.assignments:
        kept = f"{number(one.kept)} of {plural(one.calls, 'call')} find their tool"
        lines.append(f"{one.title}: {one.profile}; {kept}.")
        if one.refusal:
            lines.append(f"  {one.refusal}")
        elif one in assigned:
            verb = "Wrote" if made else "Would write"
            lines += [f"  {verb} {file}" for file in assignment_json(one)["writes"]]
    return "\n".join(lines)
