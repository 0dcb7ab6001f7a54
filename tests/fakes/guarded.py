"""A running sign_in_server.py, and a browser that says yes to everything."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from web_process import serving

SERVER = Path(__file__).with_name("sign_in_server.py")


class Guarded:
    """Its URL, and what it does and saw."""

    def __init__(self, port: int, transport: str) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.url = f"{self.base}/{'mcp' if transport == 'http' else 'sse'}"

    def control(self, **modes: Any) -> dict[str, Any]:
        """Change modes; what was seen so far."""
        return httpx2.post(f"{self.base}/control", json=modes, timeout=10).json()


class Browser:
    """Follows the authorization page back to the listener, as a person would; keeps the pages."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.shown: list[httpx2.Response] = []
        self._threads: list[threading.Thread] = []

    def open(self, page: str) -> None:
        """In a thread, since whoever opens it waits for the answer."""
        self.opened.append(page)
        thread = threading.Thread(target=self._visit, args=(page,))
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Wait for the pages."""
        for thread in self._threads:
            thread.join(10)

    def _visit(self, page: str) -> None:
        with contextlib.suppress(httpx2.HTTPError):
            self.shown.append(httpx2.get(page, follow_redirects=True, timeout=10))


@contextlib.contextmanager
def running(transport: str = "http") -> Iterator[Guarded]:
    """The server in a process of its own."""
    with serving(SERVER, transport) as port:
        yield Guarded(port, transport)
