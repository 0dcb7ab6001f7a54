"""A member's own sign-in at a server of the team: the team server keeps the tokens, encrypted."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.signin.grant import is_safe
from app.signin.listener import Listener, listening
from app.team.client import TeamClient
from app.team.membership import current, token_of

WAIT_SECONDS = 300.0  # for a person
_TICK_SECONDS = 0.1
_KIND = "sign-ins"
SIGNED_IN, ENDED, STORED, MISSING = "signed in", "ended", "stored", "missing"


class CancelledError(ToolcribError):
    """The person gave the sign-in up."""


@dataclass(frozen=True, slots=True)
class _Wait:
    """Time that a person has."""

    until: float
    seconds: float
    cancel: Event

    async def for_answer(self, listener: Listener) -> dict[str, str]:
        """The browser's answer. Raises ToolcribError."""
        answering = asyncio.ensure_future(listener.answer())
        try:
            while not answering.done():
                if self.cancel.is_set():
                    raise CancelledError("The sign-in was cancelled.", "Start it again.")
                if time.monotonic() > self.until:
                    raise ToolcribError(
                        f"There was no sign-in within {self.seconds:g} s.", "Start it again."
                    )
                await asyncio.wait({answering}, timeout=_TICK_SECONDS)
            return answering.result()
        finally:
            answering.cancel()


def states(ctx: AppContext, db: apsw.Connection) -> dict[str, str]:
    """State of one's own sign-in by server of the team. Raises ToolcribError."""
    team = current(db)
    with TeamClient(team.url, token_of(ctx, team)) as client:
        return client.sign_ins()


def sign_in(
    ctx: AppContext,
    db: apsw.Connection,
    server: str,
    open_page: Callable[[str], None],
    wait_seconds: float = WAIT_SECONDS,
    *,
    cancel: Event | None = None,
) -> int:
    """Sign in at a server of the team in the browser; the number of tools read, -1 for unread.

    Raises CancelledError once `cancel` is set, or another ToolcribError.
    """
    wait = _Wait(time.monotonic() + wait_seconds, wait_seconds, cancel or Event())
    team = current(db)
    with TeamClient(team.url, token_of(ctx, team)) as client:
        ticket = asyncio.run(_ticket(client, server, open_page, wait))
        tools = client.send_of_server(_KIND, server, {"ticket": ticket}, "PUT").get("tools")
    return tools if type(tools) is int else -1


async def _ticket(
    client: TeamClient,
    server: str,
    open_page: Callable[[str], None],
    wait: _Wait,
) -> str:
    async with listening() as listener:
        state = secrets.token_urlsafe(32)
        given = {"back": listener.redirect_uri, "state": state}
        begun = await asyncio.to_thread(client.send_of_server, _KIND, server, given)
        page = str(begun.get("page", ""))
        if not is_safe(page, client.url):
            raise ToolcribError("Its sign-in page has no https address; it was not opened.")
        listener.expect(state)
        # the listener must answer a browser that runs in this terminal
        await asyncio.to_thread(open_page, page)
        answer = await wait.for_answer(listener)
    if "error" in answer:
        raise ToolcribError("The sign-in was not allowed.", "Start it again to allow it.")
    return answer["code"]


def sign_out(ctx: AppContext, db: apsw.Connection, server: str) -> bool:
    """Have the team server forget and revoke it; False where it had none. Raises ToolcribError."""
    team = current(db)
    with TeamClient(team.url, token_of(ctx, team)) as client:
        answer = client.send_of_server(_KIND, server, {}, "DELETE")
    return answer.get("deleted") is True
