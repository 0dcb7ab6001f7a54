"""Verbs of toolcrib-team for servers and for the review of their tools, as the operator."""

import argparse
import getpass
import json
import os
import sys

from app.core.errors import ToolcribError
from app.core.text import plural
from app.registry.importing import require_name
from app.secrets.secret_store import Secrets
from app.team_server.administration import (
    editor_of,
    granted,
    operated,
    organisation_of,
    present,
    say,
    seen_by,
)
from app.team_server.configuration import Configuration
from app.team_server.configuration import from_environ as configured
from app.team_server.credentials import open_sealed, seal
from app.team_server.sealing import Sealer
from app.team_server.url_guard import UrlGuard
from store.findings import APPROVED, KEPT
from store.team import reviews, servers, tools, upstream_secrets
from store.team.connecting import Connection, as_operator
from store.team.records import (
    BY_MEMBER,
    BY_ORGANISATION,
    NO_SIGN_IN,
    NewServer,
    Organisation,
    Server,
    Tool,
)


def run_server_add(args: argparse.Namespace) -> int:
    """`toolcrib-team server add`."""
    require_name(args.name)
    given = configured(os.environ)
    if args.url:
        UrlGuard(given.inside).check_text(args.url)
    new = NewServer(
        name=args.name,
        transport="http" if args.url else "stdio",
        spec={"command": args.program} if args.program else {},
        url=args.url or "",
        sign_in=args.sign_in,
        grants=granted(args.group),
    )
    with as_operator(given.database) as db:
        organisation = organisation_of(db, args.organisation)
        servers.save(db, organisation.id, new)
    if args.sign_in == NO_SIGN_IN:
        number = _read_tools(given, organisation, args.name)
        say(f"{args.name} was added with {plural(number, 'tool')}.")
    else:
        say(f"{args.name} was added. Its tools are read once it has a credential.")
    return 0


def run_server_credential(args: argparse.Namespace) -> int:
    """`toolcrib-team server credential`: the value comes from a prompt or from stdin."""
    given, sealer = configured(os.environ), Sealer.from_environ(os.environ)
    asking = sys.stdin.isatty()
    value = getpass.getpass(f"{args.header}: ") if asking else sys.stdin.readline().rstrip("\n")
    if not value:
        raise ToolcribError("There is no value.", "Type it, or send it to stdin.")
    secrets = Secrets(headers={args.header: value})
    with as_operator(given.database) as db:
        organisation = organisation_of(db, args.organisation)
        server = servers.named(db, organisation.id, args.name)
        if server is None or server.sign_in != BY_ORGANISATION:
            raise ToolcribError(
                f"{args.name} takes no credential of the organisation.",
                "Add it with --sign-in organisation.",
            )
        upstream_secrets.save(
            db,
            organisation.id,
            server.id,
            seal(sealer, secrets, organisation.id, server.id, 0),
            key_name=sealer.name,
        )
    number = _read_tools(given, organisation, args.name, secrets)
    say(f"The credential of {args.name} is kept. Its tools were read: {number}.")
    return 0


def run_server_list(args: argparse.Namespace) -> int:
    """`toolcrib-team server list`."""
    with operated(args) as (db, organisation):
        rows = servers.every(db, organisation.id)
        counts = tools.counts(db, organisation.id)
    for row in rows:
        number, kept_back = counts.get(row.id, (0, 0))
        held = f", {kept_back} held" if kept_back else ""
        state = "" if row.enabled else "  off"
        place = row.url or row.spec.get("command", "")
        say(f"{row.name}  {place}  {plural(number, 'tool')}{held}  {seen_by(row.grants)}{state}")
    return 0


def run_server_read(args: argparse.Namespace) -> int:
    """`toolcrib-team server read`: the list anew; changed tools are held until a review."""
    given = configured(os.environ)
    with as_operator(given.database) as db:
        organisation = organisation_of(db, args.organisation)
        server = _server(db, organisation, args.name)
        secrets = _secrets(db, organisation, server)
    number = _read_tools(given, organisation, server.name, secrets)
    with as_operator(given.database) as db:
        _, held = tools.counts(db, organisation.id).get(server.id, (0, 0))
    after = "; see: toolcrib-team review list" if held else ""
    say(f"{server.name} has {plural(number, 'tool')}, {held} held{after}.")
    return 0


def _read_tools(
    given: Configuration, organisation: Organisation, name: str, secrets: Secrets | None = None
) -> int:
    from app.team_server.finding import load_encoder  # numpy, and a client of servers
    from app.team_server.reading import read_server

    return read_server(given, organisation.id, name, secrets, encoder=load_encoder())


