"""Limits of a member: requests a second in each replica, calls a day in all of them."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_MOST_KEPT = 10_000  # members whose last requests are remembered


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one member."""

    rate: float = 20.0  # requests a second, over time
    burst: int = 60
    concurrent: int = 32
    calls_a_day: int = 50_000


class Buckets:
    """Token buckets by caller; the one that was used least lately is forgotten first."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._running: dict[str, int] = {}

    def wait(self, key: str) -> float:
        """Take one request; 0 where it may go on, else seconds to wait."""
        with self._lock:
            now = self._clock()
            left, at = self._left.pop(key, (float(self._limits.burst), now))
            left = min(float(self._limits.burst), left + (now - at) * self._limits.rate)
            allowed = left >= 1
            self._left[key] = (left - 1 if allowed else left, now)
            while len(self._left) > _MOST_KEPT:
                self._left.popitem(last=False)
            return 0.0 if allowed else (1 - left) / self._limits.rate

    def enter(self, key: str) -> bool:
        """Count a request under way; False where there are too many."""
        with self._lock:
            running = self._running.get(key, 0)
            if running >= self._limits.concurrent:
                return False
            self._running[key] = running + 1
            return True

    def leave(self, key: str) -> None:
        """A request is over."""
        with self._lock:
            running = self._running.get(key, 0) - 1
            if running > 0:
                self._running[key] = running
            else:
                self._running.pop(key, None)
