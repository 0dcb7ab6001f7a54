"""Verbs of toolcrib-team that change or check the database, as the operator."""

import argparse
import datetime
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TypeVar

import psycopg

from app.core.errors import ToolcribError
from app.core.home import DATABASE as DATABASE_FILE
from app.core.output import write_out
from app.core.text import plural, visible
from app.team_server.configuration import DATABASE, Configuration
from app.team_server.configuration import from_environ as configured
from app.team_server.sealing import Sealer, new_key
from store.connection import open_store
from store.team import audit, members, organisations, tokens, tools, use
from store.team.connecting import Connection, as_operator
from store.team.migrate import migrate, newest, version
from store.team.records import EVERYBODY, MEMBER, Member, Organisation
from store.team.upkeep import analyse, build_indexes, upkeep
from store.typed import Json

Row = TypeVar("Row")
_LONGEST = 200  # characters of one value in the audit log's lines


def say(text: str) -> None:
    """A line for the person, or the program, that runs this; a server's text shows its control
    characters."""
    write_out(f"{visible(text)}\n", sys.stdout)


def note(text: str) -> None:
    """A line about what went wrong."""
    write_out(f"{visible(text)}\n", sys.stderr)


def database() -> str:
    """Address of the database. Raises ToolcribError."""
    address = os.environ.get(DATABASE, "")
    if not address:
        raise ToolcribError(f"{DATABASE} is not set.", "Set it to postgresql://USER@HOST/NAME")
    return address


def present(row: Row | None, named: str, hint: str) -> Row:
    """The row. Raises ToolcribError, with what was named, where there is none."""
    if row is None:
        raise ToolcribError(f"There is no {named}.", hint)
    return row


@contextmanager
def operated(args: argparse.Namespace) -> Iterator[tuple[Connection, Organisation]]:
    """The database as the operator, and the organisation that a verb names. ToolcribError."""
    with as_operator(database()) as db:
        yield db, organisation_of(db, args.organisation)


def organisation_of(connection: Connection, name: str) -> Organisation:
    """The organisation of this name. Raises ToolcribError."""
    hint = "Its first member makes it: toolcrib-team user add"
    return present(organisations.find(connection, name), f"organisation {name}", hint)


def member_of(connection: Connection, organisation: str, name: str) -> Member:
    """The member of this name. Raises ToolcribError."""
    row = members.named(connection, organisation_of(connection, organisation).id, name)
    hint = f"See: toolcrib-team user list --organisation {organisation}"
    return present(row, f"member {name}", hint)


def editor_of(connection: Connection, organisation: str, name: str) -> Member:
    """The member of this name, who may edit. Raises ToolcribError."""
    member = member_of(connection, organisation, name)
    if member.role == MEMBER:
        raise ToolcribError(f"{member.name} is a member.", "Name an editor or an admin.")
    return member


def check_names(*names: str) -> None:
    """Raise ToolcribError for a name that is not kept, as it cannot be read or typed again."""
    for name in names:
        if not name.isprintable() or not name or name != name.strip():
            raise ToolcribError(
                f"{name or 'An empty text'} cannot be a name.",
                "Use characters that can be seen, and no blank at either end.",
            )


def granted(groups: Sequence[str] | None) -> tuple[str, ...]:
    """Grants of these groups; of every member without any. Raises ToolcribError."""
    check_names(*groups or ())
    return tuple(f"group:{name}" for name in groups) if groups else EVERYBODY


def seen_by(grants: Sequence[str]) -> str:
    """Members whom grants let see something, in words."""
    if tuple(grants) == EVERYBODY:
        return "everyone"
    return ", ".join(one.partition(":")[2] or one for one in grants)


# ---- database


def run_migrate(_args: argparse.Namespace) -> int:
    """`toolcrib-team migrate`."""
    dsn = database()
    before = version(dsn)
    migrate(dsn)
    after = version(dsn)
    say(f"The schema is {after}." if before != after else f"The schema was {after} already.")
    return 0


def run_check(_args: argparse.Namespace) -> int:
    """`toolcrib-team check`: 0 when all is well."""
    given = configured(os.environ)
    problems = [*_key_problems(), *_address_problems(given), *_database_problems(given.database)]
    for url in given.issuers:
        problems += _issuer_problems(url)
    for problem in problems:
        say(f"Problem: {problem}")
    if not problems:
        say("The team server can run: database, schema, key, address and issuers are fine.")
    return 1 if problems else 0


def _key_problems() -> list[str]:
    try:
        Sealer.from_environ(os.environ)
    except ToolcribError as error:
        return [error.text]
    return []


def _address_problems(given: Configuration) -> list[str]:
    local = given.host.partition(":")[0] in ("127.0.0.1", "localhost")
    if given.url.startswith("https://") or local:
        return []
    return [f"{given.url} is not encrypted; put a proxy with TLS before it."]


