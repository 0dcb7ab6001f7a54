"""`toolcrib server ...`: servers disabled and enabled, without taking anything out."""

import argparse
import shlex
from contextlib import closing

import apsw

from app.catalog.catalog import set_disabled
from app.cli.console import Console
from app.cli.options import Verbs
from app.core.context import AppContext
from app.core.errors import ToolcribError
from store import servers
from store.records import ServerRecord


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add the verb and its actions."""
    parser = verbs.add_parser("server", help="disable or enable a server")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, words in (
        ("disable", "have Toolcrib neither start nor serve a server; nothing is taken out"),
        ("enable", "have Toolcrib start and serve it again"),
    ):
        one = actions.add_parser(
            name, parents=[common], help=words, description='JSON: {"server", "disabled"}.'
        )
        one.add_argument("server", help="its name: see toolcrib footprint")
        one.set_defaults(run=run_disable, disabled=name == "disable")


def run_disable(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Disable or enable."""
    with closing(ctx.open_store()) as db:
        record = known_server(db, args.server)
        set_disabled(db, [record.id], args.disabled)
    back = f"Enable it again: toolcrib server enable {shlex.quote(record.name)}"
    console.result(
        {"server": record.name, "disabled": args.disabled},
        lambda: f"{record.name} is disabled. {back}" if args.disabled else f"{record.name} is on.",
    )
    return 0


def known_server(db: apsw.Connection, name: str) -> ServerRecord:
    """The server of that name; raises ToolcribError that names the known ones."""
    rows = servers.all_servers(db)
    record = next((one for one in rows if one.name == name), None)
    if record is None:
        known = ", ".join(one.name for one in rows) or "none"
        raise ToolcribError(f"There is no server called {name}.", f"Known are: {known}.")
    return record
