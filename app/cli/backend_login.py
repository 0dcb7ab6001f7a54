"""`toolcrib backend login ...`: the backend starts with the user's login and stays, or does not."""

import argparse

from app.cli.console import Console
from app.cli.options import NEEDS_CONSENT, Verbs, add_group, add_verb
from app.core.context import AppContext
from app.gateway.backend import login
from app.system.autostart import LoginEntry


def add(verbs: Verbs) -> None:
    """Add the part."""
    parts = add_group(
        verbs,
        "login",
        "start the backend with your login: on, off, status",
        "Off at first. One file in the form of your desktop, shown before it is "
        "written; off removes it. A backend that starts with the login stays until you log out.",
    )
    on = add_verb(parts, "on", run_on, "show the file, then write it")
    on.add_argument("--yes", action="store_true", help="write the file without asking")
    add_verb(parts, "off", run_off, "remove the file")
    add_verb(parts, "status", run_status, "show if the file is there")


def run_on(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Write the file once the user has agreed to it."""
    entry = login.entry()
    console.note(f"{entry.file}\n\n{entry.text}")
    refused = "Nothing was written. Agree with --yes."
    if not console.agrees("Write this file?", refused, yes=args.yes):
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
