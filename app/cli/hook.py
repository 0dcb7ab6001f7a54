"""`toolcrib hook ...`: tools suggested for each prompt, in the hosts people already use."""

import argparse

import apsw

from app.cli.console import Console, table
from app.cli.export import shown_difference
from app.cli.options import Verbs, add_dry_run, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.core.paths import gateway_program
from app.gateway.backend.rendezvous import why_none
from app.hooks import files as hooks
from app.hooks.entries import COMMAND, LIST, MCP
from app.hooks.status import SILENT, HookStatus, hook_status
from app.hosts.facts import HostFacts
from app.hosts.places import Places
from store import exports


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parts = add_group(
        verbs,
        "hook",
        page=hooks.READS,
    )
    install = add_verb(
        parts,
        "install",
        run_install,
        "write the hook",
        'JSON: {"host", "file", "form", "written", "notes"}. --dry-run writes nothing '
        "and shows the difference.",
    )
    install.add_argument("host", help="an id: see toolcrib hook status")
    install.add_argument(
        "--form",
        choices=(COMMAND, MCP, LIST),
        help="run a program, ask the connected gateway, or (opencode) leave the tools that do not "
        "fit out of the request",
    )
    add_dry_run(install)
    add_profile(install)
    remove = add_verb(parts, "remove", run_remove, "remove the hook", 'JSON: {"changed": []}.')
    remove.add_argument("host", help="an id, or all")
    status = add_verb(
        parts,
        "status",
        run_status,
        "list the hosts that have the hook",
        'JSON: {"hosts": [{"id", "file", "installed", "form", "problem", '
        '"state", "words"}]}; "state" is on, off, waiting (for a step of yours in the host), '
        "silent or impossible.",
    )
    status.add_argument("host", nargs="?", default="", help="only this one")
    run = parts.add_parser("run", help="run by a host; reads the prompt on stdin")
    run.add_argument("host", help="the host that runs it")
    add_profile(run)
    run.set_defaults(run=run_hook, json=False)


def run_install(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Plan, show or write."""
    facts = hooks.hook_host(args.host)
    with ctx.store() as db:
        form = args.form or hooks.form_for(facts, exports.for_host(db, facts.id))
        made = hooks.install_plan(
            Places.here(),
            facts,
            profile=args.profile,
            gateway_path=gateway_program(),
            form=form,
            history=exports.hooks_of(db, facts.id),
            keeps=hooks.keeps_prompts(db, args.profile),
        )
        done = () if args.dry_run else hooks.install(made, ctx, db)
        status = _status(db, ctx, facts)
    silence = [status.words] if done and status.kind == SILENT else []
    file = str(hooks.hook_state(Places.here(), facts).path)
    value = {
        "host": facts.id,
        "file": file,
        "form": form,
        "written": bool(done),
        "notes": [*made.warnings, *silence],
    }

    def text() -> str:
        if made.empty:
            return f"{facts.name} has the hook already: nothing to write."
        lines = [] if done else shown_difference(made)
        lines.append(f"{file}: {'; '.join(made.changes)}")
        lines += [*made.warnings, *silence]
        end = f"Remove it with: toolcrib hook remove {facts.id}"
        lines.append(end if done else "Nothing was written (--dry-run).")
        return "\n".join(lines)

    console.result(value, text)
    return 0


def run_remove(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Take one host's hook out, or all."""
    problems: tuple[str, ...] = ()
    with ctx.store() as db:
        if args.host == "all":
            taken = hooks.remove_all(ctx, db, words=False)
            gone, problems = taken.paths, taken.problems
        else:
            facts = hooks.hook_host(args.host)
            gone = hooks.remove(facts, hooks.hook_state(Places.here(), facts).path, ctx, db)
    for problem in problems:
        console.note(f"Not removed: {problem}")
    changed = [str(path) for path in gone]
    console.result(
        {"changed": changed},
        lambda: "\n".join(["Removed from:", *changed]) if changed else "There was no hook.",
    )
    return 1 if problems else 0


def run_status(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Print the hosts that have the hook."""
    chosen = [hooks.hook_host(args.host)] if args.host else hooks.hook_hosts()
    with ctx.store() as db:
        every = [_status(db, ctx, facts) for facts in chosen]
    states = [(one, one.state) for one in every if one.state is not None]
    rows = [
        {
            "id": state.host.id,
            "file": str(state.path),
            "installed": state.installed,
            "form": state.form,
            "problem": state.problem,
            "state": one.kind,
            "words": one.words,
        }
        for one, state in states
    ]

    def text() -> str:
        head = ["host", "installed", "file"]
        body = [[state.host.id, one.words or "no", str(state.path)] for one, state in states]
        return table([head, *body])

    console.result({"hosts": rows}, text)
    return 0


def run_hook(args: argparse.Namespace, _ctx: AppContext, _console: Console) -> int:
    """The hook itself; hosts start the gateway's program, which is quicker to start."""
    from app.gateway.hook import run

    run([args.host, "--profile", args.profile])
    return 0


def _status(db: apsw.Connection, ctx: AppContext, facts: HostFacts) -> HookStatus:
    return hook_status(
        Places.here(),
        facts,
        mode=exports.mode_of(exports.for_host(db, facts.id)),
        here=True,
        no_backend=why_none(str(ctx.paths.home)),
    )
