"""Joining a team, synchronising with it, leaving it; each leaves the user's own work alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.indexing.indexer import Indexer
from app.market import sources
from app.secrets.secret_store import SecretStore
from app.system.endpoint import TEAM_TOKEN
from app.system.quoting import quoted
from app.team.catalogue import Applied, TeamCatalogue, is_held, kept_texts, place_of, remove_server
from app.team.client import (
    EndedTokenError,
    Membership,
    OfflineError,
    RefusedError,
    TeamClient,
    plain_url,
)
from store import exports, profiles, servers, teams
from store.connection import transaction
from store.records import MANUAL, EntryRecord
from store.teams import TeamRecord

_MOST_PAGES = 10_000
Progress = Callable[[str, float], None]
KeepGoing = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Synchronised:
    """Result of a synchronisation."""

    team: TeamRecord
    applied: Applied
    indexed: int  # tools that were made searchable


@dataclass(frozen=True, slots=True)
class TeamState:
    """The team, None for none, and what came of it."""

    team: TeamRecord | None
    profiles: tuple[str, ...] = ()  # their names here
    servers: int = 0
    tools: int = 0
    held: int = 0  # tools that no member gets
    waiting: int = 0  # those of them that no review has decided about
    sign_ins: tuple[str, ...] = ()  # servers where each member signs in, as the team calls them


def state(db: apsw.Connection) -> TeamState:
    """The state to be shown."""
    team = teams.current(db)
    if team is None:
        return TeamState(None)
    own = teams.profiles(db)
    names = tuple(record.name for record in profiles.all_profiles(db) if record.id in own)
    of_team = [row.body for row in teams.rows(db, team.id, teams.SERVER)]
    each = [b for b in of_team if b.get("sign_in") == "member" and b.get("enabled", True)]
    sign_ins = tuple(sorted(str(body["name"]) for body in each))
    rows = teams.rows(db, team.id, teams.TOOL)
    held = {(row.remote_id, str(row.body.get("hash", ""))) for row in rows if is_held(row.body)}
    waiting = held - kept_texts(db, team)
    return TeamState(team, names, len(of_team), len(rows), len(held), len(waiting), sign_ins)


def silent(_text: str, _done: float) -> None:
    """Show no progress."""


def current(db: apsw.Connection) -> TeamRecord:
    """The joined team. Raises ToolcribError where there is none."""
    team = teams.current(db)
    if team is None:
        raise ToolcribError("This machine is in no team.", "Join one: toolcrib team join URL")
    return team


def join(ctx: AppContext, db: apsw.Connection, url: str, token: str) -> TeamRecord:
    """Join the team behind a URL; nothing of its catalogue is here before a synchronisation.

    The token is kept in the secret store. Joining the same team again replaces its token. Raises
    ToolcribError.
    """
    url, token = plain_url(url), token.strip()
    if not token or not token.isascii() or any(c.isspace() for c in token):
        title = "That is no token." if token else "No token was given."
        raise ToolcribError(title, "Copy it whole, as the admin of the team gave it.")
    present = teams.current(db)
    if present is not None and present.url != url:
        raise ToolcribError(
            f"This machine is in the team {present.organisation} already.",
            "Leave it first: toolcrib team leave",
        )
    try:
        with TeamClient(url, token) as client:
            me = client.me()
    except OfflineError as error:  # nothing was synchronised yet that could go on working
        raise OfflineError(error.title, "Check the URL, and that the team server runs.") from error
    if present is not None and present.organisation != me.organisation:
        raise ToolcribError(
            f"That token is of another organisation: {me.organisation}.",
            f"Leave {present.organisation} first: toolcrib team leave",
        )
    remember(ctx, url, token)
    with transaction(db):
        team = _remembered(ctx, db, present, url, me, token)
    sources.keep_team(ctx, db, team, token if me.lists else "")
    return team


def remember(ctx: AppContext, url: str, token: str) -> None:
    """Keep the member's token in the secret store."""
    SecretStore.open(ctx.paths).write(TEAM_TOKEN, {"url": url, "token": token})


def _remembered(
    ctx: AppContext,
    db: apsw.Connection,
    present: TeamRecord | None,
    url: str,
    me: Membership,
    token: str,
) -> TeamRecord:
    if present is None:
        return teams.join(db, url, me.organisation, me.member, me.role, ctx.clock())
    teams.set_role(db, present.id, me.member, me.role)
    TeamCatalogue(ctx, db, present, token).renew_token()
    return current(db)


def token_of(ctx: AppContext, team: TeamRecord) -> str:
    """The member's token. Raises ToolcribError where it is lost."""
    kept = SecretStore.open(ctx.paths).read(TEAM_TOKEN)
    if not isinstance(kept, dict) or kept.get("url") != team.url or not kept.get("token"):
        raise ToolcribError(
            "The team's token is not in the secret store any more.",
            f"Join again with a token: toolcrib team join {team.url}",
        )
    return str(kept["token"])


