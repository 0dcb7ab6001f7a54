"""`toolcrib summary ...`: what is embedded for each tool, and better words for it."""

import argparse
from collections.abc import Callable

from app.catalog.catalog import load_catalog, match_tools
from app.cli.console import Console, table
from app.cli.options import Verbs, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.indexing.requests import ORIGINS, PACK
from app.indexing.summaries import (
    MADE,
    USER,
    encode,
    made,
    put,
    summary_of,
    summary_problem,
    written,
)
from store import tools
from store.records import Summary, ToolRecord

_ORIGINS = {MADE: ORIGINS[PACK], USER: ORIGINS[USER]}


def add(verbs: Verbs) -> None:
    """Add the verb and its actions."""
    actions = add_group(verbs, "summary")
    show = add_verb(actions, "show", run_show, "the summaries")
    show.add_argument("tools", nargs="*", help="server, server/tool, or a pattern (default: all)")
    add_profile(show)
    edit = add_verb(actions, "set", run_set, "write a summary; it replaces Toolcrib's")
    edit.add_argument("tool", help="server/tool")
    edit.add_argument("text", help="what the tool is for")
    add_profile(edit)
    reset = add_verb(actions, "reset", run_reset, "go back to Toolcrib's own")
    reset.add_argument("tool", help="server/tool")
    add_profile(reset)


def run_show(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List summaries."""
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        picked = match_tools(catalog, args.tools) if args.tools else catalog.tools
        known = tools.summaries(db)
    rows = [
        {"tool": t.tool.tool_id, "summary": t.summary, "source": known[t.tool.id].source}
        for t in picked
        if t.tool.id in known
    ]
    shown = [["tool", "origin", "summary"]]
    shown += [[r["tool"], _ORIGINS.get(r["source"], ""), r["summary"]] for r in rows]
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
    with ctx.store() as db:
        picked = match_tools(load_catalog(db, args.profile, ctx.settings.encoding), [args.tool])
        if len(picked) > 1:
            raise ToolcribError(f"{args.tool} names {len(picked)} tools.", "Name one.")
        tool = picked[0].tool
        before = summary_of(db, tool.id) or Summary(tool.id, "", MADE, "")
        summary = make(before, tool)
        put(db, summary)
    encode(ctx)
    text = summary.text
    console.result({"tool": args.tool, "summary": text}, lambda: f"{args.tool}: {text}")
    return 0
