"""`toolcrib team`: the team that this machine is in."""

import argparse
import json
import threading
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

import apsw

from app.cli.console import Console, number
from app.cli.options import NEEDS_CONSENT, Verbs, add_group, add_verb
from app.cli.signing import add_browser_options, add_no_browser, given_client, page_opener
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.system.quoting import quoted
from app.team import membership, sending
from app.team.client import TeamClient, plain_url
from app.team.reviewing import TeamTool, decide, named, team_tools
from store import profiles, teams
from store.findings import APPROVED, KEPT
from store.teams import TeamRecord
from store.typed import Json


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parts = add_group(
        verbs,
        "team",
        page="Joining brings the servers, tools and profiles of a team to this machine; "
        "your own stay as they are, and leaving takes the team's away again. "
        'JSON: {"url", "organisation", "member", "role", "synced_at", "problem", "profiles", '
        '"sends"}; of leave also {"hosts", "token_problem"}; of review {"tools": [{"tool", "here", '
        '"held", "kept", "definition"}]}.',
    )
    join = add_verb(parts, "join", run_join, "join a team and synchronise")
    join.add_argument("url", help="as the admin of the team gave it")
    join.add_argument(
        "--browser", action="store_true", help="sign in at the team's issuer instead of a token"
    )
    add_browser_options(join)
    add_verb(parts, "status", run_status, "team, role, last synchronisation")
    add_verb(parts, "sync", run_sync, "fetch what changed")
    review = add_verb(
        parts, "review", run_review, "tools that the team holds; an editor decides about them"
    )
    review.add_argument("tools", nargs="*", metavar="SERVER/TOOL", help="show its definition")
    decision = review.add_mutually_exclusive_group()
    for option, value, text in (
        ("--approve", APPROVED, "every member gets it with this text"),
        ("--keep", KEPT, "no member gets it with this text"),
    ):
        decision.add_argument(option, dest="decision", action="store_const", const=value, help=text)
    review.add_argument("--reason", default="", help="for the team's log")
    review.add_argument("--yes", action="store_true", help="decide without asking")
    send = add_verb(parts, "send", run_send, "what is sent to the team")
    send.add_argument(
        "kinds", nargs="*", metavar="KIND", help="labels, use; `nothing` switches sending off"
    )
    send.add_argument("--yes", action="store_true", help="switch it on without asking")
    credential = add_verb(
        parts, "credential", run_credential, "keep your own credential for a server of the team"
    )
    credential.add_argument("server", help="its name in the team")
    credential.add_argument("--header", default="Authorization", help="that carries it")
    enters = add_verb(
        parts, "sign-in", run_sign_in, "sign in to a server of the team, in the browser"
    )
    enters.add_argument("server", help="its name in the team")
    add_no_browser(enters)
    leaves = add_verb(
        parts, "sign-out", run_sign_out, "forget your sign-in or credential for a server"
    )
    leaves.add_argument("server", help="its name in the team")
    leave = add_verb(parts, "leave", run_leave, "take the team's catalogue away")
    leave.add_argument("--yes", action="store_true", help="leave without asking")


