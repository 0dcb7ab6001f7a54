"""Bounds on what clients hold: connections without a token together, requests with one by peer."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from store.typed import Json

MOST_STRANGERS = 256  # connections that have not shown a token
MOST_REQUESTS = 256  # of one peer at a time
Peer = tuple[str, str]  # address, and the profile whose token it has

_CONNECTION = "connection"  # key in the state of an ASGI scope


@dataclass(slots=True, eq=False)
class Connection:
    """One connection of a client."""

    began: float
    known: bool = False  # a request of it had a token

    def state(self) -> Json:
        """State of every request that comes over it."""
        return {_CONNECTION: self}


def recognise(scope: Json) -> None:
    """Take in that a request had a token: its connection is no stranger's any more."""
    connection = scope.get("state", {}).get(_CONNECTION)
    if isinstance(connection, Connection):
        connection.known = True


def surplus(connections: Iterable[Connection]) -> Connection | None:
    """The oldest stranger where there are too many, None where there are not."""
    strangers = [one for one in connections if not one.known]
    if len(strangers) <= MOST_STRANGERS:
        return None
    return min(strangers, key=lambda one: one.began)


class Requests:
    """Counts of the requests under way."""

    def __init__(self) -> None:
        self._counts: Counter[Peer] = Counter()

    @contextlib.contextmanager
    def counted(self, peer: Peer) -> Iterator[bool]:
        """Counts one request; False where its peer has too many under way already."""
        self._counts[peer] += 1
        try:
            yield self._counts[peer] <= MOST_REQUESTS
        finally:
            self._counts[peer] -= 1
            if not self._counts[peer]:
                del self._counts[peer]
