"""Events of the journal on their way out, where the user switched that on: spans and a duration.

Names follow OpenTelemetry's conventions for MCP and generative AI (mcp.*, gen_ai.*). Counts, times
and names leave; a query and what a server said only with `telemetry_texts`. Arguments never do: the
journal does not have them. The SDK is the extra `toolcrib[otel]`, loaded with the first event.
"""

from collections.abc import Callable, Sequence

from app.core.errors import ToolcribError
from store.files import stamp
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from app.core.settings import Settings
    from app.gateway.telemetry_spans import SpanSender
    from store.records import EventRecord


def check_receiver(endpoint: str) -> None:
    """Raise ToolcribError where events cannot be sent there: no address, or no SDK."""
    from importlib.util import find_spec
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(endpoint)
        good = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    except ValueError:
        good = False
    if not good:
        raise ToolcribError(
            f"{endpoint} is no address of a receiver.", "For example: http://127.0.0.1:4318"
        )
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        hint = "Install Toolcrib as toolcrib[otel] (pip, pipx or uv)."
        raise ToolcribError("The OpenTelemetry SDK is missing.", hint)


class Telemetry:
    """Follows the settings file; sends nothing while it is off."""

    def __init__(self, settings_file: str, load: "Callable[[], Settings]") -> None:
        self._file = settings_file
        self._load = load
        self._stamp: tuple[float, int] | None = None
        self._sender: SpanSender | None = None
        self._problem = ""  # reason that nothing is sent although it is on

    def __call__(self, events: "Sequence[EventRecord]") -> None:
        """Send events, where that is on."""
        self._follow()
        if self._sender is not None:
            self._sender.send(events)

    def take_problem(self) -> str:
        """Reason that nothing is sent although it is on, once; "" for none."""
        problem, self._problem = self._problem, ""
        return problem

    def _follow(self) -> None:
        now = stamp(self._file)
        if now == self._stamp:
            return
        self._stamp = now
        self.close()
        settings = self._load() if now != (0.0, 0) else None
        if settings is None or not settings.telemetry:
            return
        try:
            from app.gateway.telemetry_spans import SpanSender
        except ImportError:
            self._problem = "The OpenTelemetry SDK is missing: install Toolcrib as toolcrib[otel]."
            return
        self._sender = SpanSender(settings.telemetry_endpoint, texts=settings.telemetry_texts)

    def close(self) -> None:
        """Send what is left, for at most a few seconds."""
        if self._sender is not None:
            self._sender.close()
            self._sender = None
