"""`toolcrib labels | calibrate | learn`: what queries should find, and what follows from it."""

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import apsw

from app.catalog import load_catalog, match_tools, save_settings
from app.cli.console import Console, table
from app.cli.options import Verbs, add_profile
from app.cli.route import load_encoder
from app.context import AppContext
from app.encoder.onnx import Encoder
from app.errors import ToolcribError
from app.routing import learn
from app.routing.calibration import Calibration, Sweep, calibrate
from app.routing.floor import own_chit_chat
from app.routing.router import Router
from app.routing.runs import Comparison, compare, save_run
from store import events, queries
from store.connection import transaction
from store.records import LabelRecord, RunRecord

_EVENTS = 100_000  # newest journal entries looked at for a search and the tool then called
_SPLIT = "|"  # between the tools of a CSV cell


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add the verbs and their actions."""
    parser = verbs.add_parser("labels", help="say which tools a query should find")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    shown = '{"id", "query", "expected": ["server/tool"], "source"}'
    listed = actions.add_parser(
        "list", parents=[common], help="all of them", description=f'JSON: {{"labels": [{shown}]}}.'
    )
    listed.set_defaults(run=run_list)
    one = actions.add_parser(
        "add", parents=[common], help="one query; no tool means that none fits",
        description='JSON: {"added": N, "labels": N in all}.',
    )  # fmt: skip
    one.add_argument("query")
    one.add_argument("tools", nargs="*", metavar="TOOL", help="server/tool")
    add_profile(one)
    one.set_defaults(run=run_add)
    many = actions.add_parser(
        "import",
        parents=[common],
        help="from .jsonl or .csv",
        description='A JSONL line is {"query", "expected": ["server/tool"]}; a CSV file has the'
        f" columns query and expected, tools joined by {_SPLIT}."
        ' JSON: {"added": N, "labels": N in all}.',
    )
    many.add_argument("file", type=Path)
    many.set_defaults(run=run_import)
    gone = actions.add_parser(
        "delete", parents=[common], help="forget one", description='JSON: {"deleted": ID}.'
    )
    gone.add_argument("id", type=int)
    gone.set_defaults(run=run_delete)
    _add_calibrate(verbs, common)
    _add_learn(verbs, common)


def _add_calibrate(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    point = '{"value", "f1", "recall", "precision", "active", "empty"}'
    parser = verbs.add_parser(
        "calibrate",
        parents=[common],
        help="choose theta, delta and floor by your labelled queries",
        description='JSON: {"queries", "unknown", "floor", "note", "used", "theta": SWEEP or null,'
        ' "delta": SWEEP or null, "run": ID, "compared": null or {"same_catalogue", "fixed",'
        ' "regressed", "still_failing", "passed", "new"}}; SWEEP is {"best": POINT, "band": [low,'
        f' high] of the best F1, "reached", "held": POINT or null, "points"}}, POINT {point}.',
    )
    parser.add_argument(
        "--target-recall", type=_share, default=0.0, metavar="R", help="0 to 1, instead of best F1"
    )
    parser.add_argument("--use", action="store_true", help="write what was found to the profile")
    parser.add_argument("--compare", action="store_true", help="with the run before")
    add_profile(parser)
    parser.set_defaults(run=run_calibrate)


def _add_learn(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    parser = verbs.add_parser(
        "learn",
        parents=[common],
        help="let rankings learn from your labelled queries and from activity",
        description='JSON: {"used", "labels", "before", "after", "reason", "seconds"}: nDCG@10 of'
        ' held-back queries in per cent, CPU seconds; with --reset {"reset": true}.',
    )
    parser.add_argument("--reset", action="store_true", help="forget what was learned")
    add_profile(parser)
    parser.set_defaults(run=run_learn)


def run_list(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List labelled queries."""
    with closing(ctx.open_store()) as db:
        found = queries.labels(db)
    value = [
        {"id": r.id, "query": r.query, "expected": list(r.expected), "source": r.source}
        for r in found
    ]
    rows = [["id", "by", "query", "expected"]]
    rows += [[str(r.id), r.source, r.query, ", ".join(r.expected) or "no tool"] for r in found]
    console.result({"labels": value}, lambda: table(rows, right=frozenset({0})))
    return 0


