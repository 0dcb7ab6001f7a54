"""Spans of requests, where the operator names a receiver; otherwise none are made.

Names, codes and times leave: no member, organisation, query, argument or answer.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from app.core.errors import ToolcribError

Headers = Iterable[tuple[bytes, bytes]]
Settled = Callable[[str, int], None]  # takes the route and the status of the answer


class Tracing:
    """Makes no spans."""

    @contextmanager
    def request(self, method: str, headers: Headers) -> Iterator[Settled]:  # noqa: ARG002
        """Span of one HTTP request, of the trace that its client began if it did."""
        yield lambda *_: None

    @contextmanager
    def part(self, name: str, tool: str = "") -> Iterator[None]:  # noqa: ARG002
        """Span of a part of the present request."""
        yield

    def close(self) -> None:
        """Send what is left."""


def make_tracing(endpoint: str) -> Tracing:
    """Spans for a receiver of OTLP over HTTP, none for "". Raises ToolcribError without the SDK."""
    if not endpoint:
        return Tracing()
    try:
        from app.team_server.spans import Spans
    except ImportError as error:
        hint = "Install it: pip install 'toolcrib[team,otel]'"
        raise ToolcribError("The OpenTelemetry SDK is missing.", hint) from error
    return Spans(endpoint)
