"""`toolcrib approve`: calls that wait for a person's yes."""

import argparse

from app.cli.console import Console, table
from app.cli.options import Verbs, add_profile, add_verb
from app.core.context import AppContext
from app.policy.approvals import ask_again, decide, waiting
from store.approvals import always_allowed
from store.records import ALLOWED, ALWAYS, DENIED, SESSION, Approval
from store.typed import Json


def add(verbs: Verbs) -> None:
    """Add the verb."""
    approves = add_verb(
        verbs,
        "approve",
        run_approve,
        page="Without a number: the calls that wait. A profile asks about the tools in its "
        'setting gateway.approve (patterns, or "destructive" for tools that say so of themselves). '
        'JSON: {"waiting": [{"id", "tool", "host", "arguments", "seconds"}], "always": '
        '[{"profile", "tool"}]}, or {"id", "tool", "decision"}.',
    )
    add_profile(approves)
    approves.add_argument("id", nargs="?", type=int, metavar="NUMBER", help="of the waiting call")
    choice = approves.add_mutually_exclusive_group()
    choice.add_argument("--session", action="store_true", help="allow for this host's session")
    choice.add_argument("--always", action="store_true", help="always allow the tool")
    choice.add_argument("--deny", action="store_true", help="refuse the call")
    choice.add_argument("--ask-again", metavar="TOOL", help="undo --always for a tool")


def run_approve(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List the calls that wait, or decide one."""
    with ctx.store() as db:
        if args.ask_again:
            ask_again(db, args.profile, args.ask_again)
            answer = {"tool": args.ask_again, "decision": "ask again"}
            console.result(answer, lambda: f"You are asked again before calls of {args.ask_again}.")
        elif args.id is None:
            _list(waiting(db, ctx.clock()), always_allowed(db), ctx.clock(), console)
        else:
            choice = _choice(args)
            approval = decide(db, args.id, choice, ctx.clock())
            answer = {"id": args.id, "tool": approval.tool, "decision": choice}
            console.result(answer, lambda: f"{approval.tool}: {_WORDS[choice]}")
    return 0


_WORDS = {
    ALLOWED: "allowed once.",
    SESSION: "allowed for this session.",
    ALWAYS: "always allowed; you are asked again if the tool's text changes.",
    DENIED: "denied.",
}


def _choice(args: argparse.Namespace) -> str:
    if args.deny:
        return DENIED
    return SESSION if args.session else ALWAYS if args.always else ALLOWED


def _list(
    calls: list[Approval], always: list[tuple[str, str]], now: float, console: Console
) -> None:
    value: Json = {
        "waiting": [
            {
                "id": call.id,
                "tool": call.tool,
                "host": call.host,
                "arguments": call.arguments,
                "seconds": max(0, round(call.expires - now)),
            }
            for call in calls
        ],
        "always": [{"profile": profile, "tool": tool} for profile, tool in always],
    }
    console.result(value, lambda: _text(value))


def _text(value: Json) -> str:
    if not value["waiting"]:
        return "No call waits."
    rows = [["number", "tool", "host", "seconds left", "arguments"]]
    for one in value["waiting"]:
        given = [str(one["id"]), one["tool"], one["host"], str(one["seconds"])]
        rows.append([*given, one["arguments"][:200]])
    lines = [table(rows, right=frozenset({0, 3}))]
    lines.append("Allow one: toolcrib approve NUMBER   Deny it: toolcrib approve NUMBER --deny")
    return "\n".join(lines)
