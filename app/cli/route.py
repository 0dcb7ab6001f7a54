"""`toolcrib route "query"`: which tools a query gets, and why."""

import argparse
import json
import os

from app.catalog.catalog import load_catalog
from app.cli.console import Console, number, table
from app.cli.options import Verbs, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.home import home_folder
from app.core.text import plural
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import ROUTE, STANDALONE_VARIABLE, Place
from store.typed import Json

_SECONDS = 10.0  # that the backend has for its answer


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "route",
        run_route,
        page='JSON: {"query", "tools": [{"server", "name", "score", "iso", "in", "why", '
        '"tokens", "gate", "tier", "parts", "matched"}], "tokens", '
        '"steps": [{"step", "tool"}], "note", '
        '"best_off": sentence if the best match is switched off}, best tool first. '
        "A backend that runs answers with the encoder it has loaded.",
    )
    parser.add_argument("query", help="what you would ask a model")
    parser.add_argument("--server", default="", help="what the server should be about (MCP-Zero)")
    add_profile(parser)
    parser.add_argument("--explain", action="store_true", help="score parts and the remedy")
    parser.add_argument(
        "--limit", type=int, default=15, metavar="N", help="rows of the table (default: 15)"
    )
    parser.add_argument("--words-only", action="store_true", help="without the encoder")


def run_route(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Route one query: by the backend's warm encoder, else by one of our own."""
    if not args.query.strip():
        raise ToolcribError(
            "The query is empty.",
            'Type what you would ask a model, like: toolcrib route "open a pull request"',
        )
    ranked = _of_backend(args)
    if ranked is None:
        from app.cli.ranking import rank
        from app.ranking.ranked import Request

        asked_for = Request(args.query, server=args.server)
        ranked = rank(ctx, console, asked_for, profile=args.profile, words_only=args.words_only)
    if ranked["tools"] or (ranked["note"] and not ranked["words_only"]):
        console.result(ranked, lambda: _text(ranked, args.limit, explain=args.explain))
    else:
        with ctx.store() as db:
            why = load_catalog(db, args.profile).why_empty
        console.result(ranked, lambda: why)
    return 0


def _of_backend(args: argparse.Namespace) -> Json | None:
    """Ranking by the backend; None where none runs, or where something must be prepared first."""
    if os.environ.get(STANDALONE_VARIABLE):
        return None
    fields = {
        "query": args.query,
        "server": args.server,
        "profile": args.profile,
        "words_only": args.words_only,
    }
    answer = request(Place(home_folder()), ROUTE, json.dumps(fields), seconds=_SECONDS)
    ranked = answer.get("ranked") if answer else None
    return ranked if isinstance(ranked, dict) else None


def _text(ranked: Json, limit: int, *, explain: bool) -> str:
    if not ranked["tools"]:
        return str(ranked["note"])
    rows = [["#", "", "tool", "score", "ISO", "tokens ≈", "why"]]
    for rank, tool in enumerate(ranked["tools"], 1):
        if rank > limit and not tool["in"]:  # a pinned tool is in whatever its rank
            continue
        rows.append(
            [
                str(rank),
                "In" if tool["in"] else "Out",
                f"{tool['server']}/{tool['name']}",
                f"{tool['score']:.2f}",
                "" if tool["iso"] is None else f"{tool['iso']:.2f}",
                number(tool["tokens"]),
                tool["why"],
            ]
        )
        if explain:
            rows += [["", "", f"  {line}", "", "", "", ""] for line in _explained(tool)]
    lines = [f"{ranked['best_off']}\n"] if ranked["best_off"] else []
    lines += [table(rows, right=frozenset({0, 3, 4, 5}))]
    shown = sum(tool["in"] for tool in ranked["tools"])
    lines.append(f"\n{plural(shown, 'tool')} in · {number(ranked['tokens'])} tokens ≈")
    lines += [f"For “{one['step']}”: {one['tool']}" for one in ranked["steps"]]
    return "\n".join(lines + ([ranked["note"]] if ranked["note"] else []))


def _explained(tool: Json) -> list[str]:
    parts = " + ".join(f"{name} {value:.2f}" for name, value in tool["parts"].items())
    lines = [parts] if parts else []
    if tool["matched"]:
        lines.append(f"matched: {', '.join(tool['matched'])}")
    if tool["remedy"]:
        lines.append(tool["remedy"])
    return lines
