"""An MCP server of the official SDK behind its own authorization server: sign_in_server.py.

POST /control changes what it does and answers with what it saw. A word, `sse`, gives the older
transport.
"""

import json
import math
import secrets
import sys
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthToken
from starlette.responses import JSONResponse, PlainTextResponse
from web_process import listening, serve

TRANSPORT = (sys.argv[1:] or ["http"])[0]
LISTENER = listening()
BASE = f"http://127.0.0.1:{LISTENER.getsockname()[1]}"


class Accounts(OAuthAuthorizationServerProvider):
    """Everything in memory; each refresh token is good once, and using it twice is counted."""

    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}
        self.spent = set()
        self.seen = {"authorized": 0, "refreshed": 0, "reused": 0, "revoked": 0, "methods": []}
        self.modes = {
            "life": 3600,
            "deny": "",
            "state": "",
            "hide": [],
            "down": False,
            "page": "",
            "more": {},
            "needs": "",
            "refused_clients": [],  # whose tokens count no more, new ones neither
        }

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info
        self.seen["methods"].append(client_info.token_endpoint_auth_method)

    async def authorize(self, client, params):
        self.seen["authorized"] += 1
        uri = str(params.redirect_uri)
        state = self.modes["state"] or params.state
        if self.modes["deny"]:
            return construct_redirect_uri(uri, error=self.modes["deny"], state=state)
        code = f"code-{secrets.token_hex(20)}"
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            expires_at=time.time() + 60,
            scopes=params.scopes or ["tools"],
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(uri, code=code, state=state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self._issue(client, authorization_code.scopes)

    async def load_refresh_token(self, client, refresh_token):
        if refresh_token in self.spent:
            self.seen["reused"] += 1
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.spent.add(refresh_token.token)
        self.seen["refreshed"] += 1
        return self._issue(client, scopes or refresh_token.scopes)

    async def load_access_token(self, token):
        found = self.access.get(token)
        if found and found.client_id in self.modes["refused_clients"]:
            return None
        return found if found and time.time() < found.expires_at else None

    async def revoke_token(self, token):
        self.seen["revoked"] += 1
        self.refresh.pop(token.token, None)

    def _issue(self, client, scopes):
        access, refresh = f"tok-a-{secrets.token_hex(16)}", f"tok-r-{secrets.token_hex(16)}"
        ends = math.ceil(time.time() + self.modes["life"])  # not before what is promised
        self.access[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=scopes, expires_at=ends
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes
        )
        life = self.modes["life"]
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=life, scope=" ".join(scopes)
        )


accounts = Accounts()
server = MCPServer(
    "guarded",
    auth_server_provider=accounts,
    auth=AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/{'mcp' if TRANSPORT == 'http' else 'sse'}",
        required_scopes=["tools"],
        validate_token_resource=False,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["tools", "write"], default_scopes=["tools"]
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def echo_token(ctx: Context) -> str:
    """Say which credential arrived."""
    return ctx.request_context.request.headers.get("authorization", "none")


@server.custom_route("/control", methods=["POST"])
async def control(request):
    wanted = json.loads(await request.body() or b"{}")
    accounts.access.pop(wanted.pop("end_token", ""), None)
    known = accounts.access.get(wanted.pop("client_of", "").removeprefix("Bearer "))
    accounts.seen["client"] = known.client_id if known else ""
    if wanted.pop("end_access", False):
        accounts.access.clear()
    if wanted.pop("end_all", False):
        accounts.access.clear()
        accounts.refresh.clear()
    accounts.modes.update(wanted)
    return JSONResponse(accounts.seen)


inner = server.streamable_http_app() if TRANSPORT == "http" else server.sse_app()


async def app(scope, receive, send):
    """Hides or breaks what the modes say."""
    path = scope.get("path", "")
    if any(path.startswith(hidden) for hidden in accounts.modes["hide"]):
        await PlainTextResponse("nothing here", 404)(scope, receive, send)
    elif accounts.modes["down"] and path == "/token":
        await PlainTextResponse("down", 503)(scope, receive, send)
    elif accounts.modes["page"] and path.startswith("/.well-known/oauth-authorization-server"):
        body = {
            "issuer": BASE,
            "authorization_endpoint": accounts.modes["page"],
            "token_endpoint": f"{BASE}/token",
            "registration_endpoint": f"{BASE}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            **accounts.modes["more"],
        }
        await JSONResponse(body)(scope, receive, send)
    elif accounts.modes["needs"] and path.startswith(("/mcp", "/messages")):
        await guard(scope, receive, send)
    else:
        await inner(scope, receive, send)


async def guard(scope, receive, send):
    """Calls of tools need a right more than the rest."""
    if scope.get("method") != "POST":
        await inner(scope, receive, send)
        return
    message, needs = await receive(), accounts.modes["needs"]
    token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
    found = accounts.access.get(token)
    if b'"tools/call"' in message["body"] and found and needs not in found.scopes:
        challenge = f'Bearer error="insufficient_scope", scope="{needs}"'
        await PlainTextResponse("no", 403, {"WWW-Authenticate": challenge})(scope, receive, send)
        return
    first = iter([message])

    async def again():
        return next(first, None) or await receive()

    await inner(scope, again, send)


serve(app, LISTENER)
