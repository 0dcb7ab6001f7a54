"""A channel that records its messages, for those who want to read them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.mcp.requests import Channel

MOST_KEPT = 200  # messages
LONGEST_KEPT = 200_000  # characters of one


@dataclass(frozen=True, slots=True)
class TracedMessage:
    """One line on its way, as it was."""

    at: float  # seconds since the epoch
    sent: bool  # by us, else by the server
    text: str


class TracedChannel:
    """Another channel with its newest messages; see Channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._kept: list[TracedMessage] = []

    def take(self) -> tuple[TracedMessage, ...]:
        """Messages that passed since the last call of this, oldest first."""
        kept, self._kept = self._kept, []
        return tuple(kept)

    def open(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        """Connect, and keep what is heard."""

        def keep_line(line: bytes) -> bool:
            self._keep(line, sent=False)
            return on_line(line)

        self._channel.open(keep_line, on_end)

    def send(self, line: bytes) -> None:
        """Send one message, and keep it."""
        self._keep(line, sent=True)
        self._channel.send(line)

    def _keep(self, line: bytes, *, sent: bool) -> None:
        text = line[: 4 * LONGEST_KEPT].decode("utf-8", "replace")[:LONGEST_KEPT].strip()
        self._kept = [*self._kept[1 - MOST_KEPT :], TracedMessage(time.time(), sent, text)]

    @property
    def fault(self) -> bool:
        """As the channel's."""
        return self._channel.fault

    @fault.setter
    def fault(self, value: bool) -> None:
        self._channel.fault = value

    @property
    def junk_lines(self) -> int:
        """As the channel's."""
        return self._channel.junk_lines

    @junk_lines.setter
    def junk_lines(self, value: int) -> None:
        self._channel.junk_lines = value

    def progress(self) -> float:
        """As the channel's."""
        return self._channel.progress()

    def ended(self) -> bool:
        """As the channel's."""
        return self._channel.ended()

    def last_line(self) -> str:
        """As the channel's."""
        return self._channel.last_line()

    def last_sentence(self) -> str:
        """As the channel's."""
        return self._channel.last_sentence()

    def printed(self) -> str:
        """As the channel's."""
        return self._channel.printed()

    def redacted(self, text: str) -> str:
        """As the channel's."""
        return self._channel.redacted(text)

    def pids(self) -> tuple[int, ...]:
        """As the channel's."""
        return self._channel.pids()

    def close(self, grace: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """End the server."""
        self._channel.close(grace, hurry)
