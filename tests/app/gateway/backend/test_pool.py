"""The clock of the backend: one server's trouble is not the others'."""

import threading

import pytest

from app.gateway.backend.pool import Pool
from app.mcp.requests import PendingRequest
from store.serving import ServerRow


class Late(PendingRequest):
    """A request whose time is up at once."""

    def __init__(self, *, raises: bool = False) -> None:
        super().__init__(b"", {"jsonrpc": "2.0", "id": 0, "method": "ping"}, seconds=1e-9)
        self.raises = raises
        self.reasons: list[str] = []

    def failed(self, reason: str) -> None:
        self.reasons.append(reason)
        if self.raises:
            raise RuntimeError(reason)


@pytest.fixture
def never():
    """A launch that comes to nothing until the test has ended."""
    ended = threading.Event()

    def launch():
        ended.wait(60)
        raise OSError

    yield launch
    ended.set()


def row(name: str) -> ServerRow:
    return ServerRow(1, name, True, False, "", "{}", {}, {}, {}, "", 0.0)


def test_a_request_that_fails_badly_keeps_the_clock_from_nobody(never) -> None:
    pool = Pool()
    bad, behind, other = Late(raises=True), Late(), Late()
    first = pool.share(row("first"), "", "1", never, modern=False)
    second = pool.share(row("second"), "", "2", never, modern=False)
    first.upstream.request(bad)
    first.upstream.request(behind)
    second.upstream.request(other)
    pool.tick()
    assert len(bad.reasons) == len(behind.reasons) == len(other.reasons) == 1
