"""Reads one server: starts or reaches it, asks for all it offers, and leaves nothing behind."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event

import anyio

from app.discovery import stdio, web
from app.discovery.attempt import Attempt, guarded
from app.discovery.reading import LEGACY, MODERN, Limits, Reading
from app.discovery.scrub import scrub
from app.hosts.interpolation import expand
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec
from app.signin.auth import StoredAuth
from store.records import NEEDS_SIGN_IN

OnReading = Callable[[Reading], None]
AuthFor = Callable[[str], StoredAuth]


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """How servers are read; `era` is what the server turned out to speak last time."""

    limits: Limits = field(default_factory=Limits)
    environ: Mapping[str, str] | None = None  # None: our own
    scratch_home: bool = False


def probe(
    launch: LaunchSpec,
    *,
    options: ProbeOptions | None = None,
    cancel: Event | None = None,
    era: str = LEGACY,
) -> Reading:
    """Read one server in this thread; never raises for anything the server does."""
    return anyio.run(
        partial(read_server, launch, options=options or ProbeOptions(), cancel=cancel, era=era)
    )


async def read_server(
    launch: LaunchSpec,
    *,
    options: ProbeOptions,
    cancel: Event | None = None,
    era: str = LEGACY,
    on_reading: OnReading | None = None,
    auth_for: AuthFor | None = None,
) -> Reading:
    """Read one server; never raises for anything the server does.

    `on_reading` is told as soon as the tools are known; stopping the server may take a while.
    `auth_for` gives the earlier sign-in to a URL, which is used and renewed but never made.
    """
    variables = os.environ if options.environ is None else options.environ
    launch = expand(launch, variables, Path.home())
    attempts = partial(Attempt, options.limits, cancel, on_reading or (lambda _reading: None))
    tokens: tuple[str, ...] = ()
    if launch.transport == STDIO:
        with _environment(options) as environ:
            reading = await _read_stdio(launch, attempts, environ, era=era)
    else:
        auth = auth_for(launch.url) if auth_for is not None else None
        reading = await _read_web(launch, attempts, auth, era=era)
        tokens = auth.values() if auth is not None else ()
    home = "scratch" if options.scratch_home else "own"
    taken_with = {"home": home, **reading.taken_with} if reading.read else {}
    return scrub(replace(reading, taken_with=taken_with), launch, tokens)


async def _read_stdio(
    launch: LaunchSpec, attempts: Callable[[], Attempt], environ: Mapping[str, str], *, era: str
) -> Reading:
    """Started once more in the other era when it dies of the greeting without a word."""
    attempt = attempts()
    first = await guarded(attempt, partial(stdio.attempt, launch, attempt, environ, era))
    if not attempt.silent_death:
        return first
    attempt, other = attempts(), LEGACY if era == MODERN else MODERN
    second = await guarded(attempt, partial(stdio.attempt, launch, attempt, environ, other))
    return second if second.read else first


async def _read_web(
    launch: LaunchSpec, attempts: Callable[[], Attempt], auth: StoredAuth | None, *, era: str
) -> Reading:
    """A URL without a word on its transport may be either of the two."""
    attempt = attempts()
    seen = web.Seen(attempt.limits, auth)
    work = partial(web.attempt, launch, attempt, seen, launch.transport, era)
    first = await guarded(attempt, work)
    if first.read or not seen.wrong_transport:
        return first
    attempt, other = attempts(), SSE if launch.transport == HTTP else HTTP
    work = partial(web.attempt, launch, attempt, web.Seen(attempt.limits, auth), other, era)
    second = await guarded(attempt, work)
    told = auth is not None and auth.problem
    return second if second.read or second.status == NEEDS_SIGN_IN or told else first


@contextmanager
def _environment(options: ProbeOptions) -> Iterator[Mapping[str, str]]:
    """The environment of servers, with a throwaway home when that is wanted."""
    environ = os.environ if options.environ is None else options.environ
    if not options.scratch_home:
        yield environ
        return
    with tempfile.TemporaryDirectory(prefix="toolcrib-home-", ignore_cleanup_errors=True) as home:
        yield {**environ, "HOME": home, "USERPROFILE": home}
