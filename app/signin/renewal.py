"""Renewing the tokens of a sign-in, one process at a time, and giving them back."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from urllib.parse import quote

import httpx2

from app.core.errors import ToolcribError
from app.secrets.secret_store import SecretStore
from app.signin.grant import BASIC, NO_SECRET, POST, Grant, forget, is_safe, kept, key, load, save
from store.typed import object_or_empty

ENDED = "its sign-in has ended."
_SECONDS = 10.0
_MOST_BYTES = 1_000_000
_FINAL = ("invalid_grant", "invalid_client", "unauthorized_client")  # RFC 6749 section 5.2


class EndedError(ToolcribError):
    """The tokens can no longer be renewed; only a new sign-in helps."""


def renew(
    store: SecretStore,
    server: str,
    known: Grant,
    *,
    clock: Callable[[], float] = time.time,
) -> Grant:
    """The server's grant with an access token other than the known one; blocks.

    The first caller renews, since a refresh token may be good for one use only; the others get
    the grant that it kept, while it lasts. Raises EndedError, or ToolcribError when it may work
    later.
    """
    with store.alone(key(server)):
        now = load(store, server, known.url)
        if now is None:
            raise EndedError(ENDED)
        if now.access_token != known.access_token and not now.has_ended(clock()):
            return now
        try:
            fresh = refreshed(now, clock())
        except EndedError:
            if now.refresh_token:
                forget(store, server)
            raise
        save(store, server, fresh)
        return fresh


def refreshed(grant: Grant, now: float, client: httpx2.Client | None = None) -> Grant:
    """The grant with new tokens, which are not kept; raises as `renew`."""
    if not grant.refresh_token:
        raise EndedError(ENDED)
    form = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}
    if grant.resource:
        form["resource"] = grant.resource
    answer = post(grant, grant.token_endpoint, form, client)
    if answer.get("error") in _FINAL:
        raise EndedError(ENDED)
    return with_tokens(grant, answer, now)


def give_back(store: SecretStore, server: str) -> None:
    """Forget the tokens here and, as far as it can be reached, at the authorization server."""
    with store.alone(key(server)):
        grant = kept(store, server)
        forget(store, server)
    if grant is not None:
        revoke(grant)


def revoke(grant: Grant, client: httpx2.Client | None = None) -> None:
    """Make the tokens worthless at the authorization server, as far as it can be reached."""
    if not is_safe(grant.revocation_endpoint, grant.url):
        return
    form = {"token": grant.refresh_token or grant.access_token}
    if grant.auth_method == NO_SECRET:
        form["client_secret"] = ""  # the same as none (RFC 6749 2.3.1); the SDK's servers want it
    try:
        post(grant, grant.revocation_endpoint, form, client)
    except ToolcribError:
        return  # they end by themselves


def expiry(expires_in: object, now: float) -> float:
    """When a token ends by its `expires_in`, 0 where that says nothing."""
    return now + expires_in if isinstance(expires_in, int | float) and expires_in > 0 else 0.0


def with_tokens(grant: Grant, answer: Mapping[str, object], now: float) -> Grant:
    """The grant with the tokens of a token endpoint's answer; raises ToolcribError."""
    token, refresh = answer.get("access_token"), answer.get("refresh_token")
    if not isinstance(token, str) or not token:
        raise ToolcribError("its sign-in could not be renewed now; try again later.")
    return replace(
        grant,
        access_token=token,
        # one that is not replaced stays good (RFC 6749 section 6)
        refresh_token=refresh if isinstance(refresh, str) and refresh else grant.refresh_token,
        expires_at=expiry(answer.get("expires_in"), now),
    )


def post(
    grant: Grant, url: str, form: dict[str, str], client: httpx2.Client | None = None
) -> dict[str, object]:
    """The JSON answer to a form, whatever its status, {} when it is none; bounded."""
    if not is_safe(url, grant.url):
        raise EndedError(ENDED)
    form["client_id"] = grant.client_id
    headers, auth = {"Accept": "application/json"}, None
    if grant.auth_method == BASIC:
        auth = httpx2.BasicAuth(_quoted(grant.client_id), _quoted(grant.client_secret))
    elif grant.auth_method == POST:
        form["client_secret"] = grant.client_secret
    until = time.monotonic() + _SECONDS
    try:
        with (
            nullcontext(client) if client else httpx2.Client(timeout=_SECONDS) as sender,
            sender.stream("POST", url, data=form, headers=headers, auth=auth) as response,
        ):
            return _json(_body(response, until))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        # from None: the text of the cause may hold the request
        raise ToolcribError("the server that renews its sign-in could not be reached.") from None


def _body(response: httpx2.Response, until: float) -> bytes:
    body = b""
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > _MOST_BYTES or time.monotonic() > until:
            return b""
    return body


def _json(body: bytes) -> dict[str, object]:
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return object_or_empty(content)


def _quoted(text: str) -> str:
    """As RFC 6749 section 2.3.1 wants it in Basic credentials."""
    return quote(text, safe="")
