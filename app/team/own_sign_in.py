"""A member's own sign-in at a server of the team: the team server keeps the tokens, encrypted."""

import asyncio
import secrets
from collections.abc import Callable
from urllib.parse import quote

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.signin.grant import is_safe
from app.signin.listener import listening
from app.team.client import TeamClient
from app.team.membership import current, token_of

WAIT_SECONDS = 300.0  # for a person


def sign_in(
    ctx: AppContext,
    db: apsw.Connection,
    server: str,
    open_page: Callable[[str], None],
    wait_seconds: float = WAIT_SECONDS,
) -> int:
    """Sign in at a server of the team in the browser; the number of tools read, -1 for unread.

    Raises ToolcribError.
    """
    team, path = current(db), f"/v1/sign-ins/{quote(server, safe='')}"
    with TeamClient(team.url, token_of(ctx, team)) as client:
        ticket = asyncio.run(_ticket(client, path, team.url, open_page, wait_seconds))
        tools = client.send(path, {"ticket": ticket}, "PUT").get("tools")
    return tools if type(tools) is int else -1


async def _ticket(
    client: TeamClient,
    path: str,
    url: str,
    open_page: Callable[[str], None],
    wait_seconds: float,
) -> str:
    async with listening() as listener:
        state = secrets.token_urlsafe(32)
        given = {"back": listener.redirect_uri, "state": state}
        page = str((await asyncio.to_thread(client.send, path, given)).get("page", ""))
        if not is_safe(page, url):
            raise ToolcribError("Its sign-in page has no https address; it was not opened.")
        listener.expect(state)
        # the listener must answer a browser that runs in this terminal
        await asyncio.to_thread(open_page, page)
        try:
            answer = await asyncio.wait_for(listener.answer(), wait_seconds)
        except TimeoutError:
            raise ToolcribError(
                f"There was no sign-in within {wait_seconds:g} s.", "Start it again."
            ) from None
    if "error" in answer:
        raise ToolcribError("The sign-in was not allowed.", "Start it again to allow it.")
    return answer["code"]


def sign_out(ctx: AppContext, db: apsw.Connection, server: str) -> bool:
    """Have the team server forget and revoke it; False where it had none. Raises ToolcribError."""
    team = current(db)
    with TeamClient(team.url, token_of(ctx, team)) as client:
        answer = client.send(f"/v1/sign-ins/{quote(server, safe='')}", {}, "DELETE")
    return answer.get("deleted") is True
