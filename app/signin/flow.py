"""Signing in to a server: the SDK finds the authorization server, a browser does the rest."""

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import anyio
import httpx2
from anyio import to_thread
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from app.core.errors import ToolcribError
from app.signin.grant import BASIC, NO_SECRET, POST, Client, Grant, is_safe
from app.signin.listener import Listener, PortTakenError, listening
from app.signin.renewal import expiry
from app.signin.scopes import asking_for, union

WAIT_SECONDS = 300.0  # for a person
_HTTP_SECONDS = 20.0
_TICK_SECONDS = 0.1
_MOST_BYTES = 1_000_000
_CHALLENGE = "WWW-Authenticate"
_NO_SUCH_RIGHTS = "The authorization server does not give the rights that were asked for."
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "Toolcrib", "version": "0"},
    },
}


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """One sign-in: the server, and the person's browser and patience."""

    url: str  # of the server
    open_page: Callable[[str], None]  # shows a page in a browser; called on a helper thread
    cancel: Event
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    wait_seconds: float = WAIT_SECONDS
    client: Client | None = None  # None: Toolcrib registers itself
    port: int = 0  # where the browser comes back to; 0 for any
    scopes: str = ""  # rights to ask for besides what the server names


class ScopeError(ToolcribError):
    """The authorization server knows none of such rights."""


class _RefusedError(Exception):
    """Reason that the sign-in ends here; becomes a ToolcribError without a cause."""

    def __init__(self, title: str, hint: str = "") -> None:
        super().__init__(title)
        self.problem = ToolcribError(title, hint)


def sign_in(visit: SignInRequest) -> Grant | None:
    """The new tokens, None when the person cancelled; blocks. Raises ToolcribError.

    Nothing is kept, and the browser is only ever sent to https, or to plain http on the loopback
    when the server itself is there.
    """
    if not is_safe(visit.url, visit.url):
        raise ToolcribError(
            "Signing in needs an https address.", "Others on the network could read the tokens."
        )
    # the SDK's lines hold the authorization server's texts
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)
    result = anyio.run(partial(_watched, visit))
    if isinstance(result, ToolcribError):
        raise result
    return result


async def _watched(visit: SignInRequest) -> Grant | ToolcribError | None:
    """The flow until it ends, the person gives up, or the time is over."""
    result: Grant | ToolcribError | None = None
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            nonlocal result
            until = time.monotonic() + visit.wait_seconds
            while not visit.cancel.is_set() and time.monotonic() < until:
                await anyio.sleep(_TICK_SECONDS)
            if not visit.cancel.is_set():
                result = ToolcribError(
                    f"There was no sign-in within {visit.wait_seconds:g} s.", "Start it again."
                )
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        result = await _attempts(visit)
        tasks.cancel_scope.cancel()
    return result


async def _attempts(visit: SignInRequest) -> Grant | ToolcribError:
    """As a public client; once more as the server likes it when it refuses to register that."""
    try:
        async with listening(visit.port) as listener:
            try:
                return await _flow(visit, listener, NO_SECRET)
            except OAuthRegistrationError:
                return await _flow(visit, listener, None)
    except _RefusedError as refusal:
        if visit.scopes and refusal.problem.title == _NO_SUCH_RIGHTS:
            return ScopeError(_NO_SUCH_RIGHTS)
        return refusal.problem
    except PortTakenError:
        return ToolcribError(f"Another program listens on port {visit.port}.", "Take another.")
    except OAuthRegistrationError:
        if visit.scopes:
            return ScopeError(_NO_SUCH_RIGHTS)
        return ToolcribError(
            "It does not let new programs register for a sign-in.",
            "Make an access token at its site and give it as an Authorization header, or register "
            "Toolcrib there and use: toolcrib sign-in --client-id.",
        )
    except OAuthTokenError:
        return ToolcribError("The authorization server gave no tokens.", "Start it again.")
    except (OAuthFlowError, ValueError):
        return ToolcribError(
            "The authorization server's answers do not fit together.",
            "The server's operator has to correct that.",
        )
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        return ToolcribError(
            "The server, or its page for signing in, could not be reached.",
            "Check its URL and the network, then try again.",
        )


async def _flow(visit: SignInRequest, listener: Listener, method: Any) -> Grant:
    storage = _Storage(_registered(visit.client, listener.redirect_uri))

    async def redirect(page: str) -> None:
        if not is_safe(page, visit.url):
            raise _RefusedError("Its sign-in page has no https address; it was not opened.")
        _require_pkce(provider)
        _choose_method(provider)
        query = parse_qs(urlsplit(page).query)
        if query.get("code_challenge_method") != ["S256"] or not query.get("code_challenge"):
            raise _RefusedError("Its sign-in page was asked for without PKCE; it was not opened.")
        listener.expect(query.get("state", [""])[0])
        # the listener must answer a browser that runs in this terminal
        await to_thread.run_sync(visit.open_page, page, abandon_on_cancel=True)

    async def callback() -> AuthorizationCodeResult:
        return _code(await listener.answer())

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(listener.redirect_uri)],
        client_name="Toolcrib",
        token_endpoint_auth_method=method,
    )
    provider = OAuthClientProvider(visit.url, metadata, storage, redirect, callback)
    status = await _first_request(visit, provider)
    if storage.tokens is None or storage.client is None:
        raise _RefusedError(
            "It asked for no sign-in."
            if status < 400
            else f"It asked for no sign-in but answered with status {status}.",
            "Read its tools again.",
        )
    if status in (401, 403):
        raise _RefusedError(f"It does not accept the new sign-in (status {status}).")
    return _grant(visit.url, provider, storage)