def run_add(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Label one query."""
    if not args.query.strip():
        raise ToolcribError("The query is empty.", "Write what you would ask for.")
    with closing(ctx.open_store()) as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        tools = tuple(t.tool.tool_id for t in match_tools(catalog, args.tools))
        return _save(db, [LabelRecord(0, args.query, tools, "typed", ctx.clock())], console)


def run_import(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Label the queries of a file."""
    rows = [LabelRecord(0, q, tools, "imported", ctx.clock()) for q, tools in read(args.file)]
    with closing(ctx.open_store()) as db:
        return _save(db, rows, console)


def _save(db: apsw.Connection, rows: Sequence[LabelRecord], console: Console) -> int:
    with transaction(db):
        new = queries.save_labels(db, rows)
    value = {"added": new, "labels": len(queries.labels(db))}
    console.result(value, lambda: f"{new} added, {value['labels']} in all.")
    return 0


def run_delete(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Forget one labelled query."""
    with closing(ctx.open_store()) as db:
        if args.id not in {r.id for r in queries.labels(db)}:
            raise ToolcribError(
                f"There is no labelled query {args.id}.", "See them with: toolcrib labels list"
            )
        with transaction(db):
            queries.delete_label(db, args.id)
    console.result({"deleted": args.id}, lambda: f"Deleted {args.id}.")
    return 0


def read(file: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Queries with their tools, of a JSONL or CSV file; raises ToolcribError with the line."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ToolcribError(f"{file} cannot be read: {error}.", "Use UTF-8 text.") from error
    if file.suffix.lower() == ".csv":
        return list(_from_csv(file, lines))
    return [_row(file, at, _object(file, at, x)) for at, x in enumerate(lines, 1) if x.strip()]


def _from_csv(file: Path, lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    rows = csv.DictReader(lines)
    if not {"query", "expected"} <= set(rows.fieldnames or ()):
        raise ToolcribError(f"{file} lacks a column.", "It needs query and expected.")
    for row in rows:
        names = [name.strip() for name in (row["expected"] or "").split(_SPLIT)]
        found = {"query": row["query"], "expected": [name for name in names if name]}
        yield _row(file, rows.line_num, found)


def _object(file: Path, at: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ToolcribError(f"Line {at} of {file} is not JSON.", "Mend that line.") from error


def _row(file: Path, at: int, row: Any) -> tuple[str, tuple[str, ...]]:
    found: dict[str, Any] = row if isinstance(row, dict) else {}
    query, tools = found.get("query"), found.get("expected")
    asked = isinstance(query, str) and query.strip()
    if not (asked and isinstance(tools, list) and all(_is_tool(tool) for tool in tools)):
        raise ToolcribError(
            f"Line {at} of {file} is no labelled query.",
            'It needs a query and its tools: {"query": "...", "expected": ["server/tool"]}.',
        )
    return str(query), tuple(tools)


def _is_tool(name: object) -> bool:
    return isinstance(name, str) and "/" in name


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError("from 0 to 1")
    return value


def run_calibrate(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Calibrate; with --use the profile gets what was found."""
    encoder = _needed_encoder(ctx, console)
    with closing(ctx.open_store()) as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        routing = catalog.settings.routing
        found = calibrate(
            Router.from_store(db, catalog, routing, encoder),
            queries.labels(db),
            settings=routing,
            chit_chat=own_chit_chat(),
            target_recall=args.target_recall,
        )
        chosen = found.settings(routing)
        before = queries.runs(db)
        run = save_run(db, found, chosen, model=encoder.key, clock=ctx.clock)
        if args.use:
            changed = catalog.settings.with_routing(
                theta=chosen.theta, delta=chosen.delta, floor=chosen.floor
            )
            save_settings(db, args.profile, changed)
    compared = compare(before[0], run) if args.compare and before else None
    value = _calibration_json(found, run, compared, used=args.use)
    console.result(value, lambda: _calibration_text(found, compared, used=args.use))
    return 0


def _needed_encoder(ctx: AppContext, console: Console) -> Encoder:
    encoder = load_encoder(ctx, console)
    if encoder is None:
        raise ToolcribError(
            "This needs the encoder, which is not there.", "Prepare it with: toolcrib scan"
        )
    return encoder


def _calibration_json(
    found: Calibration, run: RunRecord, compared: Comparison | None, *, used: bool
) -> dict[str, Any]:
    return {
        "queries": found.queries,
        "unknown": found.unknown,
        "floor": found.floor,
        "note": found.note,
        "used": used,
        "theta": asdict(found.theta) if found.theta else None,
        "delta": asdict(found.delta) if found.delta else None,
        "run": run.id,
        "compared": asdict(compared) if compared else None,
    }


def _calibration_text(found: Calibration, compared: Comparison | None, *, used: bool) -> str:
    lines = [f"{found.queries} labelled queries, {sum(found.passed.values())} get their tools."]
    if found.unknown:
        lines.append(f"{found.unknown} more name no tool of this catalogue.")
    lines += [_sweep_text(sweep) for sweep in (found.theta, found.delta) if sweep]
    lines += [text for text in (found.note,) if text]
    lines.append(f"floor {found.floor:.2f}")
    if compared:
        counts = [
            f"{len(compared.fixed)} fixed",
            f"{len(compared.regressed)} regressed",
            f"{len(compared.still_failing)} still failing",
            f"{len(compared.new)} new",
        ]
        lines.append("Since the run before: " + ", ".join(counts))
        lines += [f"  regressed: {query}" for query in compared.regressed]
        if not compared.same_catalogue:
            lines.append("The catalogue has changed since.")
    lines.append("Written to the profile." if used else "Use it with: toolcrib calibrate --use")
    return "\n".join(lines)


def _sweep_text(sweep: Sweep) -> str:
    best, (low, high) = sweep.best, sweep.band
    text = (
        f"{sweep.setting} {best.value:.2f}: F1 {best.f1:.2f} ({low:.2f} to {high:.2f}), recall"
        f" {best.recall:.2f}, {best.active:.1f} tools in"
    )
    if sweep.held:
        text += f"; held out: F1 {sweep.held.f1:.2f}, recall {sweep.held.recall:.2f}"
    return text if sweep.reached else f"{text}; no value reaches the recall asked for"


def run_learn(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Learn from labels and activity, or forget."""
    if args.reset:
        with closing(ctx.open_store()) as db:
            learn.reset(db)
        console.result({"reset": True}, lambda: "Forgotten. The labelled queries are kept.")
        return 0
    encoder = _needed_encoder(ctx, console)
    with closing(ctx.open_store()) as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        router = Router.from_store(db, catalog, catalog.settings.routing, encoder)
        seen = learn.labels_from_activity(events.recent(db, _EVENTS))
        report = learn.train(db, router, [*queries.labels(db), *seen], clock=ctx.clock)
    figures = f" nDCG@10 {report.before:.1f} → {report.after:.1f}." if report.after else ""
    console.result(asdict(report), lambda: f"{report.labels} queries. {report.reason}{figures}")
    return 0
