"""`toolcrib bench ...`: the field's experiments and Toolcrib's own costs, rerun."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.console import Console, table
from app.cli.options import Verbs
from app.context import AppContext
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model

if TYPE_CHECKING:
    from app.bench.report import Report


_EXPERIMENTS = {
    "paper": "Tool Attention's testbed and baselines, every figure marked",
    "haystack": "MCP-Zero's needle test, from one tool to all",
    "discovery": "semantic discovery over 10 to 200 tools",
    "apibank": "API-Bank, beside MCP-Zero's figures",
    "poison": "how many poisoned tools gate and rules keep out",
    "own": "our own queries over real servers, and the floor that refuses chit-chat",
}
_REPORT = 'JSON: {"experiment", "tables": [{"title", "kinds", "rows"}], "notes"}.'


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
    retrieval.add_argument(
        "--logs", type=int, default=1, metavar="K", help="with --own-log: draw K logs"
    )
    retrieval.add_argument(
        "--leave-one-out", action="store_true", help="constants chosen on the other sets"
    )
    retrieval.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
    retrieval.set_defaults(run=run_retrieval)
    for name, help_ in _EXPERIMENTS.items():
        experiment = kinds.add_parser(name, parents=[common], help=help_, description=_REPORT)
        experiment.add_argument("--data", type=Path, required=True, metavar="DIR")
        experiment.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
        experiment.set_defaults(run=run_experiment, experiment=name)
    costs = kinds.add_parser(
        "performance", parents=[common], help="CPU time of start-up and hot paths, as ratios"
    )
    costs.set_defaults(run=run_performance)
    judged = kinds.add_parser(
        "judged", parents=[common], help="the gateway judge's raw folder as a report"
    )
    judged.add_argument("raw", type=Path)
    judged.set_defaults(run=run_judged)
    writes = kinds.add_parser(
        "document", parents=[common], help="put BENCHMARKS.md together from the experiments' JSON"
    )
    writes.add_argument("folder", type=Path, help="what the experiments wrote with --json")
    writes.add_argument("--out", type=Path, default=Path("BENCHMARKS.md"))
    writes.set_defaults(run=run_document)


def run_retrieval(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Run the retrieval sets."""
    from app.bench.retrieval import Options, run

    options = Options(
        limit=args.limit,
        own_log=args.own_log,
        logs=max(1, args.logs),
        leave_one_out=args.leave_one_out,
        cache=args.cache,
    )
    encoder = prepared_encoder(ctx, console)
    value = run(args.data, encoder, options, progress=console.progress)
    console.progress_done()
    console.result(value, lambda: _retrieval_text(value))
    return 0


def run_performance(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Measure start-up and hot paths; 1 when a figure is over its bound."""
    from app.bench.performance import measure, report

    figures = measure()
    _print(report(figures), console)
    return 0 if all(f.kept for f in figures) else 1


def run_experiment(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Run one of the field's experiments."""
    from app.bench import apibank, discovery, haystack, own, paper, poison
    from app.bench.catalogues import find_folder, read_catalogue
    from app.bench.sets import read_set, read_sets

    encoder, data, cache = prepared_encoder(ctx, console), args.data, args.cache
    real = data / "catalog" / "real_catalog.jsonl"
    catalogue = read_catalogue(real) if real.is_file() else ()
    if args.experiment == "paper":
        made = paper.run(encoder, catalogue=catalogue, cache=cache)
    elif args.experiment == "poison":
        file = data / "poison" / "tools.jsonl"
        made = poison.run(file, encoder, catalogue=catalogue, cache=cache)
    elif args.experiment == "own":
        sets = read_sets(data) if any(data.rglob("catalogue.jsonl")) else ()
        made = own.run(real, encoder, sets=sets, cache=cache)
    elif args.experiment == "apibank":
        made = apibank.run(find_folder(data, ["api-bank"]), encoder, cache=cache)
    elif args.experiment == "haystack":
        # queries with one right tool; the real catalogue is the hay
        given = read_set(find_folder(data, ["azure-mcp", "livemcpbench"]))
        made = haystack.run(given, encoder, hay=catalogue, cache=cache)
    else:
        given = read_set(find_folder(data, ["livemcpbench", "azure-mcp"]))
        made = discovery.run(given, encoder, cache=cache)
    _print(made, console)
    return 0


def run_judged(args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Print what the gateway judge measured."""
    from app.bench.judged import run

    _print(run(args.raw), console)
    return 0


def run_document(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Put BENCHMARKS.md together."""
    from app.bench.document import document

    text = document(args.folder, ctx.clock())
    args.out.write_text(text, encoding="utf-8")
    console.result({"written": str(args.out)}, lambda: f"Written: {args.out}")
    return 0


def _print(made: "Report", console: Console) -> None:
    console.progress_done()
    console.result(made.as_json(), made.as_text)


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
    ways = ("paper", "ours", "learned", "shipped", "left_out")
    rows = [["set", "method", *_COLUMNS]]
    blocks = [*value["sets"].items(), ("macro", value["macro"])]
    for name, block in blocks:
        for way in (way for way in ways if way in block):
            cells = [f"{block[way][column]:.1f}" for column in _COLUMNS if column in block[way]]
            rows.append([name, way, *cells, *[""] * (len(_COLUMNS) - len(cells))])
    return table(rows, right=frozenset(range(2, 10)))
