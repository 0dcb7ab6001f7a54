"""The HTTP endpoint's URLs with their bearer tokens, all made of one secret in the secret store."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from app.core.endpoint import path_of, team_query
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.secrets.secret_store import SecretStore
from store.typed import object_or_empty

TEAM_TOKEN = "team token"  # in the secret store, as _KEY
_KEY = "http endpoint"  # in the secret store
_FIELD = "secret"
_LEAST = 32  # characters


@dataclass(frozen=True, slots=True)
class Address:
    """URL of a profile and the token that opens it; printing shows no token."""

    url: str
    token: str = field(repr=False)
    variable: str = ""  # whose name the file gets in the token's place

    @property
    def bearer(self) -> str:
        """The value of the Authorization header."""
        return f"Bearer {self.token}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint as the settings have it; the secret store is read when an address is wanted."""

    paths: Paths = field(repr=False)
    on: bool
    port: int
    at_login: bool = False  # the backend starts with the login
    refusal: str = ""  # why it cannot be had here

    @property
    def answers(self) -> bool:
        """True if the backend must listen, by the settings and by what this system can."""
        return self.on and not self.refusal

    def url(self, profile: str, behind: Sequence[str] | None = None) -> str:
        """The URL of a profile, or of these servers of it."""
        return f"http://127.0.0.1:{self.port}{path_of(profile, behind=behind)}"

    def address(self, profile: str, behind: Sequence[str] | None = None) -> Address:
        """URL and token of a profile; raises ToolcribError."""
        return Address(self.url(profile, behind), token_of(endpoint_secret(self.paths), profile))

    def example(self, profile: str, behind: Sequence[str] | None = None) -> Address:
        """URL with the word TOKEN in the token's place, for a text to paste."""
        return Address(self.url(profile, behind), "TOKEN")


@dataclass(frozen=True, slots=True)
class TeamEndpoint(Endpoint):
    """A team's gateway, which a host reaches without this machine's."""

    place: str = ""  # URL of the team profile there
    reaches: tuple[str, ...] = ()  # names here of the team's servers in that profile

    def url(self, profile: str, behind: Sequence[str] | None = None) -> str:
        """The URL of the team profile, with a mark that says what it is here."""
        return f"{self.place}?{team_query(profile, behind or self.reaches)}"

    def address(self, profile: str, behind: Sequence[str] | None = None) -> Address:
        """URL and the member's token; raises ToolcribError."""
        kept = object_or_empty(SecretStore.open(self.paths).read(TEAM_TOKEN))
        token = str(kept.get("token", ""))
        if not token:
            raise ToolcribError(
                "The team's token is not in the secret store any more.",
                "Join again: toolcrib team join URL",
            )
        return Address(self.url(profile, behind), token)


def endpoint_secret(paths: Paths) -> str:
    """Secret from which every token is made, created at the first call; raises ToolcribError.

    One that lies in a locked keychain is not made anew: every token would be worthless.
    """
    store = SecretStore.open(paths).strict()
    with store.alone(_KEY):
        secret = str(object_or_empty(store.read(_KEY)).get(_FIELD, ""))
        return secret if len(secret) >= _LEAST else _renewed(store)


def renew_secret(paths: Paths) -> None:
    """Make every token that was given out worthless; raises ToolcribError."""
    store = SecretStore.open(paths)
    with store.alone(_KEY):
        _renewed(store)


def _renewed(store: SecretStore) -> str:
    secret = secrets.token_hex(32)
    store.write(_KEY, {_FIELD: secret})
    return secret


def token_of(secret: str, profile: str) -> str:
    """The token that opens one profile's URLs, and no other's."""
    return hmac.new(secret.encode(), b"profile\0" + profile.encode(), sha256).hexdigest()
