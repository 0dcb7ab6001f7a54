"""`toolcrib requests ...`: what people say when they need a tool, beside its description."""

import argparse
import os
from collections.abc import Sequence

import apsw

from app.catalog.catalog import CatalogTool, load_catalog, match_tools
from app.cli.console import Console, table
from app.cli.options import NEEDS_CONSENT, Verbs, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.home import home_folder
from app.core.text import plural
from app.gateway.backend.host_model import host_model
from app.gateway.backend.rendezvous import Place
from app.indexing import request_writer
from app.indexing.hidden_labels import hidden_texts
from app.indexing.requests import ORIGINS, edited, put, request_problem
from app.indexing.summaries import encode
from app.ranking.rewrite import COMMANDS, Model, commands_here, model_of, what_is_sent
from store import requests
from store.records import ToolRecord

_TO_WRITE = "To have them written by a model of yours: toolcrib requests write --missing --command"
_NONE = f"No tool here has example requests. {_TO_WRITE} claude"


def add(verbs: Verbs) -> None:
    """Add the verb and its actions."""
    actions = add_group(verbs, "requests")
    show = add_verb(
        actions,
        "show",
        run_show,
        "the requests and who wrote them",
        'JSON: {"requests": [{"tool", "text", "source"}]}.',
    )
    show.add_argument("tools", nargs="*", help="server, server/tool, or a pattern (default: all)")
    edit = add_verb(
        actions,
        "set",
        run_set,
        "replace a tool's requests; without TEXT, remove them all",
        'JSON: {"tool", "before": [TEXT], "requests": [TEXT]}. Put them back with the'
        ' texts in "before".',
    )
    edit.add_argument("tool", help="server/tool")
    edit.add_argument("texts", nargs="*", metavar="TEXT", help="a request")
    write = add_verb(
        actions,
        "write",
        run_write,
        "let your own model write three for each tool, once you agree",
        "Sends names and descriptions of these tools, with their servers' names, to the"
        " endpoint, command line or connected host that you name, and nowhere else. Tools that have"
        " some from a model are left out, so that a stopped run goes on, and tools that are held"
        " back: their"
        ' texts reach no model. JSON: {"tools", "requests", "refused": [{"tool", "text",'
        ' "problem"}], "unanswered": [TOOL], "stopped", "held": [TOOL]}.',
    )
    write.add_argument("tools", nargs="*", help="server, server/tool, or a pattern (default: all)")
    where = write.add_mutually_exclusive_group(required=True)
    where.add_argument("--url", help="OpenAI-compatible, as in http://127.0.0.1:11434/v1 (Ollama)")
    where.add_argument("--command", choices=tuple(COMMANDS), help="a host's own command line")
    where.add_argument(
        "--sampling", action="store_true", help="the model of a connected host that offers it"
    )
    write.add_argument("--model", default="", help="with --url")
    write.add_argument("--key-env", default="", metavar="NAME", help="variable with the key")
    write.add_argument("--missing", action="store_true", help="only for tools that have none")
    write.add_argument(
        "--also-new", action="store_true", help="later also for servers that a scan reads anew"
    )
    write.add_argument("--yes", action="store_true", help="send without asking")
    add_verb(
        actions,
        "stop",
        run_stop,
        "write none for new servers any more",
        'JSON: {"also_new": false}.',
    )
    forget = add_verb(
        actions, "forget", run_forget, "delete what one source wrote", 'JSON: {"deleted": N}.'
    )
    forget.add_argument("tools", nargs="*", help="server, server/tool, or a pattern (default: all)")
    forget.add_argument(
        "--source",
        choices=tuple(ORIGINS),
        required=True,
        help="who wrote them: the shipped pack, a model, you, or your labelled queries",
    )
    for action in (show, edit, write, forget):
        add_profile(action)