def _registered(client: Client | None, redirect_uri: str) -> OAuthClientInformationFull | None:
    if client is None:
        return None
    return OAuthClientInformationFull(
        client_id=client.id,
        client_secret=client.secret or None,
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method=POST if client.secret else NO_SECRET,
    )


def _require_pkce(provider: OAuthClientProvider) -> None:
    """Refuse an authorization server that says it does not do PKCE with S256.

    Without it a code that is read on its way can be used by its reader. A server that publishes
    no metadata is older than the field; it gets a challenge as well.
    """
    metadata = provider.context.oauth_metadata
    if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or []):
        raise _RefusedError(
            "Its authorization server does not protect sign-ins with PKCE (S256).",
            "Use an access token of its site as an Authorization header instead.",
        )


def _choose_method(provider: OAuthClientProvider) -> None:
    """Send a secret in the header where the server wants that and nothing else."""
    client, metadata = provider.context.client_info, provider.context.oauth_metadata
    # without a word on it that is what the server takes (RFC 8414 section 2)
    taken = (metadata.token_endpoint_auth_methods_supported if metadata else None) or [BASIC]
    if client is not None and client.token_endpoint_auth_method == POST and POST not in taken:
        client.token_endpoint_auth_method = BASIC


def _code(answer: Mapping[str, str]) -> AuthorizationCodeResult:
    """The code of the browser's answer, whose state was checked when it came.

    Raises _RefusedError with nothing of what it brought.
    """
    if "error" in answer:
        if answer["error"] == "access_denied":
            raise _RefusedError("The sign-in was not allowed.", "Start it again to allow it.")
        word = "".join(c for c in answer["error"] if c.isalnum() or c == "_")[:40]
        if word == "invalid_scope":
            raise _RefusedError(_NO_SUCH_RIGHTS)
        raise _RefusedError(f"The authorization server refused the sign-in ({word}).")
    return AuthorizationCodeResult(
        code=answer["code"], state=answer["state"], iss=answer.get("iss")
    )


async def _first_request(visit: SignInRequest, provider: OAuthClientProvider) -> int:
    """Ask the server for anything, which makes the provider sign in; the last status."""

    async def check(request: httpx2.Request) -> None:
        if not is_safe(str(request.url), visit.url):
            raise _RefusedError("Its sign-in leads to an address without https; nothing was sent.")

    async def limit(response: httpx2.Response) -> None:
        if response.status_code == 401 and visit.scopes:  # which the provider reads the scopes of
            challenge = response.headers.get(_CHALLENGE, "Bearer")
            response.headers[_CHALLENGE] = asking_for(challenge, visit.scopes)
        response.stream = _Limited(response.stream)

    headers = {k: v for k, v in visit.headers.items() if k.lower() != "authorization"}
    headers["Accept"] = "application/json, text/event-stream"
    async with httpx2.AsyncClient(
        auth=provider,
        headers=headers,
        timeout=_HTTP_SECONDS,
        event_hooks={"request": [check], "response": [limit]},
    ) as client:
        async with client.stream("POST", visit.url, json=_HELLO) as response:
            status, session = response.status_code, response.headers.get("mcp-session-id")
        if status in (404, 405):  # a server of the older transport listens to GET only
            async with client.stream("GET", visit.url) as response:
                return response.status_code
        if session:
            with contextlib.suppress(httpx2.HTTPError):
                await client.delete(visit.url, headers={"mcp-session-id": session})
    return status


def _grant(url: str, provider: OAuthClientProvider, storage: "_Storage") -> Grant:
    tokens, client, context = storage.tokens, storage.client, provider.context
    if tokens is None or client is None:
        raise RuntimeError("a finished sign-in has tokens")
    metadata = context.oauth_metadata
    endpoint = metadata.token_endpoint if metadata else urljoin(url, "/token")
    with_resource = context.should_include_resource_param(context.protocol_version)
    return Grant(
        url=url,
        access_token=tokens.access_token,
        client_id=client.client_id,
        token_endpoint=str(endpoint),
        refresh_token=tokens.refresh_token or "",
        expires_at=expiry(tokens.expires_in, time.time()),
        resource=context.get_resource_url() if with_resource else "",
        client_secret=client.client_secret or "",
        auth_method=client.token_endpoint_auth_method or NO_SECRET,
        revocation_endpoint=str(metadata.revocation_endpoint or "") if metadata else "",
        scope=union(tokens.scope or ""),
    )


class _Storage:
    """The SDK's TokenStorage, in memory: each sign-in is a client of its own."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.tokens: OAuthToken | None = None
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        """Tokens of this sign-in."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep them."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Registration of Toolcrib at the server."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep it."""
        self.client = client_info


class _Limited(httpx2.AsyncByteStream):
    """A body that ends with an error when it is larger than any sign-in needs."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > _MOST_BYTES:
                raise httpx2.DecodingError("too large")
            yield chunk

    async def aclose(self) -> None:
        """Hang up."""
        await self._inner.aclose()
