"""Sends the tokens of an earlier sign-in along, renewed when they ended; never asks a person."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

import httpx2
from anyio import to_thread

from app.core.errors import ToolcribError
from app.secrets.secret_store import SecretStore
from app.signin.grant import Grant, load, want
from app.signin.renewal import ENDED, EndedError, renew
from app.signin.scopes import lacking

WANTED = "it asks for a sign-in."
_REFUSED, _FORBIDDEN = 401, 403


class StoredAuth(httpx2.Auth):
    """The sign-in of one server at one URL; used by one event loop.

    `problem` says why the server refused the last request, "" when it did not. `on_answer` is given
    the last response to each request, and may change its status.
    """

    def __init__(
        self,
        store: SecretStore,
        server: str,
        url: str,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.server = server
        self.problem = ""
        self.needs_person = False  # whether a new sign-in is what helps
        self.on_refused: Callable[[], None] = lambda: None
        self.on_answer: Callable[[httpx2.Response], Awaitable[None]] = _ignore_answer
        self._store = store
        self._url = url
        self._clock = clock
        self._origin = _origin(httpx2.URL(url))
        self._grant: Grant | None = None
        self._looked = False
        self._values: set[str] = set()

    @property
    def signed_in(self) -> bool:
        """True if tokens were sent along."""
        return self._grant is not None

    def values(self) -> tuple[str, ...]:
        """Every token seen, for redaction."""
        return tuple(self._values)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send, renew, send again."""
        if _origin(request.url) != self._origin:
            await self.on_answer((yield request))
            return
        await self._look()
        sent, kept_as_it_was = self._grant, False
        if sent is not None and sent.has_ended(self._clock()):
            await self._renew(sent)
            sent, kept_as_it_was = self._grant, self._grant is sent
        _put(request, sent)
        response = yield request
        if response.status_code == _REFUSED and sent is not None and not kept_as_it_was:
            await self._renew(sent)
            if self._grant is not None and self._grant is not sent:
                sent = self._grant
                _put(request, sent)
                response = yield request
        self._judge(response, sent)
        await self.on_answer(response)

    def lacking(self, response: httpx2.Response) -> str | None:
        """The rights that the server says this sign-in lacks, None when it says no such thing."""
        if response.status_code != _FORBIDDEN or self._grant is None:
            return None
        return lacking(response.headers.get("WWW-Authenticate", ""))

    async def newer(self) -> bool:
        """True if the user signed in again since; a session may belong to the sign-in before."""
        known, kept = self._grant, await self._kept()
        return kept is not None and (known is None or kept.access_token != known.access_token)

    async def lacks(self, scopes: str) -> None:
        """The server wants these rights too: the next sign-in asks for them."""
        if self._grant is not None:
            with suppress(ToolcribError, OSError):  # the call is answered all the same
                await to_thread.run_sync(want, self._store, self.server, self._grant, scopes)

    async def _look(self) -> None:
        if not self._looked:
            kept = await self._kept()
            if not self._looked:  # another request of ours was as fast
                self._take(kept)
            self._looked = True

    async def _kept(self) -> Grant | None:
        try:
            return await to_thread.run_sync(load, self._store, self.server, self._url)
        except (ToolcribError, OSError) as error:
            self.problem = f"its sign-in cannot be read: {error}."
            return None

    async def _renew(self, known: Grant) -> None:
        """Take a newer grant, made now or by another process; without one all stays."""
        if self._grant is not known:
            return  # another request of ours was faster
        try:
            # not given up when the request is: what was renewed must be kept
            fresh = await to_thread.run_sync(
                lambda: renew(self._store, self.server, known, clock=self._clock),
                abandon_on_cancel=True,
            )
        except ToolcribError as error:
            self.problem = error.title
            self.needs_person = isinstance(error, EndedError)
        else:
            self._take(fresh)

    def _take(self, grant: Grant | None) -> None:
        self._grant = grant
        if grant is not None:
            self._values.update(grant.values())

    def _judge(self, response: httpx2.Response, sent: Grant | None) -> None:
        if response.status_code != _REFUSED:
            self.problem = ""
            return
        if sent is None or not self.problem:
            self.needs_person = True
            self.problem = WANTED if sent is None else ENDED
        self.on_refused()


async def _ignore_answer(_response: httpx2.Response) -> None:
    """Ignore the server's last answer."""


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _put(request: httpx2.Request, grant: Grant | None) -> None:
    if grant is not None:
        request.headers["Authorization"] = f"Bearer {grant.access_token}"
