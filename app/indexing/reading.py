"""Result of reading one server, and the limits it is read under."""

from dataclasses import dataclass

from app.core.settings import Settings
from app.indexing.raw_tools import TOOL_BYTES
from store.records import READ, NewTool, SelfDescription

# the two ways of greeting: initialize (to 2025-11-25) and server/discover (2026-07-28)
LEGACY, MODERN = "legacy", "modern"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one server, in seconds, bytes and items."""

    quiet_seconds: float = 60.0  # without an answer, without output and without CPU progress
    total_seconds: float = 180.0  # whatever it does
    extras_seconds: float = 10.0  # for each of the lists beside the tools
    grace_seconds: float = 5.0  # from closing stdin to TERM
    message_bytes: int = 32_000_000
    output_bytes: int = 128_000_000
    tool_bytes: int = TOOL_BYTES
    tools: int = 5_000
    extras: int = 2_000

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """The limits that a user's settings ask for."""
        return cls(
            quiet_seconds=float(settings.scan_seconds),
            total_seconds=float(settings.scan_limit_seconds),
        )


@dataclass(frozen=True, slots=True)
class Reading(SelfDescription):
    """A server's answers about itself, or the reason that it gave none; holds no secret value."""

    status: str = READ
    problem: str = ""
    tools: tuple[NewTool, ...] = ()
    stderr: str = ""  # last lines, redacted
    messages: tuple[tuple[float, bool, str], ...] = ()  # at, sent by us, the line; redacted

    @property
    def read(self) -> bool:
        """True if the tools are known now."""
        return self.status == READ


class ReadingError(Exception):
    """A server could not be read; becomes a Reading before it leaves the package."""

    def __init__(self, status: str, problem: str) -> None:
        super().__init__(problem)
        self.status = status
        self.problem = problem
