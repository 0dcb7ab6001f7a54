"""`toolcrib bench ...`: the field's experiments and Toolcrib's own costs, rerun."""

import argparse
from pathlib import Path
from typing import Any

from app.cli.console import Console, table
from app.cli.options import Verbs
from app.context import AppContext
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add the verb and its experiments."""
    parser = verbs.add_parser("bench", help="measure routing quality and Toolcrib's own costs")
    kinds = parser.add_subparsers(metavar="EXPERIMENT", required=True)
    retrieval = kinds.add_parser(
        "retrieval",
        parents=[common],
        help="the paper's method and ours on labelled sets",
        description='JSON: {"macro": {"paper": {...}, "ours": {"hit1", "r5", "r10", "ndcg10", '
        '"mrr", "active", "empty", "cpu_ms"}}, "sets": {NAME: {...}}}.',
    )
    retrieval.add_argument("--data", type=Path, required=True, metavar="DIR")
    retrieval.add_argument("--limit", type=int, default=0, metavar="N", help="queries a set")
    retrieval.add_argument("--own-log", type=int, default=0, metavar="N", help="learn from N")
    retrieval.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
    retrieval.set_defaults(run=run_retrieval)
    costs = kinds.add_parser(
        "performance", parents=[common], help="CPU time of start-up and hot paths, as ratios"
    )
    costs.set_defaults(run=run_performance)


def run_retrieval(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Run the retrieval sets."""
    from app.bench.retrieval import Options, run

    options = Options(limit=args.limit, own_log=args.own_log, cache=args.cache)
    encoder = prepared_encoder(ctx, console)
    value = run(args.data, encoder, options, progress=console.progress)
    console.progress_done()
    console.result(value, lambda: _retrieval_text(value))
    return 0


def run_performance(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Measure start-up and hot paths; 1 when a figure is over its bound."""
    from app.bench.performance import measure

    figures = measure()
    value = [
        {
            "name": f.name,
            "value": round(f.value, 2),
            "unit": f.unit,
            "bound": f.bound,
            "kept": f.kept,
            "note": f.note,
        }
        for f in figures
    ]
    rows = [["figure", "measured", "bound", "kept"]]
    for f in figures:
        kept = "yes" if f.kept else "NO"
        rows.append([f.name, f"{f.value:.1f} {f.unit}", f"{f.bound:g}", kept])
    console.result({"figures": value}, lambda: table(rows, right=frozenset({1, 2})))
    return 0 if all(f.kept for f in figures) else 1


def prepared_encoder(ctx: AppContext, console: Console) -> Encoder:
    """The encoder of the settings, exported first if need be."""
    files = ensure_model(
        ctx.paths,
        ctx.settings.model,
        lambda step, done: console.progress(f"{step} ({done:.0%})"),
    )
    console.progress_done()
    return Encoder.load(files)


_COLUMNS = ("hit1", "r5", "r10", "ndcg10", "mrr", "active", "empty", "cpu_ms")


def _retrieval_text(value: dict[str, Any]) -> str:
    rows = [["set", "method", *_COLUMNS]]
    blocks = [*value["sets"].items(), ("macro", value["macro"])]
    for name, block in blocks:
        for way in ("paper", "ours"):
            cells = [f"{block[way][column]:.1f}" for column in _COLUMNS if column in block[way]]
            rows.append([name, way, *cells, *[""] * (len(_COLUMNS) - len(cells))])
    return table(rows, right=frozenset(range(2, 10)))
