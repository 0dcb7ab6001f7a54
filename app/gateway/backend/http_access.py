"""Operations on the HTTP endpoint for the user's programs: switch, look at, hand out tokens."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.settings import Settings
from app.core.text import plural
from app.gateway.backend.client import request, start
from app.gateway.backend.rendezvous import RENEW, STATUS, Place, supported
from app.system.endpoint import Endpoint, endpoint_secret, renew_secret, token_of

PORTS = range(1024, 65536)
_NO_BACKEND = "The HTTP endpoint needs the backend, which is off or not on this system."
_SECONDS = 10.0  # that the backend may take to listen


@dataclass(frozen=True, slots=True)
class HttpState:
    """The endpoint as the backend sees it."""

    on: bool  # by the settings
    answers: bool
    problem: str  # why it does not, "" where nothing is wrong
    sessions: int

    @property
    def sentence(self) -> str:
        """The state as a sentence."""
        if not self.on:
            return "The HTTP endpoint is off."
        if self.answers:
            return f"It answers; {plural(self.sessions, 'session')}."
        return self.problem or "No backend runs; the first host, or switching it on, starts one."


def switch_on(ctx: AppContext, port: int) -> HttpState:
    """Listen, in a backend that is started if none runs; raises ToolcribError."""
    if not possible(ctx):
        raise ToolcribError(_NO_BACKEND, "toolcrib backend on lets hosts share one.")
    if port not in PORTS:
        raise ToolcribError(f"{port} is no port for it.", "Choose one from 1024 to 65535.")
    endpoint_secret(ctx.paths)
    ctx.keep(http=True, http_port=port)
    state = bring_up(ctx, _SECONDS)
    if not state.answers:
        reason = state.problem or "The backend does not listen yet."
        raise ToolcribError(reason, "toolcrib backend http on --port N takes another port.")
    return state


@contextmanager
def listening(ctx: AppContext) -> Iterator[None]:
    """With the endpoint answering, and left so; off again where it was and the body fails.

    Raises ToolcribError where it cannot be had: the body does not run then.
    """
    before = Settings.load(ctx.paths.settings_file)
    try:
        switch_on(ctx, before.http_port)
        yield
    except BaseException:
        if not before.http:
            ctx.keep(http=False)
        raise


def possible(ctx: AppContext) -> bool:
    """True if a backend may run, which the endpoint is a part of."""
    return supported() and not Place(str(ctx.paths.home)).off


def endpoint(ctx: AppContext) -> Endpoint:
    """The endpoint for plans of hosts' files, as the settings file has it now."""
    now = ctx.settings
    with suppress(ToolcribError):
        now = Settings.load(ctx.paths.settings_file)
    refusal = "" if possible(ctx) else _NO_BACKEND
    return Endpoint(ctx.paths, now.http, now.http_port, now.at_login, refusal)


def bring_up(ctx: AppContext, seconds: float) -> HttpState:
    """The state once a backend does what the settings say, or did not within `seconds`.

    Raises ToolcribError where the endpoint shall be on and no backend can be had.
    """
    place = Place(str(ctx.paths.home))
    if ctx.settings.http and not start(place):
        raise ToolcribError("No backend could be started.", "toolcrib backend on allows one.")
    limit = time.monotonic() + seconds
    while True:
        state = http_state(ctx)
        if not state.on or state.answers or state.problem or time.monotonic() > limit:
            return state
        time.sleep(0.1)


def http_state(ctx: AppContext) -> HttpState:
    """State of the endpoint now."""
    on, port = ctx.settings.http, ctx.settings.http_port
    status = request(Place(str(ctx.paths.home)), STATUS) or {}
    endpoint = status.get("http") or {}
    current = on and endpoint.get("wanted") == port  # else it has not taken in the settings yet
    answers = current and endpoint["port"] == port
    return HttpState(
        on, answers, endpoint["problem"] if current else "", endpoint.get("sessions", 0)
    )


def url_of(ctx: AppContext, profile: str) -> str:
    """The URL of a profile."""
    return Endpoint(ctx.paths, on=ctx.settings.http, port=ctx.settings.http_port).url(profile)


def token_for(ctx: AppContext, profile: str) -> str:
    """The token of a profile's URLs, which is a secret; raises ToolcribError."""
    return token_of(endpoint_secret(ctx.paths), profile)


def renew_tokens(ctx: AppContext) -> None:
    """Make the tokens that were given out worthless; raises ToolcribError."""
    renew_secret(ctx.paths)
    request(Place(str(ctx.paths.home)), RENEW)