def synchronise(
    ctx: AppContext,
    db: apsw.Connection,
    *,
    progress: Progress = silent,
    keep_going: KeepGoing = lambda: True,
) -> Synchronised:
    """Fetch what changed and bring the catalogue to it; stopped or offline, it goes on next time.

    Raises ToolcribError; what was synchronised before stays.
    """
    team = current(db)
    try:
        _fetch(ctx, db, team, progress, keep_going)
    except ToolcribError as error:
        with transaction(db):
            teams.set_problem(db, team.id, error.title)
        raise
    if not keep_going():
        raise ToolcribError("The synchronisation was stopped.", "It goes on where it was.")
    progress("Updating the catalogue", 0.5)
    with transaction(db):
        applied = TeamCatalogue(ctx, db, team, token_of(ctx, team)).apply()
        teams.set_synced(db, team.id, ctx.clock())
    indexed = index(ctx, db, progress=progress, keep_going=keep_going)
    return Synchronised(current(db), applied, indexed)


def index(
    ctx: AppContext,
    db: apsw.Connection,
    *,
    progress: Progress = silent,
    keep_going: KeepGoing = lambda: True,
) -> int:
    """Make the team's tools searchable; the number of tools.

    What the team has reviewed needs no second review, whatever the scanner here finds in it.
    """
    team = current(db)
    indexer = Indexer(ctx, db, progress=progress)
    indexer.texts(keep_going=keep_going)
    with transaction(db):
        for row in teams.rows(db, team.id, teams.SERVER):
            teams.approve(db, row.local_id, ctx.clock())
    return indexer.counted


def _fetch(
    ctx: AppContext,
    db: apsw.Connection,
    team: TeamRecord,
    progress: Progress,
    keep_going: KeepGoing,
) -> None:
    cursor, count = team.cursor, 0
    with TeamClient(team.url, token_of(ctx, team)) as client:
        me = client.me()
        if me.organisation != team.organisation:
            raise ToolcribError(
                f"The token is of another organisation: {me.organisation}.",
                "Leave the team and join it again.",
            )
        with transaction(db):
            teams.set_role(db, team.id, me.member, me.role)
        for _ in range(_MOST_PAGES):
            page = client.changes(cursor)
            if page.cursor < cursor or (page.more and page.cursor == cursor):
                raise ToolcribError("The team server's changes do not end.", "Tell who runs it.")
            with transaction(db):
                teams.take(db, team.id, page.items, page.cursor)
            cursor, count = page.cursor, count + len(page.items)
            progress(f"Fetched {count:,} changes", 0.0)
            if not page.more or not keep_going():
                return


@dataclass(frozen=True, slots=True)
class Departure:
    """Rows that leaving took away, and hosts whose files still name a team profile."""

    team: TeamRecord
    servers: int
    profiles: Sequence[str]
    hosts: Sequence[str]
    token_problem: str = ""  # reason that the machine's token may still count, a sentence

    @property
    def token_text(self) -> str:
        """State of the machine's token on the team server, and what is to be done about it."""
        if not self.token_problem:
            return "Its token counts no more on the team server."
        who, where = quoted(self.team.member), quoted(self.team.organisation)
        return (
            f"{self.token_problem} The token of this machine may still count there. Ask an admin"
            f" of the team to end it: toolcrib-team token list {who} --organisation {where} names"
            " it with its last use, and toolcrib-team token revoke ID ends it."
        )


def leave(ctx: AppContext, db: apsw.Connection) -> Departure:
    """Take the team's servers, tools and profiles out; everything else is as before joining.

    The token is ended on the team server; where that cannot be reached, the rest is done.
    """
    team = current(db)
    secrets = SecretStore.open(ctx.paths)
    with transaction(db):
        own = teams.profiles(db)
        names = [record.name for record in profiles.all_profiles(db) if record.id in own]
        hosts = hosts_with(db, names)
        teams.unlock(db)
        for profile_id in own:
            profiles.delete(db, profile_id)
        rows = [server for server in servers.all_servers(db) if _is_of(server.entries, team)]
        for server in rows:
            remove_server(db, secrets, server.id, place_of(team))
        teams.forget(db, team.id)
    sources.keep_team(ctx, db, team, "")
    problem = _end_token(ctx, team)
    secrets.delete(TEAM_TOKEN)
    return Departure(team, len(rows), names, hosts, problem)


def _end_token(ctx: AppContext, team: TeamRecord) -> str:
    """End this machine's token; the reason that it may still count, "" for none."""
    try:
        with TeamClient(team.url, token_of(ctx, team)) as client:
            client.send("/v1/tokens", {}, "DELETE")
    except EndedTokenError:
        return ""
    except RefusedError:
        return "The team server is of an older version."
    except ToolcribError as error:
        return error.title
    return ""


def hosts_with(db: apsw.Connection, names: Sequence[str]) -> list[str]:
    """Hosts whose files name one of these profiles."""
    written = exports.in_force(exports.all_exports(db))
    return sorted({record.host for record in written if record.profile in names})


def _is_of(entries: Sequence[EntryRecord], team: TeamRecord) -> bool:
    return any((one.host, one.file) == (MANUAL, place_of(team)) for one in entries)
