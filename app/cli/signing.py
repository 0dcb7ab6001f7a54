"""`toolcrib sign-in` and `sign-out`: servers behind a URL that ask for a person."""

import argparse
import threading
import webbrowser
from collections.abc import Callable

import apsw

from app.cli.console import Console
from app.cli.options import Verbs, add_verb
from app.cli.server import known_server
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.registry.register import Target, register, targets
from app.signin.grant import Client
from store import tools
from store.records import READ
from store.typed import Json

IN_PART = 5

_JSON = 'JSON: {"name", "signed_in", "status", "problem", "tools"}.'


def add(verbs: Verbs) -> None:
    """Add the verbs."""
    enters = add_verb(
        verbs,
        "sign-in",
        run_sign_in,
        page="Opens the server's authorization page in the browser of this computer, keeps "
        "the tokens in the keychain (or in a file that only you can read), and reads the server's "
        f"tools. Scans and the gateway renew the tokens by themselves. {_JSON}",
    )
    enters.add_argument("server", help="as in toolcrib scan")
    add_browser_options(enters)
    leaves = add_verb(
        verbs,
        "sign-out",
        run_sign_out,
        page=f"Revokes the tokens as far as the server allows, and deletes them. {_JSON}",
    )
    leaves.add_argument("server", help="as in toolcrib scan")


def add_no_browser(verb: argparse.ArgumentParser) -> None:
    """Add the option that `page_opener` reads."""
    verb.add_argument(
        "--no-browser", action="store_true", help="only print the page's address (on stderr)"
    )


def add_browser_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of a sign-in at an authorization server."""
    add_no_browser(verb)
    verb.add_argument(
        "--client-id",
        default="",
        metavar="ID",
        help="of a program that you registered at the server, where Toolcrib cannot do it itself; "
        "its redirect address is http://127.0.0.1:PORT/callback",
    )
    verb.add_argument(
        "--client-secret",
        action="store_true",
        help="ask for that program's secret (or read a line)",
    )
    verb.add_argument(
        "--port", type=int, default=0, metavar="PORT", help="of the redirect address (default: any)"
    )


def page_opener(args: argparse.Namespace, console: Console, name: str) -> Callable[[str], None]:
    """Shows a sign-in page in the browser, or its address."""

    def open_page(page: str) -> None:
        console.note(f"Sign in to {name} on this page (Ctrl+C gives up):\n  {page}")
        if not args.no_browser and not webbrowser.open(page):
            console.note("No browser could be opened here; open the page yourself.")

    return open_page


def run_sign_in(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Sign in, then read the server."""
    from app.registry.scan import ScanOptions, scan  # the SDK costs 1.2 s of CPU
    from app.registry.signing import sign_in

    with ctx.store() as db:
        target = _target(ctx, db, args.server)

        client = given_client(args, console)
        sign_in(
            ctx,
            target,
            open_page=page_opener(args, console, target.name),
            cancel=threading.Event(),
            client=client,
            port=args.port,
        )
        status = scan(ctx, [target], ScanOptions()).servers[0]
        answer = _answer(target.name, True, status.status, status.problem, status.tools)
        summary = f"Signed in to {target.name}: {status.problem or status.text}"
        console.result(answer, lambda: summary)
        return 0 if status.status == READ else IN_PART


def run_sign_out(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Forget the tokens."""
    from app.registry.signing import sign_out

    with ctx.store() as db:
        sign_out(ctx, db, known_server(db, args.server))
        server = known_server(db, args.server)
        known = len(tools.tools(db, server.id))
        answer = _answer(server.name, False, server.status, server.problem, known)
        console.result(answer, lambda: f"Signed out of {server.name}.")
        return 0


def given_client(args: argparse.Namespace, console: Console) -> Client | None:
    """The program registered by hand, None without one."""
    if not args.client_id:
        return None
    secret = console.ask_secret("The program's secret") if args.client_secret else ""
    return Client(args.client_id, secret)


def _target(ctx: AppContext, db: apsw.Connection, name: str) -> Target:
    """Address of the server as its host's file has it now."""
    registered = register(ctx, db, read_hosts(Places.here(None)))
    if known_server(db, name).disabled:
        raise ToolcribError(f"{name} is disabled in Toolcrib.", "Enable it first.")
    matches = [t for t in targets(ctx, db, registered) if t.name == name]
    if not matches:
        raise ToolcribError(f"{name} cannot be reached.", "Its host's file names no address.")
    return matches[0]


def _answer(name: str, signed_in: bool, status: str, problem: str, known: int) -> Json:
    return {
        "name": name,
        "signed_in": signed_in,
        "status": status,
        "problem": problem,
        "tools": known,
    }
