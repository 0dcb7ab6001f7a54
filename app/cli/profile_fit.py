"""`toolcrib profile fit SERVER`: the ticks of one server that keep the profile in its budget."""

import argparse

import apsw

from app.catalog.catalog import Catalog, CatalogTool, load_catalog, set_on
from app.cli.console import Console, number, table
from app.cli.options import Verbs, add_profile, add_verb
from app.cli.ranking import load_encoder
from app.core.changes import Changes
from app.core.context import AppContext
from app.export.policy_writing import change_profile
from app.policy.fitting import Fit, fit
from app.ranking.ranked import Request
from app.ranking.router import Router
from store import market
from store.typed import Json


def add(actions: Verbs) -> None:
    """Add the verb's action."""
    parser = add_verb(
        actions,
        "fit",
        run_fit,
        "the tools of a server that fit in the budget, best first; --apply ticks them",
        'JSON: {"server", "query", "on": [TOOL], "off": [TOOL], "without", "all_on", "proposed",'
        ' "doubles", "applied"}. Tools that wait in Review count as approved.',
    )
    parser.add_argument("server", help="as in toolcrib footprint")
    parser.add_argument(
        "--for", dest="purpose", default="", metavar="TEXT",
        help="its tools for this come first (default: the search that found it)",
    )  # fmt: skip
    parser.add_argument("--words-only", action="store_true", help="without the encoder")
    parser.add_argument("--apply", action="store_true", help="tick as proposed")
    add_profile(parser)


def run_fit(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Show which tools fit in, and tick them where asked to."""
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        query = args.purpose or remembered(db, catalog, args.server)
        order = _order(args, ctx, db, catalog, console=console, query=query) if query else []
        made = fit(catalog, args.server, order)
        if args.apply:

            def tick() -> Changes:
                set_on(db, args.profile, [one.tool.id for one in made.on], True)
                return set_on(db, args.profile, [one.tool.id for one in made.off], False)

            change_profile(db, args.profile, ctx.paths, ctx.clock(), tick)
    console.result(_json(made, query, applied=args.apply), lambda: _text(made, args.apply))
    return 0


def remembered(db: apsw.Connection, catalog: Catalog, server: str) -> str:
    """The search that found an installed server, "" for none."""
    record = catalog.server(server)
    install = market.installs(db).get(record.id) if record else None
    return install.query if install else ""


def _order(
    args: argparse.Namespace,
    ctx: AppContext,
    db: apsw.Connection,
    catalog: Catalog,
    *,
    console: Console,
    query: str,
) -> list[int]:
    encoder = None if args.words_only else load_encoder(ctx, console)
    ranked = Router.from_store(db, catalog, encoder=encoder).route(Request(query))
    return [one.id for one in ranked.tools]


def _json(made: Fit, query: str, *, applied: bool) -> Json:
    return {
        "server": made.server,
        "query": query,
        "on": _names(made.on),
        "off": _names(made.off),
        "without": made.without.word,
        "all_on": made.all_on.word,
        "proposed": made.proposed.word,
        "tokens": made.proposed.tokens,
        "doubles": [{"tool": mine, "installed": other} for mine, other in made.doubles],
        "applied": applied,
    }


def _names(tools: tuple[CatalogTool, ...]) -> list[str]:
    return [one.tool.tool_id for one in tools]


def _text(made: Fit, applied: bool) -> str:
    doubles = dict(made.doubles)
    rows = [["", "tool", "tokens ≈", ""]]
    for word, tools in (("on", made.on), ("off", made.off)):
        for one in tools:
            other = doubles.get(one.tool.name, "")
            note = f"like {other}" if other else ""
            rows.append([word, one.tool.tool_id, number(one.cost), note])
    end = "Ticked so." if applied else "Nothing was changed. To tick them so, add --apply."
    return "\n".join([table(rows, right=frozenset({2})), made.text, end])
