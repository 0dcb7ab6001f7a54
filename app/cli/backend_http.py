"""`toolcrib backend http ...`: the URL for programs that only speak HTTP, and its tokens."""

import argparse

from app.catalog.catalog import find_profile
from app.cli.console import Console
from app.cli.options import Verbs, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.gateway.backend import http_access
from app.host_status.http import over_http
from app.hosts.places import Places
from app.registry.kept_values import keep, lacking
from store import profiles

_BEARER = "A client sends `Authorization: Bearer TOKEN`; toolcrib backend http token prints it."

UNREACHED = ("reaches nothing until it is on again; as a command", "")


def add(verbs: Verbs) -> None:
    """Add the part."""
    parts = add_group(
        verbs,
        "http",
        "a URL for programs that only speak HTTP: on, off, status, token, renew",
        "A URL on 127.0.0.1 for each profile, off at first; with /SERVER behind it, "
        "of one server alone. Each profile has a token of its own, which the client sends as "
        "`Authorization: Bearer TOKEN`.",
    )
    on = add_verb(parts, "on", run_on, "listen, now and after each start")
    on.add_argument("--port", type=int, default=0, metavar="N", help="port (default: as before)")
    on.add_argument("--yes", action="store_true", help="keep values of servers without asking")
    add_verb(parts, "off", run_off, "stop listening")
    add_verb(parts, "status", run_status, "the URLs, and whether they answer")
    token = add_verb(parts, "token", run_token, "print the token of a profile's URLs")
    add_profile(token)
    add_verb(parts, "renew", run_renew, "make new tokens for all profiles; old tokens stop working")


def run_on(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Listen, in a backend that is started if none runs."""
    with ctx.store() as db:
        wanted = lacking(ctx, db, Places.here())
    if wanted and not console.as_json:
        from app.cli.server import offer_values  # with it comes the HTTP client of the lists

        offer_values(ctx, console, wanted, yes=args.yes)
    elif wanted and args.yes:
        keep(ctx.paths, wanted)
    before = ctx.settings.http_port
    http_access.switch_on(ctx, args.port or before)
    if ctx.settings.http_port != before:
        note_hosts(ctx, console, "has the URL of the old port in its file, write it again")
    return run_status(args, ctx, console)


def run_off(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Stop listening; what goes on over HTTP ends."""
    ctx.keep(http=False)
    note_hosts(ctx, console, *UNREACHED)
    return run_status(args, ctx, console)


def run_status(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Print the URLs, and if they answer; no token."""
    state = http_access.http_state(ctx)
    with ctx.store() as db:
        names = [profile.name for profile in profiles.all_profiles(db)]
    urls = {name: http_access.url_of(ctx, name) for name in names} if state.on else {}
    shown = {
        "on": state.on,
        "answers": state.answers,
        "problem": state.problem,
        "sessions": state.sessions,
        "urls": urls,
    }
    lines = [state.sentence, *(f"{name}: {url}" for name, url in urls.items())]
    more = _BEARER if state.on else "toolcrib backend http on switches it on."
    console.result(shown, lambda: "\n".join([*lines, more]))
    return 0


def run_token(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Print a token, which is a secret: only when asked for it."""
    with ctx.store() as db:
        find_profile(db, args.profile)
    token = http_access.token_for(ctx, args.profile)
    console.result({"token": token}, lambda: token)
    return 0


def note_hosts(ctx: AppContext, console: Console, what: str, how: str = " --http") -> None:
    """Say something of each host that was written as a URL, and how to write it again."""
    with ctx.store() as db:
        hosts = over_http(db)
    for facts in hosts:
        console.note(f"{facts.name} {what}: toolcrib export {facts.id} --mode through{how}")


def run_renew(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Make the tokens that were given out worthless."""
    http_access.renew_tokens(ctx)
    note_hosts(ctx, console, "has an old token in its file, write it again")
    console.result({"renewed": True}, lambda: "Each profile has a new token.")
    return 0
