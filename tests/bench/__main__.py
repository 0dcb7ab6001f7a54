"""`python -m tests.bench ...`: the field's experiments and Toolcrib's own costs, rerun."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.console import Console, table
from app.cli.main import run_parser
from app.cli.options import NEEDS_CONSENT, Verbs
from app.core.context import AppContext
from app.core.plain_parser import PlainParser
from app.core.safe_write import write_file
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from store.typed import Json

if TYPE_CHECKING:
    from tests.bench.report import Report


_EXPERIMENTS = {
    "paper": "Tool Attention's testbed and baselines, every figure marked",
    "haystack": "MCP-Zero's needle test, from one tool to all",
    "registry": "labelled sets inside 8,000 real tools, and what a query costs there",
    "discovery": "semantic discovery over 10 to 200 tools",
    "apibank": "API-Bank, beside MCP-Zero's figures",
    "poison": "how many poisoned tools gate and rules keep out",
    "requests": "what requests beside descriptions are worth, on sets and on developers' queries",
    "suggest": "what hooks suggest for prompts: coverage, right tools, silence on small talk",
    "own": "our own queries over real servers, and the floor that refuses chit-chat",
}
_REPORT = 'JSON: {"experiment", "tables": [{"title", "kinds", "rows"}], "notes"}.'


def main(argv: Sequence[str] | None = None) -> int:
    """Run one experiment; return its exit code, as `toolcrib` gives it."""
    args = list(sys.argv[1:] if argv is None else argv)
    return run_parser(make_parser(), args)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all experiments."""
    parser: argparse.ArgumentParser = PlainParser(
        prog="python -m tests.bench",
        description="Measure routing quality and Toolcrib's own costs.",
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document")
    kinds = parser.add_subparsers(metavar="EXPERIMENT", required=True)
    retrieval = kinds.add_parser(
        "retrieval",
        parents=[common],
        help="the paper's method, a host's own search and ours on labelled sets",
        description='JSON: {"macro": {"paper": {...}, "tool_search": {...}, '
        '"tool_search_keywords": {...}, "ours": {"hit1", "r5", "r10", "ndcg10", "mrr", "active", '
        '"empty", "cpu_ms"}}, "sets": {NAME: {...}}}.',
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
    raw = kinds.add_parser(
        "raw",
        parents=[common],
        help="what people type and paste themselves, in their language, on one half",
        description=_REPORT,
    )
    raw.add_argument("--data", type=Path, required=True, metavar="DIR")
    raw.add_argument("--half", choices=("open", "kept"), default="open")
    which = raw.add_mutually_exclusive_group()
    which.add_argument("--long", action="store_true", help="long prompts instead")
    which.add_argument("--set", dest="number", type=int, choices=(1, 2, 3), default=1)
    raw.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
    raw.set_defaults(run=run_raw)
    surfaces = kinds.add_parser(
        "surfaces",
        parents=[common],
        help="a gateway's and a hook's first tools beside the Playground's, by real processes",
        description=_REPORT,
    )
    surfaces.add_argument("--data", type=Path, required=True, metavar="DIR")
    surfaces.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
    surfaces.set_defaults(run=run_surfaces)
    team = kinds.add_parser(
        "team", parents=[common], help="a team's search in Postgres beside the local one"
    )
    team.add_argument("--data", type=Path, required=True, metavar="DIR")
    team.add_argument("--limit", type=int, default=0, metavar="N", help="queries a set")
    team.add_argument("--scale", type=int, default=0, metavar="N", help="N tools, by scope instead")
    team.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
    team.add_argument("--keep", type=Path, metavar="DIR", help="keep the filled database here")
    team.add_argument("--write", type=Path, metavar="FILE", help="put the sizing table in here")
    team.set_defaults(run=run_team)
    _add_scanner(kinds, common)
    costs = kinds.add_parser(
        "performance", parents=[common], help="CPU time of start-up and hot paths, as ratios"
    )
    costs.set_defaults(run=run_performance)
    indexing = kinds.add_parser(
        "indexing",
        parents=[common],
        help="CPU time a tool of taking lists in, at up to 50,000 tools",
        description=_REPORT,
    )
    indexing.add_argument("--most", type=int, default=50_000, metavar="N", help="tools at the end")
    indexing.set_defaults(run=run_indexing)
    languages = kinds.add_parser(
        "languages",
        parents=[common],
        help="what a query in another language costs a backend, once and then",
        description=_REPORT,
    )
    languages.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
    languages.set_defaults(run=run_languages)
    hook = kinds.add_parser(
        "hook",
        parents=[common],
        help="what a hook's command costs a prompt: backend warm, cold, off",
        description=_REPORT,
    )
    hook.add_argument("--cache", type=Path, metavar="DIR", help="keep embeddings here")
    hook.set_defaults(run=run_hook)
    memory = kinds.add_parser(
        "memory",
        parents=[common],
        help="what 1 to 6 hosts take over the servers of a config file, which are started",
        description=_REPORT,
    )
    memory.add_argument("config", type=Path, help="an mcpServers file; each entry is run")
    memory.add_argument("--yes", action="store_true", help="start them without asking")
    memory.set_defaults(run=run_memory)
    expansion = kinds.add_parser(
        "expansion",
        parents=[common],
        help="counts after expansion beside the true ones: real gateways, servers that grow",
        description=_REPORT,
    )
    expansion.add_argument("peers", type=Path, metavar="DIR", help="gateways and servers are here")
    expansion.add_argument("--install", action="store_true", help="install them there first")
    expansion.add_argument("--yes", action="store_true", help="start them without asking")
    expansion.set_defaults(run=run_expansion)
    judged = kinds.add_parser(
        "judged", parents=[common], help="the gateway judge's raw folder as a report"
    )
    judged.add_argument("raw", type=Path)
    judged.set_defaults(run=run_judged)
    defense = kinds.add_parser(
        "defense", parents=[common], help="what mcp-defense-bench measured, as a report"
    )
    defense.add_argument("files", type=Path, nargs="+", metavar="FILE", help="its results")
    defense.set_defaults(run=run_defense)
    writes = kinds.add_parser(
        "document",
        parents=[common],
        help="put tests/bench/RESULTS.md together from the experiments' JSON",
    )
    writes.add_argument("folder", type=Path, help="what the experiments wrote with --json")
    writes.add_argument("--out", type=Path, default=Path("tests/bench/RESULTS.md"))
    writes.set_defaults(run=run_document)
    return parser


def _add_scanner(kinds: Verbs, common: argparse.ArgumentParser) -> None:
    scanner = kinds.add_parser(
        "scanner",
        parents=[common],
        help="what the text scanner holds and warns of, on data split by hash",
        description=_REPORT,
    )
    scanner.add_argument("--data", type=Path, required=True, metavar="DIR")
    scanner.add_argument("--own", type=Path, metavar="FILE", help="tool lists in none of the data")
    scanner.add_argument("--last", action="store_true", help="read the untouched half, too")
    scanner.add_argument("--train", type=Path, metavar="DIR", help="fit, and write weights here")
    scanner.set_defaults(run=run_scanner)


def run_scanner(args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Measure the text scanner, or train its classifier."""
    from tests.bench.scanner import measure, train

    if args.train is not None:
        report = train.train(args.data, args.train)
        console.result(report, lambda: "\n".join(f"{k}: {v}" for k, v in report.items()))
    else:
        _print(measure.run(args.data, last=args.last, own=args.own), console)
    return 0


def run_retrieval(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Run the retrieval sets."""
    from tests.bench.retrieval import Options, run

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


def run_raw(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Judge raw queries of one half."""
    from tests.bench.raw import run

    encoder = prepared_encoder(ctx, console)
    which = {"number": args.number, "long": args.long}
    _print(run(args.data, encoder, half=args.half, **which, cache=args.cache), console)
    return 0


def run_surfaces(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Compare what a host gets with what the window shows."""
    from tests.bench.surfaces import run

    _print(run(args.data, prepared_encoder(ctx, console), cache=args.cache), console)
    return 0


def run_team(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Compare a team's search with the local one, or measure it by what a caller may see."""
    from tests.bench import team, team_scale, team_sizing

    encoder = prepared_encoder(ctx, console)
    tell = console.progress
    if args.scale:
        value = team_scale.measure(
            args.data,
            encoder,
            count=args.scale,
            cache=args.cache,
            keep=args.keep,
            progress=tell,
        )
        if args.write:
            team_sizing.write(value, args.write)
        made = team_sizing.report(value)
    else:
        value = team.parity(args.data, encoder, limit=args.limit, cache=args.cache, progress=tell)
        made = team.report(value)
    console.progress_done()
    console.result({**value, **made.as_json()}, made.as_text)
    return 0


def run_performance(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Measure start-up and hot paths; 1 when a figure is over its bound."""
    from tests.bench.performance import measure, report

    figures = measure()
    _print(report(figures), console)
    return 0 if all(f.kept for f in figures) else 1


def run_indexing(args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Measure what taking tools in costs as the catalogue grows."""
    from tests.bench.indexing import run

    _print(run(args.most), console)
    return 0


def run_languages(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Measure queries in other languages; 1 when a figure is over its bound."""
    from tests.bench.languages import run
    from tests.bench.performance import report

    figures = run(prepared_encoder(ctx, console), cache=args.cache)
    _print(report(figures, "bench languages", "Queries in other languages"), console)
    return 0 if all(f.kept for f in figures) else 1


def run_hook(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Measure the hook's command."""
    from tests.bench.hooks.cost import run

    _print(run(prepared_encoder(ctx, console), cache=args.cache), console)
    return 0


def run_memory(args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Measure what hosts take together; 4 without consent to start the servers."""
    from tests.bench.memory import run

    question = f"Start every server of {args.config}, up to six times?"
    if not args.yes and not console.confirm(question):
        return NEEDS_CONSENT
    _print(run(args.config), console)
    return 0


def run_expansion(args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Count what gateways and growing servers hide; 4 without consent to start them."""
    from tests.bench import expansion

    question = f"Start the gateways and servers in {args.peers}, and five real servers?"
    if not args.yes and not console.confirm(question):
        return NEEDS_CONSENT
    peers = args.peers.resolve()
    if args.install:
        expansion.install(peers)
    with tempfile.TemporaryDirectory() as work:
        _print(expansion.run(peers, Path(work)), console)
    return 0


def run_experiment(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Run one of the field's experiments."""
    from tests.bench import (
        apibank,
        discovery,
        haystack,
        own,
        paper,
        poison,
        registry,
        requests,
        suggest,
    )
    from tests.bench.data.catalogues import find_folder, read_catalogue
    from tests.bench.data.sets import read_set, read_sets

    encoder, data, cache = prepared_encoder(ctx, console), args.data, args.cache
    real = data / "catalog" / "real_catalog.jsonl"
    catalogue = read_catalogue(real) if real.is_file() else ()
    if args.experiment == "paper":
        made = paper.run(encoder, catalogue=catalogue, cache=cache)
    elif args.experiment == "poison":
        file = data / "poison" / "tools.jsonl"
        made = poison.run(file, encoder, catalogue=catalogue, cache=cache)
    elif args.experiment == "requests":
        made = requests.run(data, encoder, cache=cache, progress=console.progress)
    elif args.experiment == "registry":
        made = registry.run(data, encoder, cache=cache, progress=console.progress)
    elif args.experiment == "own":
        sets = read_sets(data) if any(data.rglob("catalogue.jsonl")) else ()
        made = own.run(real, encoder, sets=sets, cache=cache)
    elif args.experiment == "suggest":
        made = suggest.run(read_sets(data), encoder, cache=cache)
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
    from tests.bench.judged import run

    _print(run(args.raw), console)
    return 0


def run_defense(args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Print what mcp-defense-bench measured."""
    from tests.bench.defense import run

    _print(run(args.files), console)
    return 0


def run_document(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Put tests/bench/RESULTS.md together."""
    from tests.bench.document import document

    before = args.out.read_text(encoding="utf-8") if args.out.is_file() else ""
    text = document(args.folder, ctx.clock(), before)
    write_file(args.out, text.encode())
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


def _retrieval_text(value: Json) -> str:
    from tests.bench import host_search

    ways = ("paper", *host_search.WAYS, "ours", "learned", "shipped", "left_out")
    rows = [["set", "method", *_COLUMNS]]
    blocks = [*value["sets"].items(), ("macro", value["macro"])]
    for name, block in blocks:
        for way in (way for way in ways if way in block):
            cells = [f"{block[way][column]:.1f}" for column in _COLUMNS if column in block[way]]
            rows.append([name, way, *cells, *[""] * (len(_COLUMNS) - len(cells))])
    return table(rows, right=frozenset(range(2, 10)))


if __name__ == "__main__":
    sys.exit(main())
