"""A member's own sign-in at a server of the team, in three steps that any replica can go on with.

The state of a sign-in is sealed and goes with the browser: nothing is kept until it is finished.
The member's machine gets the last piece and hands it in with the member's token, so a page that a
stranger sends to a member signs no other in.
"""

import base64
import binascii
import json
import re
import secrets
import time
from dataclasses import asdict
from hashlib import sha256
from typing import TypeVar
from urllib.parse import parse_qs, urlencode

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_client_registration_request,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    issuers_match,
)
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import AnyUrl, BaseModel, ValidationError

from app.core.errors import ToolcribError
from app.signin.grant import NO_SECRET, Grant, is_safe
from app.signin.renewal import post, revoke, with_tokens
from app.team_server.credentials import Credentials
from app.team_server.identity import Caller
from app.team_server.sealing import SealedError, Sealer
from app.team_server.url_guard import GuardedSender, UrlGuard
from store.team.records import Server
from store.typed import Json

CALLBACK = "/oauth/callback"
_STATE, _TICKET = "sign-in state", "sign-in ticket"  # what they are sealed for
_SECONDS = 600.0  # from the beginning to the end
_HTTP_SECONDS = 10.0
_MOST_BYTES = 1_000_000
_LONGEST = 12_000  # characters of a state or a ticket
_BACK = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}/callback")
_CLIENT_STATE = re.compile(r"[A-Za-z0-9_-]{20,200}")
_HELLO = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_OTHER = "This is the answer to no sign-in of this team server, or it came too late."
_ODD = "Its sign-in pages do not fit together."
Model = TypeVar("Model", bound=BaseModel)


class SignIns:
    """Begins, goes on with and finishes sign-ins; keeps nothing between the steps."""

    def __init__(self, url: str, credentials: Credentials, sealer: Sealer, guard: UrlGuard) -> None:
        self._callback = url + CALLBACK
        self._credentials = credentials
        self._sealer = sealer
        self._guard = guard

    def begin(self, caller: Caller, server: Server, back: object, state: object) -> str:
        """The page to open in the member's browser. Raises ToolcribError.

        `back` is where the member's machine listens, and `state` what it waits for.
        """
        if not (isinstance(back, str) and _BACK.fullmatch(back)):
            raise ToolcribError("A sign-in goes back to 127.0.0.1.", "Update Toolcrib.")
        if not (isinstance(state, str) and _CLIENT_STATE.fullmatch(state)):
            raise ToolcribError("A sign-in needs a state.", "Update Toolcrib.")
        try:
            with self._client() as client:
                discovered = _Discovered(client, server.url, self._callback)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ToolcribError(f"The sign-in of {server.name} cannot be reached.") from error
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).decode()
        kept: Json = {
            **self._bound(caller, server),
            "grant": asdict(discovered.grant),
            "verifier": verifier,
            "back": back,
            "state": state,
            "issuer": discovered.issuer,
            "until": time.time() + _SECONDS,
        }
        query = {
            "response_type": "code",
            "client_id": discovered.grant.client_id,
            "redirect_uri": self._callback,
            "code_challenge": challenge.rstrip("="),
            "code_challenge_method": "S256",
            "state": self._seal(kept, _STATE),
            **({"scope": discovered.grant.scope} if discovered.grant.scope else {}),
            **({"resource": discovered.grant.resource} if discovered.grant.resource else {}),
        }
        return f"{discovered.page}{'&' if '?' in discovered.page else '?'}{urlencode(query)}"

    def landing(self, query: str) -> str:
        """Address at which the browser goes on from the callback. Raises ToolcribError."""
        fields = {name: values[0] for name, values in parse_qs(query, max_num_fields=20).items()}
        kept = self._open(fields.get("state", ""), _STATE)
        issuer = fields.get("iss")
        if kept["issuer"] and (issuer is None or not issuers_match(issuer, kept["issuer"])):
            raise ToolcribError(_OTHER)
        code = fields.get("code", "")
        if code and "error" not in fields:
            ticket = self._seal({**kept, "code": code}, _TICKET)
            answer = {"code": ticket, "state": kept["state"]}
        else:
            answer = {"error": "access_denied", "state": kept["state"]}
        return f"{kept['back']}?{urlencode(answer)}"

    def finish(self, caller: Caller, server: Server, ticket: object) -> None:
        """Get the tokens and keep them for the member who began. Raises ToolcribError."""
        kept = self._open(ticket if isinstance(ticket, str) else "", _TICKET)
        if {key: kept.get(key) for key in self._bound(caller, server)} != self._bound(
            caller, server
        ):
            raise ToolcribError("This sign-in was begun by another member.", "Start your own.")
        grant = Grant(**kept["grant"])
        form = {
            "grant_type": "authorization_code",
            "code": str(kept["code"]),
            "redirect_uri": self._callback,
            "code_verifier": str(kept["verifier"]),
            **({"resource": grant.resource} if grant.resource else {}),
        }
        with self._client() as client:
            answer = post(grant, grant.token_endpoint, form, client)
        if "access_token" not in answer:
            raise ToolcribError(f"{server.name} gave no tokens.", "Start the sign-in again.")
        self._credentials.keep_grant(caller, server, with_tokens(grant, answer, time.time()))

    def end(self, caller: Caller, server: Server) -> bool:
        """Forget the member's sign-in or credential, and revoke its tokens; False without one."""
        grant, known = self._credentials.forget(caller, server)
        if grant is not None:
            with self._client() as client:
                revoke(grant, client)
        return known

    def _client(self) -> httpx2.Client:
        return httpx2.Client(
            transport=GuardedSender(self._guard), timeout=_HTTP_SECONDS, follow_redirects=False
        )

    def _bound(self, caller: Caller, server: Server) -> Json:
        member = caller.member
        return {
            "organisation": member.organisation_id,
            "member": member.member_id,
            "server": server.id,
            "url": server.url,
        }

    def _seal(self, value: Json, kind: str) -> str:
        return base64.urlsafe_b64encode(self._sealer.seal(json.dumps(value), kind)).decode()

    def _open(self, text: str, kind: str) -> Json:
        try:
            if len(text) > _LONGEST:
                raise ValueError
            kept = json.loads(self._sealer.open(base64.urlsafe_b64decode(text), kind))
        except (ValueError, binascii.Error, SealedError) as error:
            raise ToolcribError(_OTHER, "Start the sign-in again.") from error
        if not isinstance(kept, dict) or time.time() > kept["until"]:
            raise ToolcribError(_OTHER, "Start the sign-in again.")
        return kept


