"""Tokens of an OIDC issuer, verified with its published keys."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx2
import jwt

from store.typed import Any, Json, list_or_empty

_ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
_LEEWAY = 30  # seconds that two machines' clocks may differ
_LONGEST = 8_192  # characters of a token
_KEYS_SECONDS = 3_600.0  # that an issuer's keys are used without reading them again
_RETRY_SECONDS = 15.0  # between two readings, whatever tokens arrive
_FETCH_SECONDS = 5.0
_LARGEST_DOCUMENT = 1 << 20  # bytes
_MOST_KEYS = 100


class InvalidTokenError(Exception):
    """A token that opens nothing; the text never leaves the server."""


class IssuerAwayError(Exception):
    """The issuer's keys could not be read."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Subject of a verified token."""

    issuer: str
    subject: str
    expires: float
    scopes: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()


def read_document(url: str) -> Json:
    """A JSON object of the issuer. Raises IssuerAwayError."""
    try:
        with httpx2.stream("GET", url, timeout=_FETCH_SECONDS, follow_redirects=False) as answer:
            answer.raise_for_status()
            body = b""
            for part in answer.iter_bytes():
                body += part
                if len(body) > _LARGEST_DOCUMENT:
                    raise IssuerAwayError("The issuer's document is too large.")
        value = httpx2.Response(200, content=body).json()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise IssuerAwayError(f"The issuer cannot be read: {type(error).__name__}.") from error
    if not isinstance(value, dict):
        raise IssuerAwayError("The issuer's document is no JSON object.")
    return value


@dataclass
class Issuer:
    """One OIDC issuer, found by discovery; its keys are kept and read anew when they rotate."""

    url: str
    audience: str
    any_scope: bool = True  # whether a token of this issuer needs no scope of ours
    read: Callable[[str], Json] = read_document
    clock: Callable[[], float] = time.monotonic
    _keys: Mapping[str, jwt.PyJWK] = field(default_factory=dict)
    _read_at: float = -1e9
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def verify(self, token: str) -> Claims:
        """Claims of a token. Raises InvalidTokenError and IssuerAwayError."""
        try:
            head = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise InvalidTokenError("no JWT") from error
        algorithm = head.get("alg")
        if algorithm not in _ALGORITHMS or head.get("crit"):
            raise InvalidTokenError("algorithm")
        key = self._key(str(head.get("kid") or ""), str(algorithm))
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[str(algorithm)],
                audience=self.audience,
                issuer=self.url,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise InvalidTokenError(type(error).__name__) from error
        return _claims(claims)

    def _key(self, kid: str, algorithm: str) -> jwt.PyJWK:
        """The issuer's key of that id, which may be newer than those that were read."""
        with self._lock:
            age = self.clock() - self._read_at
            unknown = kid not in self._keys and not (kid == "" and len(self._keys) == 1)
            if age > _KEYS_SECONDS or (unknown and age > _RETRY_SECONDS):
                self._refresh()
            keys = self._keys
        if not keys:
            raise IssuerAwayError("The issuer's keys were not read yet.")
        key = next(iter(keys.values())) if not kid and len(keys) == 1 else keys.get(kid)
        if key is None or (key.algorithm_name and key.algorithm_name != algorithm):
            raise InvalidTokenError("key")
        return key

    def _refresh(self) -> None:
        """Read the keys; those that were known serve on while the issuer is away."""
        self._read_at = (
            self.clock()
        )  # also where it fails: the next token does not wait for it again
        try:
            document = self.read(f"{self.url.rstrip('/')}/.well-known/openid-configuration")
            if document.get("issuer") != self.url:
                raise IssuerAwayError("The document is another issuer's.")
            keys = _keys(self.read(str(document.get("jwks_uri"))))
        except IssuerAwayError:
            if not self._keys:
                raise
            return
        self._keys = keys


def _keys(document: Json) -> dict[str, jwt.PyJWK]:
    """Keys that sign, by id; a symmetric one among them would be a published secret."""
    keys: dict[str, jwt.PyJWK] = {}
    for one in list_or_empty(document.get("keys"))[:_MOST_KEYS]:
        if not isinstance(one, dict) or one.get("kty") == "oct" or one.get("use", "sig") != "sig":
            continue
        try:
            keys[str(one.get("kid") or "")] = jwt.PyJWK(one, one.get("alg"))
        except jwt.PyJWTError:
            continue  # of a kind that this library does not know
    return keys


def _claims(claims: Json) -> Claims:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise InvalidTokenError("subject")
    scopes = claims.get("scope", claims.get("scp", ""))
    return Claims(
        issuer=str(claims["iss"]),
        subject=subject,
        expires=float(claims["exp"]),
        scopes=frozenset(_words(scopes)),
        groups=frozenset(_words(claims.get("groups", ()))),
    )


def _words(value: Any) -> list[str]:
    """Words of a claim that is a text or a list."""
    if isinstance(value, str):
        return value.split()
    return [one for one in list_or_empty(value) if isinstance(one, str)]


def issuer_named(token: str) -> str:
    """The issuer that a token names, unverified: it only picks whose keys are tried."""
    if len(token) > _LONGEST:
        raise InvalidTokenError("too long")
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise InvalidTokenError("no JWT") from error
    named = claims.get("iss")
    if not isinstance(named, str):
        raise InvalidTokenError("no issuer")
    return named
