"""`toolcrib registry` and `find`: lists of servers that could be installed, and searching them."""

import argparse
from collections.abc import Collection
from datetime import UTC, datetime

import apsw

from app.cli.console import Console, number, table
from app.cli.options import Verbs, add_group, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.encoder.onnx import Encoder
from app.encoder.weights import ready_model
from app.market import sources
from app.market.index import MarketIndex, MarketMatches, ServerHit, prepare
from app.market.launch import can_be_added
from app.market.records import entry_of
from app.market.seed import take_seed
from app.market.sync import OnProgress, Progress, Synced, sync
from app.system.quoting import quoted
from store import market
from store.market import MarketSource
from store.typed import Json

IN_PART = 5
_SHOWN_TOOLS = 3
_WORDS_ONLY = "Words only: the encoder is not prepared. toolcrib scan prepares it."
_PREPARING = (
    "What is listed is kept. It is being made searchable by meaning; if that is stopped, go on"
    " with: toolcrib registry prepare"
)
_UNPREPARED = (
    "{} of {} texts are compared by their words only. Prepare them: toolcrib registry prepare"
)


def add(verbs: Verbs) -> None:
    """Add both verbs."""
    actions = add_group(verbs, "registry")
    adds = add_verb(
        actions,
        "add",
        run_add,
        "add a registry that speaks v0.1, such as your team's",
        'JSON: {"added": NAME}. Nothing is fetched before a sync.',
    )
    adds.add_argument("url", help="its base, as https://registry.example.com")
    adds.add_argument("--name", default="", help="its name here (default: its host)")
    adds.add_argument(
        "--header",
        default="",
        metavar="NAME",
        help="sent with each request; its value is asked for",
    )
    adds.add_argument("--private", action="store_true", help="allow addresses in your own network")
    add_verb(
        actions,
        "list",
        run_list,
        "the registries, and when each was synced",
        'JSON: {"sources": [{"name", "url", "servers", "synced", "problem", "header",'
        ' "private"}], "servers", "tools"}.',
    )
    syncs = add_verb(
        actions,
        "sync",
        run_sync,
        "fetch a registry's list, later only its changes",
        'JSON: {"synced": [{"source", "servers", "removed", "left_out", "bytes",'
        ' "problems"}]}. Goes on where one was stopped.',
    )
    syncs.add_argument("sources", nargs="*", help="only these (default: official, and your own)")
    syncs.add_argument("--full", action="store_true", help="everything, not only what changed")
    add_verb(
        actions,
        "prepare",
        run_prepare,
        "make what is listed searchable by meaning (4 ms of CPU a text)",
        'JSON: {"prepared": NUMBER}.',
    )
    removes = add_verb(
        actions,
        "remove",
        run_remove,
        "forget a registry and its list; servers that were added stay",
        'JSON: {"removed": NAME}.',
    )
    removes.add_argument("name", help="as in toolcrib registry list")
    finds = add_verb(
        verbs,
        "find",
        run_find,
        page='JSON: {"query", "servers": [{"name", "version", "description", "score",'
        ' "tools", "known_tools", "tokens", "status", "source", "installed",'
        ' "addable"}], "searched", "note"}.'
        " Nothing is sent anywhere: lists are searched on this machine.",
    )
    finds.add_argument("query", help="a name, or what the tools should do")
    finds.add_argument(
        "--limit", type=int, default=10, metavar="N", help="servers at most (default: 10)"
    )
    finds.add_argument("--words-only", action="store_true", help="without the encoder")