class _Discovered:
    """A server's word on its sign-in, and a program registered for it (RFC 9728, 8414, 7591)."""

    def __init__(self, client: httpx2.Client, url: str, callback: str) -> None:
        self._client, self._url = client, url
        with client.stream("POST", url, json=_HELLO, headers={"Accept": "application/json"}) as one:
            challenge = one
        if challenge.status_code != 401:
            raise ToolcribError("This server asks for no sign-in.")
        resource = self._first(
            build_protected_resource_metadata_discovery_urls(
                extract_resource_metadata_from_www_auth(challenge), url
            ),
            ProtectedResourceMetadata,
        )
        if resource is not None and not check_resource_allowed(url, str(resource.resource)):
            raise ToolcribError(_ODD, "The server's operator has to correct that.")
        issuer = str(resource.authorization_servers[0]) if resource is not None else None
        known = self._first(
            build_oauth_authorization_server_metadata_discovery_urls(issuer, url), OAuthMetadata
        )
        if known is None or (issuer and not issuers_match(str(known.issuer), issuer)):
            raise ToolcribError(_ODD, "The server's operator has to correct that.")
        if "S256" not in (known.code_challenge_methods_supported or []):
            raise ToolcribError("Its authorization server does not protect sign-ins with PKCE.")
        self.page = self._safe(str(known.authorization_endpoint))
        scope = get_client_metadata_scopes(extract_scope_from_www_auth(challenge), resource, known)
        wants_issuer = known.authorization_response_iss_parameter_supported
        self.issuer = str(known.issuer) if wants_issuer else ""
        registered = self._register(known, callback, scope)
        self.grant = Grant(
            url=url,
            access_token="",
            client_id=str(registered.client_id),
            token_endpoint=self._safe(str(known.token_endpoint)),
            resource=str(resource.resource) if resource else resource_url_from_server_url(url),
            client_secret=registered.client_secret or "",
            auth_method=registered.token_endpoint_auth_method or NO_SECRET,
            revocation_endpoint=str(known.revocation_endpoint or ""),
            scope=scope or "",
        )

    def _register(
        self, known: OAuthMetadata, callback: str, scope: str | None
    ) -> OAuthClientInformationFull:
        wanted = OAuthClientMetadata(
            redirect_uris=[AnyUrl(callback)],
            client_name="Toolcrib team server",
            token_endpoint_auth_method="none",
            scope=scope,
        )
        request = create_client_registration_request(known, wanted, str(known.issuer))
        self._safe(str(request.url))
        answer = self._client.send(request, stream=True)
        try:
            made = _model(answer, OAuthClientInformationFull, (200, 201))
        finally:
            answer.close()
        if made is None:
            raise ToolcribError(
                "It does not let new programs register for a sign-in.",
                "Store a token of its site: toolcrib team credential SERVER",
            )
        return made

    def _first(self, urls: list[str], kind: type[Model]) -> Model | None:
        for url in urls:
            with self._client.stream("GET", self._safe(url)) as answer:
                model = _model(answer, kind, (200,))
            if model is not None:
                return model
        return None

    def _safe(self, url: str) -> str:
        if not is_safe(url, self._url):
            raise ToolcribError("Its sign-in leads to an address without https.")
        return url


def _model(answer: httpx2.Response, kind: type[Model], statuses: tuple[int, ...]) -> Model | None:
    if answer.status_code not in statuses:
        return None
    body = b""
    for chunk in answer.iter_bytes():
        body += chunk
        if len(body) > _MOST_BYTES:
            return None
    try:
        return kind.model_validate_json(body)
    except ValidationError:
        return None
