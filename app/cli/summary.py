"""`toolcrib summary ...`: what is embedded for each tool, and better words for it."""

import argparse
import os
from collections.abc import Callable, Sequence

from app.catalog import load_catalog, match_tools
from app.cli.console import Console, table
from app.cli.options import Verbs, add_profile
from app.context import AppContext
from app.discovery.summaries import MADE, encode, made, put, summary_of, summary_problem, written
from app.errors import ToolcribError
from app.routing.rewrite import Endpoint, Rewrite, propose
from store import tools
from store.connection import transaction
from store.records import Summary, ToolRecord

NEEDS_CONSENT = 4


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add the verb and its actions."""
    parser = verbs.add_parser("summary", help="show, edit or rewrite what tools are found by")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = actions.add_parser("show", parents=[common], help="the summaries")
    show.add_argument("tools", nargs="*", help="server, server/tool, or a pattern (default: all)")
    add_profile(show)
    show.set_defaults(run=run_show)
    edit = actions.add_parser("set", parents=[common], help="write one yourself; yours win")
    edit.add_argument("tool")
    edit.add_argument("text")
    add_profile(edit)
    edit.set_defaults(run=run_set)
    reset = actions.add_parser("reset", parents=[common], help="go back to Toolcrib's own")
    reset.add_argument("tool")
    add_profile(reset)
    reset.set_defaults(run=run_reset)
    rewrite = actions.add_parser(
        "rewrite",
        parents=[common],
        help="let a model rewrite summaries as requests; shown before they are taken",
        description="Sends names and descriptions of these tools to an OpenAI-compatible endpoint "
        'that you name, and nowhere else. JSON: {"proposals": [{"tool", "before", "after", '
        '"problem"}], "taken": N}.',
    )
    rewrite.add_argument("tools", nargs="+")
    rewrite.add_argument("--url", required=True, help="as in http://127.0.0.1:11434/v1")
    rewrite.add_argument("--model", required=True)
    rewrite.add_argument("--key-env", default="", metavar="NAME", help="variable with the key")
    rewrite.add_argument("--yes", action="store_true", help="take them without asking")
    add_profile(rewrite)
    rewrite.set_defaults(run=run_rewrite)


def run_show(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List summaries."""
    db = ctx.open_store()
    try:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        picked = match_tools(catalog, args.tools) if args.tools else catalog.tools
        known = tools.summaries(db)
    finally:
        db.close()
    rows = [
        {"tool": t.tool.tool_id, "summary": t.summary, "source": known[t.tool.id].source}
        for t in picked
        if t.tool.id in known
    ]
    shown = [["tool", "by", "summary"], *([r["tool"], r["source"], r["summary"]] for r in rows)]
    console.result({"summaries": rows}, lambda: table(shown))
    return 0


def run_set(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Store a summary of the user's own."""
    problem = summary_problem(args.text)
    if problem:
        raise ToolcribError(problem)
    return _put(args, ctx, console, lambda before, _tool: written(before, args.text))


def run_reset(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Go back to the summary that Toolcrib makes."""
    return _put(args, ctx, console, made)


def _put(
    args: argparse.Namespace,
    ctx: AppContext,
    console: Console,
    make: Callable[[Summary, ToolRecord], Summary],
) -> int:
    db = ctx.open_store()
    try:
        picked = match_tools(load_catalog(db, args.profile, ctx.settings.encoding), [args.tool])
        if len(picked) > 1:
            raise ToolcribError(f"{args.tool} names {len(picked)} tools.", "Name one.")
        tool = picked[0].tool
        before = summary_of(db, tool.id) or Summary(tool.id, "", MADE, "")
        summary = make(before, tool)
        put(db, summary)
    finally:
        db.close()
    encode(ctx)
    text = summary.text
    console.result({"tool": args.tool, "summary": text}, lambda: f"{args.tool}: {text}")
    return 0


def run_rewrite(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Propose, show, and store what is taken."""
    key = os.environ.get(args.key_env, "") if args.key_env else ""
    if args.key_env and not key:
        raise ToolcribError(f"The variable {args.key_env} is not set.", "Put the key into it.")
    db = ctx.open_store()
    try:
        picked = match_tools(load_catalog(db, args.profile, ctx.settings.encoding), args.tools)
        asked = [(t.tool, t.summary) for t in picked]
        found = propose(
            asked,
            Endpoint(args.url, args.model, key),
            lambda done: console.progress(f"{done} of {len(asked)} summaries"),
        )
        console.progress_done()
        good = [p for p in found if not p.problem and p.after != p.before]
        if not console.as_json:
            console.note(_difference(found))
        take = bool(good) and (args.yes or (console.can_ask and console.ask("Take these?")))
        if take:
            with transaction(db):
                rows = [Summary(p.tool.id, p.after, "model", p.tool.hash) for p in good]
                tools.save_summaries(db, rows)
    finally:
        db.close()
    if take:
        encode(ctx)
    value = {
        "proposals": [
            {
                "tool": p.tool.tool_id,
                "before": p.before,
                "after": p.after,
                "problem": p.problem,
            }
            for p in found
        ],
        "taken": len(good) if take else 0,
    }
    console.result(value, lambda: f"{value['taken']} of {len(found)} summaries taken.")
    return 0 if take or not good else NEEDS_CONSENT


def _difference(found: Sequence[Rewrite]) -> str:
    lines = []
    for p in found:
        lines += [p.tool.tool_id, f"  - {p.before}"]
        lines.append(f"  ! {p.problem}" if p.problem else f"  + {p.after}")
    return "\n".join(lines)
