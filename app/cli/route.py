"""`toolcrib route "query"`: which tools a query gets, and why."""

import argparse

from app.catalog.catalog import load_catalog
from app.cli.console import Console, number, table
from app.cli.options import Verbs, add_profile
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder
from app.indexing.indexer import Indexer
from app.routing import phrases
from app.routing.ranked import Ranked, RankedTool, Request
from app.routing.router import Router
from store.errors import StoreError


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "route",
        parents=[common],
        help="try a query: which tools it gets, and why",
        description='JSON: {"query", "tools": [{"server", "name", "score", "iso", "in", "why", '
        '"tokens", "gate", "parts", "matched"}], "tokens", "note"}, best tool first.',
    )
    parser.add_argument("query")
    parser.add_argument("--server", default="", help="what the server should be about (MCP-Zero)")
    add_profile(parser)
    parser.add_argument("--explain", action="store_true", help="score parts and the remedy")
    parser.add_argument("--limit", type=int, default=15, metavar="N", help="rows of the table")
    parser.add_argument("--words-only", action="store_true", help="without the encoder")
    parser.set_defaults(run=run_route)


def run_route(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Route one query."""
    encoder = None if args.words_only else load_encoder(ctx, console)
    db = ctx.open_store()
    try:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        router = Router.from_store(db, catalog, catalog.settings.routing, encoder)
        ranked = router.route(Request(args.query, server=args.server))
    finally:
        db.close()
    console.result(ranked_json(ranked), lambda: _text(ranked, args.limit, explain=args.explain))
    return 0


def load_encoder(ctx: AppContext, console: Console) -> Encoder | None:
    """The encoder, prepared with the tools' vectors if need be; None and a note without one."""
    db = ctx.open_store()
    try:
        return Indexer(
            ctx, db, progress=lambda step, done: console.progress(f"{step} ({done:.0%})")
        ).encoder()
    except (ToolcribError, StoreError) as error:
        console.note(f"{error.title} Words only. {error.hint}")
        return None
    finally:
        console.progress_done()
        db.close()


def ranked_json(ranked: Ranked) -> dict[str, object]:
    """The stable JSON form of a ranking."""
    return {
        "query": ranked.query,
        "tools": [_tool_json(tool) for tool in ranked.tools],
        "tokens": ranked.tokens,
        "note": ranked.note,
        "words_only": ranked.words_only,
    }


def _tool_json(tool: RankedTool) -> dict[str, object]:
    return {
        "server": tool.server,
        "name": tool.name,
        "score": round(tool.score, 6),
        "iso": None if tool.iso is None else round(tool.iso, 6),
        "in": tool.shown,
        "why": phrases.why(tool.verdict),
        "tokens": tool.tokens,
        "gate": tool.gate,
        "parts": dict(tool.parts),
        "matched": list(tool.matched),
        "remedy": phrases.remedy(tool.verdict),
    }


def _text(ranked: Ranked, limit: int, *, explain: bool) -> str:
    if not ranked.tools:
        return "No tools known yet. Read some with: toolcrib scan"
    rows = [["#", "", "tool", "score", "ISO", "tokens ≈", "why"]]
    for tool in ranked.tools[:limit]:
        iso = "" if tool.iso is None else f"{tool.iso:.2f}"
        verdict = "In" if tool.shown else "Out"
        rows.append(
            [
                str(tool.rank),
                verdict,
                tool.tool_id,
                f"{tool.score:.2f}",
                iso,
                number(tool.tokens),
                phrases.why(tool.verdict),
            ]
        )
        if explain:
            rows += [["", "", f"  {line}", "", "", "", ""] for line in _explained(tool)]
    lines = [table(rows, right=frozenset({0, 3, 4, 5}))]
    shown = len(ranked.shown)
    lines.append(f"\n{shown} tools in · {number(ranked.tokens)} tokens ≈")
    return "\n".join(lines + ([ranked.note] if ranked.note else []))


def _explained(tool: RankedTool) -> list[str]:
    parts = " + ".join(f"{name} {value:.2f}" for name, value in tool.parts)
    lines = [parts] if parts else []
    if tool.matched:
        lines.append(f"matched: {', '.join(tool.matched)}")
    if tool.verdict.remedy:
        lines.append(phrases.remedy(tool.verdict))
    return lines