def _database_problems(dsn: str) -> list[str]:
    try:
        present, known = version(dsn), newest()
    except psycopg.Error as error:
        return [f"The database does not answer: {type(error).__name__}."]
    if present == known:
        return []
    return [f"The schema is {present or 'missing'}, this program wants {known}: migrate first."]


def _issuer_problems(url: str) -> list[str]:
    from app.team_server.bearer import IssuerAwayError, read_document  # the HTTP client

    try:
        named = read_document(f"{url.rstrip('/')}/.well-known/openid-configuration").get("issuer")
    except IssuerAwayError as error:
        return [f"{url}: {error}"]
    return [] if named == url else [f"{url}: its document names another issuer."]


def run_import(args: argparse.Namespace) -> int:
    """`toolcrib-team import`: copy the catalogue of a home folder; secrets stay where they are."""
    file = args.home.expanduser() / DATABASE_FILE
    if not file.is_file():
        raise ToolcribError(f"There is no catalogue in {args.home}.", "Read servers: toolcrib scan")
    from app.team_server.finding import load_encoder  # numpy
    from app.team_server.importing import import_store

    encoder = load_encoder()
    with closing(open_store(file, read_only=True)) as local, as_operator(database()) as db:
        member = editor_of(db, args.organisation, args.member)
        done = import_store(local, db, member, encoder=encoder)
    say(
        f"Imported {plural(done.servers, 'server')} with {plural(done.tools, 'tool')} and"
        f" {plural(done.labels, 'label')}."
    )
    with upkeep(database()) as connection:
        analyse(connection)
        build_indexes(connection, member.organisation_id, progress=say)
    return 0


def run_index(args: argparse.Namespace) -> int:
    """`toolcrib-team index`: members go on searching meanwhile."""
    with as_operator(database()) as db:
        named = args.organisation
        present = [organisation_of(db, named)] if named else organisations.every(db)
    try:
        with upkeep(database(), memory=args.memory, workers=args.workers) as connection:
            analyse(connection)
            numbers = [build_indexes(connection, one.id, progress=say) for one in present]
    except psycopg.errors.InvalidParameterValue as error:
        raise ToolcribError(
            f"--memory {args.memory} or --workers {args.workers} is not understood.",
            "Write them like --memory 2GB --workers 1",
        ) from error
    say(f"Statistics are new. Indexes: {sum(numbers)}, in {plural(len(present), 'organisation')}.")
    return 0


def run_organisation_list(_args: argparse.Namespace) -> int:
    """`toolcrib-team organisation list`."""
    with as_operator(database()) as db:
        rows = organisations.every(db)
        for row in rows:
            present = sum(member.removed is None for member in members.every(db, row.id))
            say(f"{row.name}  {plural(present, 'member')}")
    if not rows:
        say("There is no organisation. Its first member makes it: toolcrib-team user add")
    return 0


def run_organisation_remove(args: argparse.Namespace) -> int:
    """`toolcrib-team organisation remove`: no member has access any more; the rows stay."""
    if args.confirm != args.name:
        raise ToolcribError(
            f"No member of {args.name} would have access any more.",
            f"If you mean it: --confirm {args.name}",
        )
    with as_operator(database()) as db:
        organisations.remove(db, organisation_of(db, args.name).id)
    say(f"No member of {args.name} has access any more. Its rows stay in the database.")
    return 0


# ---- members and tokens


def run_user_add(args: argparse.Namespace) -> int:
    """`toolcrib-team user add`."""
    if bool(args.issuer) != bool(args.subject):
        raise ToolcribError("An issuer needs a subject, and a subject an issuer.", "Give both.")
    check_names(args.organisation, args.name, *args.group)
    if args.issuer:
        check_names(args.issuer, args.subject)
    with as_operator(database()) as db:
        known = organisations.find(db, args.organisation)
        organisation = known or organisations.create(db, args.organisation)
        try:
            with db.transaction():
                members.add(
                    db,
                    organisation.id,
                    args.name,
                    args.role,
                    groups=args.group,
                    issuer=args.issuer,
                    subject=args.subject,
                )
        except psycopg.errors.UniqueViolation as error:
            raise ToolcribError(
                f"There is a member {args.name}, or one of this subject, already.",
                "Choose another name, or remove that member first.",
            ) from error
    new = "" if known else ", which is new"
    say(f"{args.name} has the role {args.role} in {args.organisation}{new}.")
    return 0