def run_add(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Add a registry."""
    value = console.ask_secret(f"Value of {args.header}") if args.header else ""
    with ctx.store() as db:
        source = sources.add(
            ctx, db, args.url, name=args.name, header=args.header, value=value,
            private=args.private,
        )  # fmt: skip
    name = quoted(source.name)
    console.result(
        {"added": source.name},
        lambda: f"Added. Nothing was fetched. Fetch its list: toolcrib registry sync {name}",
    )
    return 0


def run_remove(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Forget a registry."""
    with ctx.store() as db:
        sources.remove(ctx, db, args.name)
    console.result({"removed": args.name}, lambda: f"{args.name} is forgotten, with its list.")
    return 0


def run_list(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """The registries, and what is known."""
    del args
    with ctx.store() as db:
        take_seed(db, ctx.clock)
        known = sources.all_sources(db)
        servers, tools = market.count(db)
    value = {
        "sources": [
            {
                "name": one.name,
                "url": one.url,
                "servers": one.servers,
                "synced": one.synced_at,
                "problem": one.problem,
                "header": one.header,
                "private": bool(one.private),
            }
            for one in known
        ],
        "servers": servers,
        "tools": tools,
    }
    console.result(value, lambda: _list_text(known, servers, tools))
    return 0


def _list_text(known: tuple[MarketSource, ...], servers: int, tools: int) -> str:
    rows = [["source", "servers", "synced", "address"]]
    rows += [[one.name, number(one.servers), _synced(one), one.url] for one in known]
    lines = [table(rows, right=frozenset({1}))]
    lines += [f"{one.name}: {one.problem}" for one in known if one.problem]
    return "\n".join(
        [*lines, f"{plural(servers, 'server')} and {plural(tools, 'tool')} can be searched."]
    )


def _synced(source: MarketSource) -> str:
    if source.cursor:
        return "stopped on the way"
    if not source.synced_at:
        return "never"
    return datetime.fromtimestamp(source.synced_at, UTC).strftime("%Y-%m-%d")


def run_sync(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Fetch the lists, one after the other; one that fails does not keep the next from it."""
    done: list[Synced] = []
    failed: list[ToolcribError] = []
    with ctx.store() as db:
        chosen = [sources.named(db, name) for name in args.sources] or sources.all_sources(db)
        for source in chosen:
            try:
                done.append(
                    sync(ctx, db, source, full=args.full, on_progress=_shown(source, console))
                )
            except ToolcribError as error:
                failed.append(error)
        prepared = _prepare(ctx, db, console) if done else 0
    value = {"synced": [_synced_json(one) for one in done], "prepared": prepared}
    console.result(value, lambda: "\n".join(map(_synced_text, done)))
    for one in failed:
        console.note(f"toolcrib: {one.title}\n  {one.hint}")
    return (IN_PART if done else 1) if failed else 0


def _shown(source: MarketSource, console: Console) -> OnProgress:
    def show(now: Progress) -> None:
        console.progress(f"{source.name}: {number(now.servers)} servers, {now.bytes >> 10:,} kB")

    return show


def _synced_json(one: Synced) -> Json:
    return {
        "source": one.source.name,
        "servers": one.progress.servers,
        "removed": one.progress.removed,
        "left_out": one.progress.left_out,
        "bytes": one.progress.bytes,
        "problems": list(one.problems),
    }


def _synced_text(one: Synced) -> str:
    now = one.progress
    what = "listed" if one.full else "new or changed"
    lines = [f"{one.source.name}: {plural(now.servers, 'server')} {what}, {now.removed:,} removed."]
    if now.left_out:
        lines.append(f"{plural(now.left_out, 'entry')} left out:")
        lines += [f"  {problem}" for problem in one.problems]
    return "\n".join(lines)


def run_prepare(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Encode what is listed."""
    del args
    with ctx.store() as db:
        take_seed(db, ctx.clock)
        prepared = _prepare(ctx, db, console)
    console.result({"prepared": prepared}, lambda: f"{plural(prepared, 'text')} prepared.")
    return 0


def _prepare(ctx: AppContext, db: apsw.Connection, console: Console) -> int:
    encoder = _encoder(ctx)
    if encoder is None:
        console.note(_WORDS_ONLY)
        return 0
    if market.lacking_vectors(db, encoder.key, 1):
        console.note(_PREPARING)
    return prepare(db, encoder, on_progress=console.progress)


def _encoder(ctx: AppContext) -> Encoder | None:
    """The encoder where it was exported already."""
    files = ready_model(ctx.paths, ctx.settings.model)
    return Encoder.load(files) if files else None


def run_find(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Search what is listed."""
    with ctx.store() as db:
        take_seed(db, ctx.clock)
        encoder = None if args.words_only else _encoder(ctx)
        matches = MarketIndex(db, encoder).find(args.query, max(1, args.limit))
        names = {one.id: one.name for one in market.sources(db)}
        own = {one.id for one in market.sources(db) if sources.trusts_private(db, one)}
        rows = [_hit_json(db, hit, names, own) for hit in matches.hits]
    note = _note(matches, words_only=encoder is None and not args.words_only)
    value = {"query": args.query, "servers": rows, "searched": matches.servers, "note": note}
    console.result(value, lambda: _found_text(args.query, rows, note))
    return 0


def _note(matches: MarketMatches, *, words_only: bool) -> str:
    if words_only:
        return _WORDS_ONLY
    if matches.unprepared:
        return _UNPREPARED.format(number(matches.unprepared), number(matches.documents))
    return ""


def _hit_json(
    db: apsw.Connection, hit: ServerHit, names: dict[int, str], own: Collection[int]
) -> Json:
    entry = entry_of(hit.server)
    tools = market.tools_of(db, hit.server.package)
    return {
        "name": entry.name,
        "version": entry.version,
        "description": entry.description,
        "score": round(hit.score, 4),
        "tools": [tool.name for tool in hit.tools],
        "known_tools": len(tools),
        "tokens": sum(tool.tokens for tool in tools),
        "status": entry.status,
        "source": names[hit.server.source_id],
        "installed": market.installed_as(db, entry.name),
        "addable": can_be_added(entry, private=hit.server.source_id in own),
    }


def _state_of(row: Json) -> str:
    if row["installed"]:
        return "installed"
    return str(row["status"]).replace("active", "") or ("" if row["addable"] else "listed only")


def _found_text(query: str, rows: list[Json], note: str) -> str:
    if not rows:
        lines = [f"No listed server fits “{query}”.", "Fetch more lists: toolcrib registry sync"]
        return "\n".join([*lines, *([note] if note else [])])
    cells = [["server", "version", "fitting tools", "tools", "tokens ≈", ""]]
    for row in rows:
        shown = ", ".join(row["tools"][:_SHOWN_TOOLS])
        more = len(row["tools"]) - _SHOWN_TOOLS
        cells.append(
            [
                row["name"],
                row["version"],
                (shown + (f" +{more}" if more > 0 else "")) or row["description"][:60],
                number(row["known_tools"]) if row["known_tools"] else "",
                number(row["tokens"]) if row["tokens"] else "",
                _state_of(row),
            ]
        )
    lines = [table(cells, right=frozenset({3, 4}))]
    if not all(row["addable"] for row in rows):
        lines.append(
            "Listed only: its entry pins no version or cannot be started safely, so Toolcrib does"
            " not add it."
        )
    if addable := [quoted(row["name"]) for row in rows if row["addable"]]:
        lines.append(f"See the effect of one: toolcrib add --from {addable[0]} --dry-run")
    return "\n".join([*lines, *([note] if note else [])])
