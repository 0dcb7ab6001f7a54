"""`toolcrib doctor`: the state of this machine and of Toolcrib's files, to paste into an issue."""

import argparse

from app.cli.console import Console, table
from app.cli.options import Verbs
from app.core.context import AppContext
from app.doctor.checks import BAD, Result, examine

UNWELL = 1


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "doctor",
        parents=[common],
        help="check this machine and Toolcrib's own files",
        description="Check version, platform, paths, settings, store, encoder, speed and hosts. "
        "Starts and writes nothing. The text holds no secret values and can be pasted into an "
        'issue. Exit code 1 when there is a problem. JSON: {"healthy", "checks": [{"check", '
        '"state", "text", "hint"}]}; state is ok, note or problem.',
    )
    parser.set_defaults(run=run_doctor, needs_settings=False)


def run_doctor(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Print what every check saw."""
    results = examine(ctx)
    healthy = all(result.state != BAD for result in results)
    checks = [{"check": r.check, "state": r.state, "text": r.text, "hint": r.hint} for r in results]
    console.result({"healthy": healthy, "checks": checks}, lambda: _text(results))
    return 0 if healthy else UNWELL


def _text(results: tuple[Result, ...]) -> str:
    rows = table([[r.check, r.state, r.text] for r in results])
    hints = dict.fromkeys(r.hint for r in results if r.hint)
    return "\n".join([rows, *(["", *hints] if hints else [])])
