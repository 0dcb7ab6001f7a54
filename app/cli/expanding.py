"""`toolcrib footprint --expand`: asks servers, after consent, what is behind their tools."""

import argparse

from app.catalog.catalog import load_catalog
from app.cli.console import Console
from app.core.context import AppContext
from app.core.text import plural


def expand_hidden(args: argparse.Namespace, ctx: AppContext, console: Console) -> bool:
    """Ask them all and store the answers; False without consent."""
    from app.hosts.places import Places
    from app.registry.expanding import CONSENT, ask_servers, askable

    with ctx.store() as db:
        servers = askable(load_catalog(db, args.profile, ctx.settings.encoding).tools)
    if not servers:
        console.note("No server here has a tool that can be asked what it hides.")
        return True
    names = ", ".join(rows[0].server.name for rows in servers.values())
    console.note(f"{plural(len(servers), 'server')} to ask: {names}. {CONSENT}")
    refused = "Nothing was started. To agree without being asked, add --yes."
    if not console.agrees("Start and ask them?", refused, yes=args.yes):
        return False
    for done in ask_servers(ctx, Places.here(), servers):
        console.progress(f"asked {done.server}")
        if done.problem:
            console.note(f"{done.server}: {done.problem}")
    return True
