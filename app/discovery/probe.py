"""Reads one server: starts or reaches it, asks for all it offers, and leaves nothing behind."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event

import anyio

from app.discovery import stdio, web
from app.discovery.attempt import Attempt, guarded
from app.discovery.reading import Limits, Reading
from app.discovery.scrub import scrub
from app.discovery.wire import LEGACY, MODERN
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec
from store.records import NEEDS_SIGN_IN

OnReading = Callable[[Reading], None]


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
    launch: LaunchSpec, *, options: ProbeOptions, cancel: Event | None = None, era: str = LEGACY
) -> Reading:
    """Read one server; never raises for anything the server does."""
    if launch.transport == STDIO:
        with _environment(options) as environ:
            reading = await _read_stdio(launch, options.limits, cancel, environ=environ, era=era)
    else:
        reading = await _read_web(launch, options.limits, cancel, era=era)
    home = "scratch" if options.scratch_home else "own"
    taken_with = {"home": home, **reading.taken_with} if reading.read else {}
    return scrub(replace(reading, taken_with=taken_with), launch)


async def _read_stdio(
    launch: LaunchSpec,
    limits: Limits,
    cancel: Event | None,
    *,
    environ: Mapping[str, str],
    era: str,
) -> Reading:
    """Started once more in the other era when it dies of the greeting without a word."""
    other = LEGACY if era == MODERN else MODERN
    first: Reading | None = None
    for spoken in (era, other):
        attempt = Attempt(limits, cancel)
        reading = await guarded(attempt, partial(stdio.attempt, launch, attempt, environ, spoken))
        if reading.read or not attempt.silent_death:
            return reading if reading.read or first is None else first
        first = first or reading
    assert first is not None
    return first


async def _read_web(
    launch: LaunchSpec, limits: Limits, cancel: Event | None, *, era: str
) -> Reading:
    """A URL without a word on its transport may be either of the two."""
    transports = (HTTP, SSE) if launch.transport == HTTP else (SSE, HTTP)
    first: Reading | None = None
    for transport in transports:
        attempt = Attempt(limits, cancel)
        seen = web.Seen(limits)
        reading = await guarded(
            attempt, partial(web.attempt, launch, attempt, seen, transport, era)
        )
        if reading.read or reading.status == NEEDS_SIGN_IN or not seen.wrong_transport:
            return reading if reading.read or first is None else first
        first = first or reading
    assert first is not None
    return first


@contextmanager
def _environment(options: ProbeOptions) -> Iterator[Mapping[str, str]]:
    """The environment of servers, with a throwaway home when that is wanted."""
    environ = os.environ if options.environ is None else options.environ
    if not options.scratch_home:
        yield environ
        return
    with tempfile.TemporaryDirectory(prefix="toolcrib-home-", ignore_cleanup_errors=True) as home:
        yield {**environ, "HOME": home, "USERPROFILE": home}
