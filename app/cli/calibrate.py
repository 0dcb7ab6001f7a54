"""`toolcrib calibrate` and `toolcrib learn`: what follows from labelled queries."""

import argparse
from dataclasses import asdict
from functools import partial

from app.catalog.catalog import Catalog, load_catalog, save_settings
from app.cli.console import Console
from app.cli.options import Verbs, add_profile, add_verb
from app.cli.ranking import load_encoder
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.encoder.onnx import Encoder
from app.export.policy_writing import change_profile
from app.ranking.floor import own_chit_chat
from app.ranking.learning import learn, query_set
from app.ranking.learning.calibrate import Calibration, Sweep, calibrate
from app.ranking.learning.runs import Comparison, compare, save_run
from app.ranking.router import Router
from store import queries
from store.records import RunRecord
from store.typed import Json


def add(verbs: Verbs) -> None:
    """Add both verbs."""
    _add_calibrate(verbs)
    _add_learn(verbs)


def _add_calibrate(verbs: Verbs) -> None:
    point = '{"value", "f1", "recall", "precision", "active", "empty"}'
    parser = add_verb(
        verbs,
        "calibrate",
        run_calibrate,
        page='JSON: {"queries", "unknown", "floor", "note", "used", "theta": SWEEP or null,'
        ' "delta": SWEEP or null, "run": ID, "compared": null or {"same_catalogue", "fixed",'
        ' "regressed", "still_failing", "passed", "new"}}; SWEEP is {"best": POINT, "band": [low,'
        ' high] of the best F1, "reached", "held": POINT or null, "points", "bands": [{"recall",'
        f' "precision"}}] low and high at each point}}, POINT {point}.',
    )
    parser.add_argument(
        "--target-recall", type=_share, default=0.0, metavar="R", help="0 to 1, instead of best F1"
    )
    parser.add_argument("--use", action="store_true", help="write the best values to the profile")
    parser.add_argument("--compare", action="store_true", help="with the run before")
    add_profile(parser)


def _add_learn(verbs: Verbs) -> None:
    parser = add_verb(
        verbs,
        "learn",
        run_learn,
        page='JSON: {"used", "labels", "before", "after", "reason", "seconds"}: nDCG@10 of'
        ' held-back queries in per cent, CPU seconds; with --reset {"reset": true}.',
    )
    parser.add_argument("--reset", action="store_true", help="forget what was learned")
    add_profile(parser)


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError("from 0 to 1")
    return value


def run_calibrate(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Calibrate; with --use the profile gets what was found."""
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        encoder = _needed_encoder(ctx, console, catalog)
        routing = catalog.settings.routing
        labels = queries.labels(db)
        used = args.use and bool(labels)
        calibration = calibrate(
            Router.from_store(db, catalog, routing, encoder),
            labels,
            settings=routing,
            chit_chat=own_chit_chat(),
            target_recall=args.target_recall,
        )
        chosen = calibration.settings(routing)
        before = queries.runs(db)
        run = save_run(db, calibration, chosen, model=encoder.key, clock=ctx.clock)
        if used:
            changed = catalog.settings.with_routing(
                theta=chosen.theta, delta=chosen.delta, floor=chosen.floor
            )
            save = partial(save_settings, db, args.profile, changed)
            change_profile(db, args.profile, ctx.paths, ctx.clock(), save)
    compared = compare(before[0], run) if args.compare and before else None
    value = _calibration_json(calibration, run, compared, used=used)
    console.result(value, lambda: _calibration_text(calibration, compared, used=used))
    return 0


def _needed_encoder(ctx: AppContext, console: Console, catalog: Catalog) -> Encoder:
    if not catalog.tools:
        raise ToolcribError(catalog.why_empty)
    encoder = load_encoder(ctx, console)
    if encoder is None:
        raise ToolcribError(
            "This needs the encoder, which is not there.", "Prepare it with: toolcrib scan"
        )
    return encoder


def _calibration_json(
    calibration: Calibration, run: RunRecord, compared: Comparison | None, *, used: bool
) -> Json:
    return {
        "queries": calibration.queries,
        "unknown": calibration.unknown,
        "floor": calibration.floor,
        "note": calibration.note,
        "used": used,
        "theta": asdict(calibration.theta) if calibration.theta else None,
        "delta": asdict(calibration.delta) if calibration.delta else None,
        "run": run.id,
        "compared": asdict(compared) if compared else None,
    }


def _calibration_text(calibration: Calibration, compared: Comparison | None, *, used: bool) -> str:
    served = sum(calibration.passed.values())
    queries = plural(calibration.queries, "labelled query")
    lines = [f"{queries}, {served} of them with their tools in."]
    if calibration.unknown:
        lines.append(f"{calibration.unknown} more name no tool of this catalog.")
    lines += [_sweep_text(sweep) for sweep in (calibration.theta, calibration.delta) if sweep]
    lines += [text for text in (calibration.note,) if text]
    lines.append(f"floor {calibration.floor:.2f}")
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
            lines.append("The catalog has changed since.")
    if used:
        lines.append("Written to the profile.")
    elif calibration.queries:
        how = "To use it all the same" if calibration.note else "Use it with"
        lines.append(f"{how}: toolcrib calibrate --use")
    else:
        lines.append("There is nothing to use yet: nothing was written.")
        lines.append("Label queries first: toolcrib labels add QUERY SERVER/TOOL")
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
        with ctx.store() as db:
            learn.reset(db)
        console.result({"reset": True}, lambda: "Forgotten. The labelled queries are kept.")
        return 0
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        encoder = _needed_encoder(ctx, console, catalog)
        router = Router.from_store(db, catalog, catalog.settings.routing, encoder)
        report = learn.train(db, router, query_set.taught_by(db), clock=ctx.clock)
    queries = plural(report.labels, "query")
    figures = f" nDCG@10 {report.before:.1f} → {report.after:.1f}." if report.after else ""
    console.result(asdict(report), lambda: f"{queries}. {report.reason}{figures}")
    return 0