def run_join(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Join a team: by a sign-in, or by a token from a prompt or from stdin."""
    url = plain_url(args.url)
    token = "" if args.browser else console.ask_secret(f"Token for {url}")
    with ctx.store() as db:
        if args.browser:
            from app.team.browser_join import join_by_browser  # the SDK costs 1.2 s of CPU

            team = join_by_browser(
                ctx,
                db,
                url,
                page_opener(args, console, url),
                cancel=threading.Event(),
                client=given_client(args, console),
                port=args.port,
            )
        else:
            team = membership.join(ctx, db, url, token)
        console.note(f"Joined {team.organisation} as {team.member} ({team.role}).")
    return run_sync(args, ctx, console)


def run_sync(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Fetch what changed."""
    with ctx.store() as db:
        made = membership.synchronise(ctx, db, progress=lambda text, _done: console.progress(text))
        applied = made.applied
        parts = (
            f"{plural(applied.servers, 'server')}, {plural(applied.tools, 'tool')}"
            f" and {plural(applied.profiles, 'profile')} changed"
        )
        if made.team.sends:
            sent = sending.send(ctx, db)
            console.note("Sent: " + ", ".join(f"{n} of {kind}" for kind, n in sent.items()))
        value, text = _json(db, made.team), _text(db, made.team)
    console.result(value, lambda: f"Synchronised: {parts}.\n{text}")
    return 0


def run_status(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Say which team, which role, when synchronised."""
    with ctx.store() as db:
        team = teams.current(db)
        if team is None:
            console.result(
                {}, lambda: "This machine is in no team. Join one: toolcrib team join URL"
            )
            return 0
        value, text = _json(db, team), _text(db, team)
    console.result(value, lambda: text)
    return 0


def run_review(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List what the team holds, show a definition, or decide about it after a yes."""
    with ctx.store() as db:
        known = team_tools(db)
        shown = named(known, args.tools) if args.tools else [one for one in known if one.held]
        if not args.decision:
            console.result(_definitions(shown), lambda: _reviewed(shown, whole=bool(args.tools)))
            return 0
        if not args.tools:
            raise ToolcribError("No tool is named.", "Write SERVER/TOOL after review.")
        console.note(_reviewed(shown, whole=True))
        effect = "Give {} to" if args.decision == APPROVED else "Keep {} from"
        question = f"{effect.format(plural(len(shown), 'tool'))} every member?"
        if not console.agrees(question, "Nothing was decided. Repeat with --yes.", yes=args.yes):
            return NEEDS_CONSENT
        decide(ctx, db, shown, args.decision, args.reason)
        names = {one.name for one in shown}
        now = [one for one in team_tools(db) if one.name in names]
    decided = f"Decided for every member: {plural(len(now), 'tool')}."
    console.result(_definitions(now), lambda: decided)
    return 0


def _definitions(rows: Sequence[TeamTool]) -> Json:
    return {
        "tools": [
            {
                "tool": one.name,
                "here": one.here,
                "held": one.held,
                "kept": one.kept,
                "definition": one.raw,
            }
            for one in rows
        ]
    }


def _reviewed(rows: Sequence[TeamTool], *, whole: bool) -> str:
    if not rows:
        return "The team holds no tool."
    lines: list[str] = []
    for one in rows:
        held = "A review keeps it from members." if one.kept else "Your team holds it for review."
        state = held if one.held else "Members get it."
        lines.append(f"{one.name}  {state}")
        if whole:
            lines.append(json.dumps(one.raw, indent=2, ensure_ascii=False))
    return "\n".join(lines)


def run_send(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List what would be sent, and switch it on after a yes."""
    with ctx.store() as db:
        team = membership.current(db)
        kinds = [] if args.kinds == ["nothing"] else list(args.kinds)
        if not args.kinds:
            now = ", ".join(team.sends) or "nothing"
            console.result(_json(db, team), lambda: f"Sent to {team.organisation}: {now}.")
            return 0
        for kind in kinds:
            if kind not in sending.SENDABLE:
                raise ToolcribError(f"{kind} cannot be sent.", "There are: labels, use.")
            rows = sending.unsent(ctx, db, kind).rows
            console.note(f"{kind}: {sending.SENDABLE[kind]}. Now {len(rows)} rows:")
            for row in rows:
                console.note(f"  {row}")
        question = f"Send {' and '.join(kinds)} to {team.organisation} at each synchronisation?"
        refused = "Nothing was switched on. Repeat with --yes."
        if not console.agrees(question, refused, yes=args.yes or not kinds):
            return NEEDS_CONSENT
        sending.choose(db, kinds)
        team = membership.current(db)
        now = ", ".join(team.sends) or "nothing"
        console.result(_json(db, team), lambda: f"Sent to {team.organisation} from now on: {now}.")
    return 0


def run_credential(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Keep a credential in the team server, encrypted; the value comes from a prompt or stdin."""
    value = console.ask_secret(f"Value of {args.header} for {args.server}")
    if not value:
        raise ToolcribError("There is no value.", "Type it, or send it to stdin.")
    with ctx.store() as db:
        team = membership.current(db)
        with TeamClient(team.url, membership.token_of(ctx, team)) as client:
            given = {"headers": {args.header: value}}
            client.send_of_server("credentials", args.server, given, "PUT")
        shown = _json(db, team)
    console.result(shown, lambda: f"The team server keeps your credential for {args.server}.")
    return 0


def run_sign_in(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Sign in to a server of the team; the team server keeps the tokens, encrypted."""
    from app.team.own_sign_in import sign_in  # the SDK's listener is not needed elsewhere

    with ctx.store() as db:
        number_read = sign_in(ctx, db, args.server, page_opener(args, console, args.server))
        shown = _json(db, membership.current(db))
    read = f" Its tools were read: {number(number_read)}." if number_read >= 0 else ""
    console.result(shown, lambda: f"Signed in to {args.server}.{read}")
    return 0


def run_sign_out(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Forget one's own sign-in or credential for a server of the team."""
    from app.team.own_sign_in import sign_out  # as sign_in

    with ctx.store() as db:
        known = sign_out(ctx, db, args.server)
        shown = _json(db, membership.current(db))
    words = "Signed out of {}." if known else "The team server has no sign-in of yours for {}."
    console.result(shown, lambda: words.format(args.server))
    return 0


def run_leave(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Leave the team after a yes."""
    with ctx.store() as db:
        team = membership.current(db)
        question = (
            f"Leave {team.organisation}? Its servers, tools and profiles go from here, and the"
            " token ends for every machine that has it."
        )
        if not console.agrees(question, "The team was not left. Repeat with --yes.", yes=args.yes):
            return NEEDS_CONSENT
        left = membership.leave(ctx, db)
    value: Json = {
        "organisation": team.organisation,
        "servers": left.servers,
        "profiles": list(left.profiles),
        "hosts": list(left.hosts),
        "token_problem": left.token_problem,
    }
    lines = [f"Left {team.organisation}. Your own catalogue is as it was.", left.token_text]
    if left.hosts:
        lines.append(
            f"These hosts were given a profile of the team: {', '.join(left.hosts)}."
            " Export to them again, or restore their files: toolcrib restore HOST"
        )
    console.result(value, lambda: "\n".join(lines))
    return 0


def _json(db: apsw.Connection, team: TeamRecord) -> Json:
    return {
        "url": team.url,
        "organisation": team.organisation,
        "member": team.member,
        "role": team.role,
        "synced_at": team.synced_at,
        "problem": team.problem,
        "profiles": _profiles(db),
        "sends": list(team.sends),
    }


def _text(db: apsw.Connection, team: TeamRecord) -> str:
    when = "never"
    if team.synced_at:
        when = f"{datetime.fromtimestamp(team.synced_at):%Y-%m-%d %H:%M}"
    names = _profiles(db)
    lines = [
        f"Team {team.organisation} at {team.url}",
        f"You are {team.member} ({team.role}). Last synchronised: {when}.",
        f"Team profiles: {', '.join(names) if names else 'none'}.",
    ]
    if names:
        lines.append(
            f"Give one to a host: toolcrib export HOST --mode through --profile {quoted(names[0])}"
        )
    own = teams.profiles(db).values()
    lines += [f"By URL, with your token: {team.url}/mcp/{quote(name, safe='')}" for name in own]
    if team.problem:
        lines.append(f"The last synchronisation failed: {team.problem}")
    return "\n".join(lines)


def _profiles(db: apsw.Connection) -> list[str]:
    own = teams.profiles(db)
    return [record.name for record in profiles.all_profiles(db) if record.id in own]