def _secrets(db: Connection, organisation: Organisation, server: Server) -> Secrets:
    if server.sign_in == BY_MEMBER:
        raise ToolcribError(
            f"{server.name} is read with a member's sign-in.",
            f"An editor does it: toolcrib team sign-in {server.name}",
        )
    if server.sign_in == NO_SIGN_IN:
        return Secrets()
    row = upstream_secrets.load(db, organisation.id, server.id)
    if row is None:
        raise ToolcribError(
            f"The team has no credential for {server.name}.",
            f"Store it: toolcrib-team server credential {server.name}",
        )
    return open_sealed(Sealer.from_environ(os.environ), row.sealed, organisation.id, server.id)


def run_server_change(args: argparse.Namespace) -> int:
    """`toolcrib-team server change`: who sees it, on or off for all."""
    if args.group is None and not args.everyone and args.state is None:
        raise ToolcribError("Nothing is to change.", "Give --group, --everyone, --on or --off.")
    with operated(args) as (db, organisation):
        server = _server(db, organisation, args.name)
        if args.group is not None or args.everyone:
            servers.set_grants(db, organisation.id, server.id, granted(args.group))
        if args.state is not None:
            servers.set_enabled(db, organisation.id, server.id, enabled=args.state)
        now = _server(db, organisation, args.name)
    say(f"{now.name} is {'on' if now.enabled else 'off'}, seen by {seen_by(now.grants)}.")
    return 0


def run_server_remove(args: argparse.Namespace) -> int:
    """`toolcrib-team server remove`: with its tools, its labels and its credentials."""
    with operated(args) as (db, organisation):
        servers.delete(db, organisation.id, _server(db, organisation, args.name).id)
    say(f"{args.name} was removed with its tools and credentials.")
    return 0


def _server(db: Connection, organisation: Organisation, name: str) -> Server:
    hint = f"See: toolcrib-team server list --organisation {organisation.name}"
    return present(servers.named(db, organisation.id, name), f"server {name}", hint)


# ---- review of tools


def run_review_list(args: argparse.Namespace) -> int:
    """`toolcrib-team review list`: tools that members do not get, each with the reasons."""
    with operated(args) as (db, organisation):
        rows = tools.every(db, organisation.id, held=True)
        reasons: dict[int, list[str]] = {}
        for one in reviews.findings(db, organisation.id, [tool.id for tool in rows]):
            reasons.setdefault(one.tool_id, []).append(f"  {one.rule} {one.severity}: {one.detail}")
    for tool in rows:
        say(f"{tool.tool_id}  {_state(tool)}")
        for reason in reasons.get(tool.id, ()):
            say(reason)
    if not rows:
        say("No tool is held.")
    return 0


def _state(tool: Tool) -> str:
    if tool.decision == KEPT:
        return "kept from members by a review"
    changed = tool.trusted_hash and tool.trusted_hash != tool.hash
    return "changed since its review" if changed else "waits for a review"


def run_review_show(args: argparse.Namespace) -> int:
    """`toolcrib-team review show`: the definition that a decision is about."""
    with operated(args) as (db, organisation):
        tool = _tool(db, organisation, args.tool)
    for line in json.dumps(tool.raw, indent=2, ensure_ascii=False).splitlines():
        say(line)
    say(f"Text {tool.hash[:12]}: {_state(tool) if tool.held else 'members get it'}.")
    return 0


def run_review_decide(args: argparse.Namespace) -> int:
    """`toolcrib-team review approve` and `keep`: for this text alone."""
    with operated(args) as (db, organisation):
        member = editor_of(db, args.organisation, args.member)
        tool = _tool(db, organisation, args.tool)
        if not tool.hash.startswith(args.text):
            raise ToolcribError(
                f"The text of {tool.tool_id} is another now: {tool.hash[:12]}.",
                f"Read it first: toolcrib-team review show {tool.tool_id}",
            )
        reviews.decide(
            db,
            organisation.id,
            tool.id,
            args.decision,
            hash_=tool.hash,
            member_id=member.member_id,
            reason=args.reason,
        )
    done = "Members get" if args.decision == APPROVED else "Members do not get"
    say(f"{done} {tool.tool_id} with this text.")
    return 0


def _tool(db: Connection, organisation: Organisation, tool_id: str) -> Tool:
    hint = "It is written SERVER/TOOL; see: review list"
    return present(tools.named(db, organisation.id, tool_id), f"tool {tool_id}", hint)
