"""Spans of requests, where the operator names a receiver; otherwise none are made.

Names, codes and times leave: no member, organisation, query, argument or answer.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

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
