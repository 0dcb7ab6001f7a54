"""Who may use the endpoint: programs of this machine that know the token of the profile."""

from collections.abc import Iterable, Mapping
from hmac import compare_digest

from app.core.endpoint import LOCAL_NAMES
from app.system.endpoint import token_of

_ONCE = (
    "host", "origin", "authorization", "content-type", "content-length", "accept",
    "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
)  # fmt: skip
Refusal = tuple[int, str]  # HTTP status and the reason


def headers_of(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """The headers by lower-case name; None where one that decides something comes twice."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name = raw_name.decode("latin-1").lower()
        if name in headers and name in _ONCE:
            return None
        headers[name] = raw_value.decode("latin-1")
    return headers


class Access:
    """The checks of every request, before its body is read."""

    def __init__(self, secret: str, port: int) -> None:
        self._secret = secret
        self._hosts = frozenset(f"{name}:{port}" for name in LOCAL_NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    def local(self, headers: Mapping[str, str]) -> Refusal | None:
        """Check that Host and Origin are ours: a page of the web that reaches us names its own."""
        if headers.get("host", "").lower() not in self._hosts:
            return 403, "The Host header names another machine."
        if "origin" in headers and headers["origin"].lower() not in self._origins:
            return 403, "The Origin header names another site."
        return None

    def allowed(self, headers: Mapping[str, str], profile: str) -> Refusal | None:
        """Check that the token is that of this profile; an unknown profile is refused alike."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        own = token_of(self._secret, profile)
        given = token.strip().encode("utf-8", "replace")
        if scheme.lower() != "bearer" or not compare_digest(given, own.encode()):
            return 401, "The token of this URL is missing or wrong."
        return None
