"""`toolcrib backend login ...`: the backend starts with the user's login and stays, or does not."""

import argparse

from app.cli.console import Console
from app.cli.options import NEEDS_CONSENT, Verbs
from app.core.context import AppContext
from app.gateway.backend import login
from app.system.autostart import LoginEntry


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add the part."""
    parser = verbs.add_parser(
        "login",
        help="start the backend with your login: on, off, status",
        description="Off at first. One file in the form of your desktop, shown before it is "
        "written; off removes it. A backend that starts with the login stays until you log out.",
    )
    parts = parser.add_subparsers(title="parts", metavar="PART", required=True)
    on = parts.add_parser("on", parents=[common], help="show the file, then write it")
    on.add_argument("--yes", action="store_true", help="write the file without asking")
    on.set_defaults(run=run_on)
    off = parts.add_parser("off", parents=[common], help="remove the file")
    off.set_defaults(run=run_off)
    status = parts.add_parser("status", parents=[common], help="show if the file is there")
    status.set_defaults(run=run_status)


def run_on(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Write the file once the user has agreed to it."""
    entry = login.entry()
    console.note(f"{entry.file}\n\n{entry.text}")
    if not (args.yes or (console.can_ask and console.confirm("Write this file?"))):
        console.note("Nothing was written. Agree with --yes.")
        return NEEDS_CONSENT
    login.switch(ctx, on=True)
    console.result(_shown(entry, on=True), lambda: login.ON)
    return 0


def run_off(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Remove the file; a running backend ends when nothing else holds it."""
    entry = login.switch(ctx, on=False)
    console.result(_shown(entry, on=False), lambda: login.OFF)
    return 0


def run_status(_args: argparse.Namespace, _ctx: AppContext, console: Console) -> int:
    """Print the state of the login file."""
    entry = login.entry()
    on = entry.is_there
    console.result(_shown(entry, on=on), lambda: f"{login.ON} {entry.file}" if on else login.OFF)
    return 0


def _shown(entry: LoginEntry, *, on: bool) -> dict[str, object]:
    return {"on": on, "file": str(entry.file)}
