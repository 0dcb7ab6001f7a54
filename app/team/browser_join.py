"""Joining a team by a sign-in at its issuer, in the browser, in place of a token by hand."""

from collections.abc import Callable
from threading import Event

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.signin.flow import SignInRequest, sign_in
from app.signin.grant import Client
from app.signin.renewal import revoke
from app.team.client import TeamClient, plain_url
from app.team.membership import join
from store.teams import TeamRecord


def join_by_browser(
    ctx: AppContext,
    db: apsw.Connection,
    url: str,
    open_page: Callable[[str], None],
    *,
    cancel: Event,
    client: Client | None = None,
    port: int = 0,
) -> TeamRecord:
    """Sign in at the team's issuer and join; the team server gives this machine a token of 30 days.

    Raises ToolcribError.
    """
    url = plain_url(url)
    with TeamClient(url, "none") as asking:
        if not asking.issuers():
            raise ToolcribError(
                "This team has no sign-in in the browser.",
                "Ask an admin of the team for a token, then: toolcrib team join URL",
            )
    grant = sign_in(SignInRequest(f"{url}/mcp", open_page, cancel, client=client, port=port))
    if grant is None:
        raise ToolcribError("The sign-in was given up.", "Start it again.")
    with TeamClient(url, grant.access_token) as signed_in:
        token = str(signed_in.send("/v1/tokens", {}).get("token", ""))
    revoke(grant)  # its tokens were for this alone
    return join(ctx, db, url, token)
