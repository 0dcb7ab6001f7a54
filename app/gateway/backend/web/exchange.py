"""Data of one HTTP response: put in from any thread, taken out by the event loop."""

import asyncio
import threading

from store.typed import Any

_MOST_WAITING = 1_000  # notifications for a client that does not read


class Exchange:
    """A request of the client and what belongs to it, in order; the answer is the last of it."""

    def __init__(self, client_id: Any = None, method: str = "", token: Any = None) -> None:
        self.client_id = client_id
        self.method = method
        self.token = token  # the client's progress token, None for none
        self.code = 0  # of the error that the answer is, 0 for none
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._ended = False
        self.answer = b""

    def put(self, data: bytes) -> bool:
        """A notification or request for the client; True if it may still be read."""
        with self._lock:
            if self._ended or self._waiting >= _MOST_WAITING:
                return False
            self._waiting += 1
            self._hand_over(data)
            return True

    def end(self, answer: bytes = b"", code: int = 0) -> None:
        """The answer, b"" where none will come; nothing follows it."""
        with self._lock:
            if self._ended:
                return
            self._ended, self.answer, self.code = True, answer, code
            self._hand_over(b"")

    def _hand_over(self, data: bytes) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, data)
        except RuntimeError:  # the loop has ended, and with it the response
            self._ended = True

    async def get(self) -> bytes:
        """The next message before the answer, b"" once there is the answer, or none will come."""
        data = await self._queue.get()
        with self._lock:
            self._waiting -= 1
        return data