def run_show(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List requests."""
    with ctx.store() as db:
        live = requests.live(db)
        picked = _picked(db, ctx, args.profile, args.tools)
    rows = [
        {"tool": row.tool.tool_id, "text": request.text, "source": request.source}
        for row in picked
        for request in live.get(row.tool.id, ())
    ]
    lines = [["tool", "origin", "request"]]
    lines += [[r["tool"], ORIGINS.get(r["source"], ""), r["text"]] for r in rows]
    console.result({"requests": rows}, lambda: table(lines) if rows else _NONE)
    return 0


def run_set(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Store the user's own list for one tool."""
    for text in args.texts:
        problem = request_problem(text)
        if problem:
            raise ToolcribError(f"“{text[:80]}” cannot be a request: {problem}")
    with ctx.store() as db:
        picked = _picked(db, ctx, args.profile, [args.tool])
        if len(picked) > 1:
            raise ToolcribError(f"{args.tool} names {len(picked)} tools.", "Name one.")
        tool = picked[0].tool
        before = [row.text for row in requests.live(db).get(tool.id, ())]
        texts = hidden_texts(db, ctx.paths, os.environ, args.texts)
        put(db, tool, edited(tool, requests.of_tool(db, tool.id), texts))
        now = [row.text for row in requests.live(db).get(tool.id, ())]
    encode(ctx)
    value = {"tool": tool.tool_id, "before": before, "requests": now}
    console.result(value, lambda: "\n".join([f"Requests of {tool.tool_id}:", *now]))
    return 0


def run_write(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Say what goes where, ask, and let the model write."""
    model = _model(args)
    with ctx.store() as db:
        picked = _picked(db, ctx, args.profile, args.tools)
        held = [row.tool.tool_id for row in picked if row.held]
        picked = [row for row in picked if not row.held]
        waits = request_writer.lacking if args.missing else request_writer.without_model_requests
        waiting = waits(db, [row.tool for row in picked])
        if waiting and not _agreed(args, console, model, waiting):
            return NEEDS_CONSENT
        count = len(waiting)
        if args.also_new:
            ctx.keep(**_kept(args))
        try:
            written = request_writer.write_requests(
                db, waiting, model, progress=lambda n: console.progress(f"{n} of {count} tools")
            )
        except KeyboardInterrupt:
            console.progress_done()
            console.note("Stopped. What was written stays; the same command goes on from there.")
            raise
    console.progress_done()
    encode(ctx)
    value = _as_json(written) | {"held": held}
    console.result(value, lambda: _as_text(written, len(picked) - count, len(held)))
    return 0


def run_stop(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Switch off what --also-new switched on."""
    ctx.keep(requests_new=False)
    console.result({"also_new": False}, lambda: "New servers get no requests from a model.")
    return 0


def after_scan(ctx: AppContext, console: Console, read: Sequence[int]) -> None:
    """Requests for tools that were read for the first time, where the user switched that on.

    Otherwise the number of tools without any, and the command that has them written.
    """
    with ctx.store() as db:
        lacks = request_writer.find_missing_requests(db)
    new = [tool for tool in lacks.tools if tool.id in read]
    if not new:
        return
    if not ctx.settings.requests_new:
        way = next(iter(commands_here(os.environ)), "claude")
        console.note(lacks.sentence)
        console.note(f"{_TO_WRITE} {way}")
        return
    try:
        model = request_writer.chosen_model(ctx.settings, os.environ)
        written = request_writer.write_and_encode(
            ctx, new, model, progress=lambda n: console.progress(f"Requests: {n} of {len(new)}")
        )
    except ToolcribError as error:
        console.note(f"No requests were written: {error.text}")
        return
    console.note(f"{written.sentence} Written by {model.place}.")


def run_forget(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Delete a source's requests."""
    with ctx.store() as db:
        picked = _picked(db, ctx, args.profile, args.tools)
        count = request_writer.forget(db, [row.tool for row in picked], args.source)
    console.result({"deleted": count}, lambda: f"{count} requests deleted.")
    return 0


def _picked(
    db: apsw.Connection, ctx: AppContext, profile: str, patterns: Sequence[str]
) -> Sequence[CatalogTool]:
    catalog = load_catalog(db, profile, ctx.settings.encoding)
    return match_tools(catalog, patterns) if patterns else catalog.tools


def _model(args: argparse.Namespace) -> Model:
    if args.sampling and args.also_new:
        raise ToolcribError("A host is asked only when you say so.", "Leave --also-new out.")
    if args.sampling:
        return host_model(Place(home_folder()))
    if args.url and not args.model:
        raise ToolcribError("Which model?", "Name it with --model.")
    return model_of(
        args.command or "",
        url=args.url or "",
        name=args.model,
        key_env=args.key_env,
        environ=os.environ,
    )


def _kept(args: argparse.Namespace) -> dict[str, object]:
    """Settings for servers that are read later."""
    return {
        "requests_command": args.command or "",
        "requests_url": args.url or "",
        "requests_model": args.model,
        "requests_key_env": args.key_env,
        "requests_new": True,
    }


def _agreed(
    args: argparse.Namespace, console: Console, model: Model, tools: Sequence[ToolRecord]
) -> bool:
    """True if the user agrees that the tools' texts are sent there; nothing was sent before."""
    console.note(what_is_sent(tools, model.place))
    if args.also_new:
        console.note("Those of servers that a scan reads later go there, too, without a question.")
    return console.agrees("Send them?", "Nothing was sent. Agree with --yes.", yes=args.yes)


def _as_json(written: request_writer.WriterResult) -> dict[str, object]:
    refused = [
        {"tool": tool, "text": one.text, "problem": one.problem} for tool, one in written.refused
    ]
    return {
        "tools": written.tools,
        "requests": written.requests,
        "refused": refused,
        "unanswered": written.unanswered,
        "stopped": written.stopped,
    }


def _as_text(written: request_writer.WriterResult, had: int, held: int) -> str:
    lines = [f"{plural(written.requests, 'request')} for {plural(written.tools, 'tool')}."]
    if had:
        lines.append(f"{plural(had, 'tool')} had some already.")
    if held:
        lines.append(f"Nothing was sent of {plural(held, 'tool')} held back: toolcrib review")
    lines += [f"Refused: {tool}: {one.problem}" for tool, one in written.refused]
    if written.unanswered:
        lines.append(f"No usable answer for: {', '.join(written.unanswered)}")
    return "\n".join(lines)
