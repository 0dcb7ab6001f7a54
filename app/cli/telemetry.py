"""`toolcrib telemetry`: the journal as lines of JSON, and spans to an OpenTelemetry receiver."""

import argparse
import json
import sys
from pathlib import Path

from app.cli.console import Console
from app.cli.options import Verbs, add_group, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.safe_write import write_file
from app.gateway.event_fields import line_of
from app.gateway.telemetry import check_receiver
from store import events
from store.typed import Json


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parts = add_group(
        verbs,
        "telemetry",
        page="Off until you switch it on. Counts, times and names leave; search texts and "
        "error texts only with --texts. Arguments of calls never leave: they are not kept. "
        'JSON of show, on and off: {"on", "endpoint", "texts"}; of export {"events", "path"}.',
    )
    add_verb(parts, "show", run_show, "what is switched on")
    on = add_verb(parts, "on", run_on, "send events to a receiver from now on")
    on.add_argument("--endpoint", metavar="URL", help="OTLP over HTTP; kept")
    on.add_argument("--texts", action="store_true", help="search texts and error texts, too")
    add_verb(parts, "off", run_off, "send nothing more")
    export = add_verb(parts, "export", run_export, "the journal as JSONL")
    export.add_argument(
        "--days", type=float, default=30.0, metavar="N", help="of the last N days (default: 30)"
    )
    export.add_argument("--out", type=Path, metavar="FILE", help="a file instead of the output")
    export.add_argument("--texts", action="store_true", help="search texts and error texts, too")


def run_show(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Say what is switched on."""
    used = ctx.settings
    value: Json = {
        "on": used.telemetry,
        "endpoint": used.telemetry_endpoint,
        "texts": used.telemetry_texts,
    }
    texts = ", with search texts and error texts" if used.telemetry_texts else ""
    words = f"on: events go to {used.telemetry_endpoint}{texts}" if used.telemetry else "off"
    console.result(value, lambda: f"Telemetry is {words}.")
    return 0


def run_on(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Send events to a receiver from now on."""
    endpoint = args.endpoint or ctx.settings.telemetry_endpoint
    check_receiver(endpoint)
    ctx.keep(telemetry=True, telemetry_endpoint=endpoint, telemetry_texts=bool(args.texts))
    return run_show(args, ctx, console)


def run_off(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Send nothing more."""
    ctx.keep(telemetry=False, telemetry_texts=False)
    return run_show(args, ctx, console)


def run_export(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Write the journal as JSONL."""
    since = ctx.clock() - args.days * 86_400
    with ctx.store() as db:
        lines = [
            json.dumps(line_of(event, texts=args.texts), ensure_ascii=False)
            for event in events.since(db, since)
        ]
    text = "".join(f"{line}\n" for line in lines)
    if args.out is None:
        sys.stdout.write(text)
        return 0
    try:
        write_file(args.out, text.encode("utf-8", "replace"), mode=0o600)
    except OSError as error:
        raise ToolcribError(f"{args.out} was not written: {error.strerror}.") from error
    value: Json = {"events": len(lines), "path": str(args.out)}
    console.result(value, lambda: f"Wrote {len(lines):,} events to {args.out}.")
    return 0
