"""`toolcrib doctor`: the state of this machine and of Toolcrib's files, to paste into an issue."""

import argparse

from app.cli.console import Console, table
from app.cli.options import Verbs, add_verb
from app.core.context import AppContext
from app.doctor.checks import BAD, Result, examine

UNWELL = 1


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "doctor",
        run_doctor,
        page="Check version, platform, paths, settings, store, encoder, speed and hosts. "
        "Starts nothing; writes only with --repair. The text holds no secret values and can be "
        'pasted into an issue. Exit code 1 when there is a problem. JSON: {"healthy", "checks": '
        '[{"check", "state", "text", "hint"}]}; state is ok, note or problem.',
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="repair a damaged store: keep a copy, rebuild what can be rebuilt",
    )
    parser.set_defaults(needs_settings=False)


def run_doctor(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Repair if that is wanted, then print what every check saw."""
    if args.repair:
        _repair(ctx, console)
    results = examine(ctx)
    healthy = all(result.state != BAD for result in results)
    checks = [{"check": r.check, "state": r.state, "text": r.text, "hint": r.hint} for r in results]
    console.result({"healthy": healthy, "checks": checks}, lambda: _text(results))
    return 0 if healthy else UNWELL


def _repair(ctx: AppContext, console: Console) -> None:
    """Repair the store and say what was done; its settings are the defaults where unreadable."""
    from app.doctor.repair import repair

    outcome = repair(ctx)
    if not outcome.copy:
        console.note("Nothing in the store is damaged; nothing was changed.")
        return
    console.note(f"Kept a copy: {outcome.copy}")
    for line in (*outcome.done, *outcome.left):
        console.note(f"  {line}")


def _text(results: tuple[Result, ...]) -> str:
    rows = [
        row
        for r in results
        for row in ([r.check, r.state, r.text], ["", "", f"  {r.hint}"])
        if row[2].strip()
    ]
    return table(rows)