def run_user_change(args: argparse.Namespace) -> int:
    """`toolcrib-team user change`: another role, other groups; counts from the next request."""
    if args.role is None and args.group is None and not args.no_group:
        raise ToolcribError("Nothing is to change.", "Give --role, --group or --no-group.")
    check_names(*args.group or ())
    with as_operator(database()) as db:
        member = member_of(db, args.organisation, args.name)
        own = member.organisation_id, member.member_id
        if args.role is not None:
            members.set_role(db, *own, args.role)
        if args.group is not None or args.no_group:
            members.set_groups(db, *own, args.group or ())
        now = member_of(db, args.organisation, args.name)
    groups = f", in {', '.join(now.groups)}" if now.groups else ", in no group"
    say(f"{now.name} has the role {now.role} in {args.organisation}{groups}.")
    return 0


def run_user_remove(args: argparse.Namespace) -> int:
    """`toolcrib-team user remove`."""
    with as_operator(database()) as db:
        member = member_of(db, args.organisation, args.name)
        members.remove(db, member.organisation_id, member.member_id)
    say(f"{args.name} has no access any more.")
    return 0


def run_user_list(args: argparse.Namespace) -> int:
    """`toolcrib-team user list`."""
    with operated(args) as (db, organisation):
        rows = members.every(db, organisation.id)
    for row in rows:
        gone = "  removed" if row.removed is not None else ""
        say(f"{row.name}  {row.role}  {' '.join(row.groups)}{gone}".rstrip())
    return 0


def run_token_issue(args: argparse.Namespace) -> int:
    """`toolcrib-team token issue`: the token alone on stdout."""
    check_names(args.name, *args.allow or ())
    expires = None
    if args.days > 0:
        expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(args.days)
    with as_operator(database()) as db:
        member = member_of(db, args.organisation, args.member)
        id_, value = tokens.issue(db, member, args.name, allow=args.allow, expires=expires)
    note(f"Token {id_} of {args.member}. It is shown once.")
    say(value)
    return 0


def run_token_list(args: argparse.Namespace) -> int:
    """`toolcrib-team token list`."""
    with as_operator(database()) as db:
        rows = tokens.of_member(db, member_of(db, args.organisation, args.member).member_id)
    for row in rows:
        state = (
            "revoked" if row.revoked else f"expires {row.expires:%Y-%m-%d}" if row.expires else ""
        )
        used = f"last used {row.used:%Y-%m-%d}" if row.used else "never used"
        parts = (str(row.id), row.name, " ".join(row.allow or ()), used, state)
        say("  ".join(filter(None, parts)))
    return 0


def run_token_revoke(args: argparse.Namespace) -> int:
    """`toolcrib-team token revoke`."""
    with as_operator(database()) as db:
        if not tokens.revoke(db, args.id):
            raise ToolcribError(f"There is no token {args.id} that counts.", "List tokens first.")
    say(f"Token {args.id} counts no more.")
    return 0


def run_new_key(_args: argparse.Namespace) -> int:
    """`toolcrib-team token new-key`."""
    say(new_key())
    return 0


# ---- what was done


def run_use(args: argparse.Namespace) -> int:
    """`toolcrib-team use`: searches and calls of some days, by tool."""
    today = datetime.datetime.now(datetime.UTC).date()
    with operated(args) as (db, organisation):
        rows = use.since(db, organisation.id, today - datetime.timedelta(args.days - 1))
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts[row.kind, row.tool_id] += row.count
    for (kind, tool), number in counts.most_common():
        say(f"{number}  {kind}  {tool}".rstrip())
    people = len({row.member_id for row in rows})
    say(f"{plural(people, 'member')} in {plural(args.days, 'day')}.")
    return 0


def run_audit(args: argparse.Namespace) -> int:
    """`toolcrib-team audit`: who changed what, oldest first."""
    with operated(args) as (db, organisation):
        names = {row.id: row.name for row in members.every(db, organisation.id)}
        rows = audit.since(db, organisation.id, after=args.after, most=args.most)
        decided = [int(row.subject) for row in rows if row.kind == "decisions"]
        of_tool = {str(one.id): one.tool_id for one in tools.some(db, organisation.id, decided)}
    for row in rows:
        who = names.get(row.member_id, "") if row.member_id else "operator"
        subject = of_tool.get(row.subject) if row.kind == "decisions" else row.subject
        changes = "; ".join(_differences(row.before or {}, row.after or {}))
        say(
            f"{row.id}  {row.at:%Y-%m-%d %H:%M:%S}  {who}  {row.action} {row.kind}"
            f" {subject or row.subject}  {changes}".rstrip()
        )
    return 0


def _differences(before: Json, after: Json) -> Iterator[str]:
    """Fields of a row that differ, each with its two values."""
    for name in sorted({*before, *after}):
        old, new = (json.dumps(row.get(name), ensure_ascii=False) for row in (before, after))
        if old != new:
            yield f"{name}: {old[:_LONGEST]} → {new[:_LONGEST]}"
