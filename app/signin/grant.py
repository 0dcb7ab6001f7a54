"""Tokens of one server at one URL after a sign-in, kept in the secret store only."""

import ipaddress
from dataclasses import asdict, dataclass, fields, replace
from urllib.parse import urlsplit

from app.secrets.secret_store import SecretStore
from app.signin.scopes import union

NO_SECRET, BASIC, POST = "none", "client_secret_basic", "client_secret_post"


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """A program that was registered at the authorization server by hand."""

    id: str
    secret: str = ""

    def __repr__(self) -> str:
        return f"Client({self.id})"


@dataclass(frozen=True, slots=True, repr=False)
class Grant:
    """The tokens and all that renewing them takes; printing shows nothing of it."""

    url: str  # of the server: the tokens go nowhere else
    access_token: str
    client_id: str
    token_endpoint: str
    refresh_token: str = ""  # "": a new sign-in when the access token has ended
    expires_at: float = 0.0  # seconds since the epoch, 0 where the server did not say
    resource: str = ""  # RFC 8707, "" where the server is too old for it
    client_secret: str = ""
    auth_method: str = NO_SECRET  # how the token endpoint knows the client (RFC 7591 section 2)
    revocation_endpoint: str = ""  # RFC 7009
    scope: str = ""  # granted, "" where it is not known
    wanted: str = ""  # scope that the server lacked since; the next sign-in asks for it

    def __repr__(self) -> str:
        return "Grant(••••)"

    def has_ended(self, now: float) -> bool:
        """True if the access token is past its end, as far as the server gave one."""
        return 0 < self.expires_at <= now

    def values(self) -> tuple[str, ...]:
        """The secret values, for redaction."""
        return tuple(filter(None, (self.access_token, self.refresh_token, self.client_secret)))


def load(store: SecretStore, server: str, url: str) -> Grant | None:
    """The server's grant; None when there is none for exactly this URL."""
    grant = kept(store, server)
    return grant if grant is not None and grant.url == url else None


def kept(store: SecretStore, server: str) -> Grant | None:
    """The server's grant, whatever its URL was."""
    values = store.read(key(server))
    if not isinstance(values, dict):
        return None
    known = {field.name for field in fields(Grant)}
    try:
        return Grant(**{name: value for name, value in values.items() if name in known})
    except TypeError:  # written by another version
        return None


def save(store: SecretStore, server: str, grant: Grant) -> None:
    """Keep the server's grant."""
    store.write(key(server), asdict(grant))


def want(store: SecretStore, server: str, refused: Grant, scopes: str) -> None:
    """Remember what the server's grant lacks, if it still is the one that was refused."""
    with store.alone(key(server)):
        grant = load(store, server, refused.url)
        if grant is None or grant.access_token != refused.access_token:
            return
        if union(grant.wanted, scopes) != grant.wanted:
            save(store, server, replace(grant, wanted=union(grant.wanted, scopes)))


def forget(store: SecretStore, server: str) -> None:
    """Remove the server's grant."""
    store.delete(key(server))


def follow(store: SecretStore, old: str, new: str) -> None:
    """Keep the grant of a server that was renamed."""
    grant = kept(store, old)
    if grant is not None and old != new:
        save(store, new, grant)
        forget(store, old)


def key(server: str) -> str:
    """Under what the secret store keeps the grant; no server's name has a slash."""
    return f"sign-in/{server}"


def is_safe(url: str, server_url: str) -> bool:
    """True if sign-in data may go to the URL.

    https anywhere, plain http only between loopback addresses; a server elsewhere cannot send us
    to this machine.
    """
    try:
        parts, home = urlsplit(url), urlsplit(server_url)
        local, at_home = _is_loopback(parts.hostname), _is_loopback(home.hostname)
    except ValueError:
        return False
    if local:
        return at_home and parts.scheme in ("http", "https")
    return bool(parts.hostname) and parts.scheme == "https"


def _is_loopback(host: str | None) -> bool:
    if not host or host == "localhost":
        return host == "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
