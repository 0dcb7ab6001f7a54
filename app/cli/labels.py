"""`toolcrib labels ...`: which tools a query should find."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from app.catalog.catalog import load_catalog, match_tools
from app.cli.console import Console, table
from app.cli.options import Verbs, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.indexing.hidden_labels import hidden_labels
from app.ranking.learning.label_files import SPLIT, read
from store import queries
from store.connection import transaction
from store.records import LabelRecord


def add(verbs: Verbs) -> None:
    """Add the verb and its actions."""
    actions = add_group(verbs, "labels")
    shown = '{"id", "query", "expected": ["server/tool"], "source"}'
    add_verb(actions, "list", run_list, "all of them", f'JSON: {{"labels": [{shown}]}}.')
    added = 'JSON: {"added": N, "labels": N in all}.'
    one = add_verb(actions, "add", run_add, "one query; no tool means that none fits", added)
    one.add_argument("query", help="what a user would ask")
    one.add_argument("tools", nargs="*", metavar="TOOL", help="server/tool")
    add_profile(one)
    many = add_verb(
        actions,
        "import",
        run_import,
        "from .jsonl or .csv",
        'A JSONL line is {"query", "expected": ["server/tool"]}; a CSV file has the'
        f" columns query and expected, tools joined by {SPLIT}. {added}",
    )
    many.add_argument("file", type=Path, help="ending in .jsonl or .csv")
    taken = add_verb(
        actions,
        "records",
        run_records,
        "from the hosts' records: a prompt, and the tools called after it",
        "Only of hosts whose profile keeps prompts, and after `toolcrib usage read`"
        " was agreed to. The first 500 characters of a prompt are kept, credentials as dots."
        f" {added}",
    )
    add_profile(taken)
    gone = add_verb(actions, "delete", run_delete, "forget one", 'JSON: {"deleted": ID}.')
    gone.add_argument("id", type=int, help="its number in toolcrib labels list")


def run_list(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List labelled queries."""
    with ctx.store() as db:
        records = queries.labels(db)
    value = [
        {"id": r.id, "query": r.query, "expected": list(r.expected), "source": r.source}
        for r in records
    ]
    rows = [["id", "by", "query", "expected"]]
    rows += [[str(r.id), r.source, r.query, ", ".join(r.expected) or "no tool"] for r in records]
    none = "No query is labelled yet. Label one: toolcrib labels add QUERY SERVER/TOOL"
    console.result(
        {"labels": value}, lambda: table(rows, right=frozenset({0})) if records else none
    )
    return 0


def run_add(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Label one query."""
    if not args.query.strip():
        raise ToolcribError("The query is empty.", "Write what you would ask for.")
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        tools = tuple(t.tool.tool_id for t in match_tools(catalog, args.tools))
        return _hide(ctx, db, [LabelRecord(0, args.query, tools, "typed", ctx.clock())], console)


def run_import(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Label the queries of a file."""
    rows = [LabelRecord(0, q, tools, "imported", ctx.clock()) for q, tools in read(args.file)]
    with ctx.store() as db:
        return _hide(ctx, db, rows, console)


def run_records(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Label prompts of the hosts' records with the tools called after them."""
    from app.hooks.record_labels import labels_from_records

    with ctx.store() as db:
        rows = labels_from_records(
            db,
            ctx.paths,
            Path.home(),
            os.environ,
            args.profile,
            agreed=ctx.settings.host_records,
            progress=lambda done, total: console.progress(f"{done} of {total} records"),
        )
        console.progress_done()
        return _save(db, rows, console)


def _hide(
    ctx: AppContext, db: apsw.Connection, rows: Sequence[LabelRecord], console: Console
) -> int:
    """Save what was typed or imported, secrets as dots."""
    hidden = hidden_labels(db, ctx.paths, os.environ, rows)
    many = sum(one.query != row.query for one, row in zip(hidden, rows, strict=True))
    if many:
        console.note(f"{plural(many, 'query')} with what looks like a secret: it is kept as dots.")
    return _save(db, hidden, console)


def _save(db: apsw.Connection, rows: Sequence[LabelRecord], console: Console) -> int:
    with transaction(db):
        new = queries.save_labels(db, rows)
    value = {"added": new, "labels": len(queries.labels(db))}
    console.result(value, lambda: f"{new} added, {value['labels']} in all.")
    return 0


def run_delete(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Forget one labelled query."""
    with ctx.store() as db:
        if args.id not in {r.id for r in queries.labels(db)}:
            raise ToolcribError(
                f"There is no labelled query {args.id}.", "See them with: toolcrib labels list"
            )
        with transaction(db):
            queries.delete_label(db, args.id)
    console.result({"deleted": args.id}, lambda: f"Deleted {args.id}.")
    return 0
