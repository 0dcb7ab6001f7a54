"""Configuration of a replica: environment variables, all named TOOLCRIB_TEAM_..."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from app.core.errors import ToolcribError
from app.team_server.limiting import Limits

DATABASE = "TOOLCRIB_TEAM_DATABASE"
URL = "TOOLCRIB_TEAM_URL"
ISSUERS = "TOOLCRIB_TEAM_ISSUERS"
INSIDE = "TOOLCRIB_TEAM_INSIDE"
PROGRAMS = "TOOLCRIB_TEAM_PROGRAMS"
METRICS_TOKEN = "TOOLCRIB_TEAM_METRICS_TOKEN"
TRACES = "TOOLCRIB_TEAM_TRACES"
MARKET = "TOOLCRIB_TEAM_MARKET"
LIMITS = {
    "TOOLCRIB_TEAM_RATE": "rate",
    "TOOLCRIB_TEAM_BURST": "burst",
    "TOOLCRIB_TEAM_CONCURRENT": "concurrent",
    "TOOLCRIB_TEAM_CALLS_A_DAY": "calls_a_day",
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """Values of one replica; all replicas of a team have the same."""

    database: str
    url: str  # by which members reach the team's server, without a slash at the end
    issuers: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()  # host:port of upstreams in the operator's own network
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    metrics_token: str = field(default="", repr=False)
    traces: str = ""  # address of a receiver of OTLP over HTTP, "" for no traces
    market: bool = True  # listed servers are named to members, never started

    @property
    def host(self) -> str:
        """Host, and port if any, of the URL."""
        return self.url.partition("://")[2].lower()


def from_environ(environ: Mapping[str, str]) -> Configuration:
    """The configuration of the environment. Raises ToolcribError."""
    database, url = environ.get(DATABASE, ""), environ.get(URL, "").rstrip("/")
    if not database:
        raise ToolcribError(f"{DATABASE} is not set.", "Set it to postgresql://USER@HOST/NAME")
    if not url.startswith(("https://", "http://")) or "/" in url.partition("://")[2]:
        raise ToolcribError(
            f"{URL} is no URL up to the host's name." if url else f"{URL} is not set.",
            f"Set it to the address that members use: {URL}=https://tools.example.org",
        )
    return Configuration(
        database=database,
        url=url,
        issuers=tuple(environ.get(ISSUERS, "").split()),
        inside=tuple(environ.get(INSIDE, "").lower().split()),
        programs=_programs(environ.get(PROGRAMS, "")),
        limits=_limits(environ),
        metrics_token=environ.get(METRICS_TOKEN, ""),
        traces=_receiver(environ.get(TRACES, "")),
        market=_is_on(environ.get(MARKET, "on")),
    )


def _is_on(word: str) -> bool:
    if word not in ("on", "off"):
        raise ToolcribError(f"{MARKET} is neither on nor off.", "Correct it or leave it out.")
    return word == "on"


def _receiver(address: str) -> str:
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if address and not good:
        raise ToolcribError(
            f"{TRACES} is no address of a receiver.", "For example: http://127.0.0.1:4318"
        )
    return address.rstrip("/")


def _programs(text: str) -> dict[str, tuple[str, ...]]:
    """Programs by name, one a line: name = command arguments."""
    programs: dict[str, tuple[str, ...]] = {}
    for line in filter(str.strip, text.splitlines()):
        name, equals, command = line.partition("=")
        words = tuple(shlex.split(command))
        if not equals or not name.strip() or not words:
            raise ToolcribError(
                f"{PROGRAMS} has a line that is not understood.", "Write: name = command arguments"
            )
        programs[name.strip()] = words
    return programs


def _limits(environ: Mapping[str, str]) -> Limits:
    values: dict[str, int] = {}
    for variable, name in LIMITS.items():
        text = environ.get(variable, "")
        if text and not (text.isascii() and text.isdigit() and int(text) > 0):
            raise ToolcribError(f"{variable} is no number above 0.", "Correct it or leave it out.")
        if text:
            values[name] = int(text)
    return Limits(**values)
