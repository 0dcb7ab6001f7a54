"""Registries that a user added, with their headers' values in the secret store."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.market.guards import source_problem
from app.market.seed import SEED_URL
from app.secrets.secret_store import Secrets, SecretStore
from store import market, teams
from store.connection import transaction
from store.market import MarketSource
from store.teams import TeamRecord

if TYPE_CHECKING:
    from app.market.client import Client, Limits

OFFICIAL = "https://registry.modelcontextprotocol.io"
OFFICIAL_NAME = "official"
_TEAM_HEADER = "Authorization"
_HINT = "See the sources: toolcrib registry list"


def all_sources(db: apsw.Connection) -> tuple[MarketSource, ...]:
    """The sources that can be synced: the official registry first, even if it was never synced."""
    kept = [one for one in market.sources(db) if one.url != SEED_URL]
    if not any(one.url == OFFICIAL for one in kept):
        kept.insert(0, MarketSource(0, OFFICIAL, OFFICIAL_NAME))
    return tuple(kept)


def add(
    ctx: AppContext,
    db: apsw.Connection,
    url: str,
    *,
    name: str = "",
    header: str = "",
    value: str = "",
    private: bool = False,
) -> MarketSource:
    """Add a registry; nothing is fetched. `header` and `value` are sent with each request."""
    address = url.strip().rstrip("/")
    problem = source_problem(address, private=private)
    if problem:
        hint = "" if private else "A registry inside your own network is added with --private."
        raise ToolcribError(f"The source cannot be added: {problem}", hint)
    called = name.strip() or urlsplit(address).hostname or address
    known = market.sources(db)
    if any(one.url == address for one in known):
        raise ToolcribError(f"{address} is a source already.", _HINT)
    if any(one.name == called for one in all_sources(db)):
        raise ToolcribError(f"A source is called {called} already.", "Give it another --name.")
    if header and (not value or any(char in header + value for char in "\r\n\0") or ":" in header):
        raise ToolcribError("The header is not of the form NAME=VALUE.")
    source = MarketSource(0, address, called, header, private)
    if header:
        SecretStore.open(ctx.paths).put(_key(address), Secrets(headers={header: value}))
    with transaction(db):
        market.add_source(db, source)
    return named(db, called)


def remove(ctx: AppContext, db: apsw.Connection, name: str) -> None:
    """Forget a source, its header's value, and all it lists; added servers stay."""
    source = named(db, name)
    if not source.id:
        raise ToolcribError(f"{name} was never synced: there is nothing to remove.")
    with transaction(db):
        market.remove_source(db, source.id)
    if source.header:
        SecretStore.open(ctx.paths).delete(_key(source.url))


def keep_team(ctx: AppContext, db: apsw.Connection, team: TeamRecord, token: str) -> None:
    """Have the list of a joined team's server as a source, or without a token no more."""
    known = next((one for one in market.sources(db) if one.url == team.url), None)
    secrets = SecretStore.open(ctx.paths)
    with transaction(db):
        if known is not None and (not token or known.header != _TEAM_HEADER):
            market.remove_source(db, known.id)
            known = None
        if token and known is None:
            taken = any(one.name == team.organisation for one in all_sources(db))
            name = team.url if taken else team.organisation
            market.add_source(db, MarketSource(0, team.url, name, _TEAM_HEADER, private=1))
    if token:
        secrets.put(_key(team.url), Secrets(headers={_TEAM_HEADER: f"Bearer {token}"}))
    else:
        secrets.delete(_key(team.url))


def passes_on(db: apsw.Connection, source: MarketSource) -> bool:
    """True for the shipped list and a team's: they hold what others list."""
    team = teams.current(db)
    return source.url == SEED_URL or (team is not None and source.url == team.url)


def trusts_private(db: apsw.Connection, source: MarketSource) -> bool:
    """True for a user's own list of a network of theirs; what one passes on is a stranger's."""
    return bool(source.private) and not passes_on(db, source)


def named(db: apsw.Connection, name: str) -> MarketSource:
    """The source of that name or URL; raises ToolcribError."""
    sources = all_sources(db)
    chosen = next((one for one in sources if name in (one.name, one.url)), None)
    if chosen is None:
        names = ", ".join(one.name for one in sources)
        raise ToolcribError(f"There is no source called {name}.", f"Known are: {names}.")
    return chosen


def stored(db: apsw.Connection, source: MarketSource) -> MarketSource:
    """The source with its row, which is made at the first sync of the official registry."""
    if source.id:
        return source
    with transaction(db):
        market.add_source(db, source)
    return named(db, source.name)


def client(ctx: AppContext, source: MarketSource, limits: "Limits | None" = None) -> "Client":
    """A client of that source; close it."""
    from app.market.client import Client, Limits  # httpx2: most verbs fetch nothing

    headers = {}
    if source.header:
        kept = SecretStore.open(ctx.paths).get(_key(source.url)).headers
        if source.header not in kept:
            raise ToolcribError(
                f"The value of {source.header} for {source.name} is not kept any more.",
                "Remove the source and add it again.",
            )
        headers = dict(kept)
    return Client(source.url, bool(source.private), headers, limits or Limits())


def _key(url: str) -> str:
    return f"market:{url}"
