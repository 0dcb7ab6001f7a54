"""Bytes that a host has not read yet: kept for it, so that a slow one holds up no other."""

import _socket
import threading
from collections import deque
from contextlib import suppress

from app.system.native import native
from app.system.threads import start_thread

MOST = 256 << 20  # bytes that wait for one host; more than any two answers


class Outbox:
    """Sends to one connection in order; a thread does it only while the host lags behind."""

    def __init__(self, link: "_socket.socket") -> None:
        self._link = link
        self._lock = threading.Lock()
        self._empty = threading.Condition(self._lock)
        self._waiting: deque[memoryview] = deque()
        self._size = 0
        self._closed = False

    def send(self, data: bytes) -> bool:
        """Send or keep; False where the host is gone, or has let more than MOST pile up."""
        with self._lock:
            if self._closed:
                return False
            try:
                left = memoryview(data) if self._waiting else self._send_now(data)
            except OSError:
                self._close()
                return False
            if left:
                self._keep(left)
            return not self._closed

    def _send_now(self, data: bytes) -> memoryview:
        """Send at once what the connection takes; returns the rest."""
        try:
            sent = self._link.send(data, native.DONT_WAIT)
        except BlockingIOError:
            sent = 0
        return memoryview(data)[sent:]

    def _keep(self, left: memoryview) -> None:
        self._size += len(left)
        if self._size > MOST:
            self._close()
            return
        self._waiting.append(left)
        if len(self._waiting) == 1:
            start_thread(self._run, left)

    def _run(self, first: memoryview) -> None:
        while True:
            try:
                self._link.sendall(first)
            except OSError:
                with self._lock:
                    self._close()
                return
            with self._lock:
                if self._waiting:  # else it was closed meanwhile
                    self._size -= len(self._waiting.popleft())
                if not self._waiting:  # under the lock: the next to come is sent by another thread
                    self._empty.notify_all()
                    return
                first = self._waiting[0]

    def _close(self) -> None:
        """Nothing more is sent; the other end sees the connection end."""
        self._closed = True
        self._waiting.clear()
        self._size = 0
        self._empty.notify_all()
        with suppress(OSError):
            self._link.shutdown(_socket.SHUT_RDWR)

    def close(self, seconds: float) -> None:
        """Wait at most that long until the host has read what there is, then hang up."""
        with self._empty:
            self._empty.wait_for(lambda: not self._waiting, seconds)
            self._close()
