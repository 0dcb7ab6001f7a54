"""`toolcrib rules ...`: a few words on the menu in a host's own instructions."""

import argparse

from app.cli.console import Console, table
from app.cli.export import shown_difference
from app.cli.options import Verbs, add_dry_run, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.export.apply import apply
from app.hooks.files import remove
from app.hooks.rules import mode_of, rules_hosts, rules_plan, rules_state
from app.hosts.facts import host
from app.hosts.places import Places


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parts = add_group(
        verbs,
        "rules",
        page="Writes three lines between markers at the end of the host's own rules file"
        " (CLAUDE.md, AGENTS.md ...), for agents that never call search_tools by themselves.",
    )
    install = add_verb(
        parts,
        "install",
        run_install,
        "write the instructions",
        'JSON: {"host", "file", "written", "notes"}. --dry-run writes nothing and shows'
        " the difference.",
    )
    install.add_argument("host", help="an id: see toolcrib rules status")
    add_dry_run(install)
    add_profile(install)
    gone = add_verb(
        parts, "remove", run_remove, "remove the instructions", 'JSON: {"changed": []}.'
    )
    gone.add_argument("host", help="an id, or all")
    add_verb(
        parts,
        "status",
        run_status,
        "list the hosts that have the instructions",
        'JSON: {"hosts": [{"id", "file", "installed", "problem"}]}.',
    )


def run_install(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Plan, show or write."""
    facts = host(args.host)
    with ctx.store() as db:
        mode = mode_of(db, facts)
        made = rules_plan(Places.here(), facts, profile=args.profile, mode=mode)
        done = () if args.dry_run else apply(made, ctx, db)
    file = str(rules_state(Places.here(), facts).path)
    value = {
        "host": facts.id,
        "file": file,
        "written": bool(done),
        "notes": list(made.warnings),
    }

    def text() -> str:
        if made.empty:
            return f"{facts.name} has the instructions already: nothing to write."
        lines = [] if done else shown_difference(made)
        end = f"Remove them with: toolcrib rules remove {facts.id}"
        lines += [file, *made.warnings, end if done else "Nothing was written (--dry-run)."]
        return "\n".join(lines)

    console.result(value, text)
    return 0


def run_remove(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Take one host's words out, or all."""
    chosen = rules_hosts() if args.host == "all" else (host(args.host),)
    changed: list[str] = []
    with ctx.store() as db:
        for facts in chosen:
            path = rules_state(Places.here(), facts).path
            changed += map(str, remove(facts, path, ctx, db))
    console.result(
        {"changed": changed},
        lambda: "\n".join(["Removed from:", *changed]) if changed else "There were none.",
    )
    return 0


def run_status(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Print the hosts whose instructions have Toolcrib's lines."""
    states = [rules_state(Places.here(), facts) for facts in rules_hosts()]
    rows = [
        {
            "id": one.host.id,
            "file": str(one.path),
            "installed": one.installed,
            "problem": one.problem,
        }
        for one in states
    ]

    def text() -> str:
        body = [
            [one.host.id, one.problem or ("yes" if one.installed else "no"), str(one.path)]
            for one in states
        ]
        return table([["host", "installed", "file"], *body])

    console.result({"hosts": rows}, text)
    return 0
