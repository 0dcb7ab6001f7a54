"""Counters of a replica in Prometheus' text form; no label names a member or a query."""

import threading
from collections.abc import Iterable

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_NAMES = {
    "requests": ("toolcrib_requests_total", "HTTP requests by route and status"),
    "calls": ("toolcrib_calls_total", "Tool calls by outcome"),
    "seconds": ("toolcrib_request_seconds", "Time of HTTP requests by route"),
    "under_way": ("toolcrib_requests_under_way", "HTTP requests that are not answered yet"),
    "upstreams": ("toolcrib_upstreams", "Servers that this replica is connected to"),
    "ready": ("toolcrib_ready", "1 if the database answers"),
}


class Metrics:
    """Values of one process; usable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._times: dict[str, list[float]] = {}
        self.under_way = 0

    def count(self, name: str, **labels: str) -> None:
        """Add one."""
        key = name, tuple(sorted(labels.items()))
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + 1

    def time(self, route: str, seconds: float) -> None:
        """Note the time that a request took."""
        with self._lock:
            row = self._times.setdefault(route, [0.0] * (len(_BUCKETS) + 2))
            for place, limit in enumerate(_BUCKETS):
                row[place] += seconds <= limit
            row[-2] += 1
            row[-1] += seconds

    def text(self, *, upstreams: int, ready: bool) -> str:
        """All values."""
        with self._lock:
            counts, times = dict(self._counts), {k: list(v) for k, v in self._times.items()}
        lines: list[str] = []
        for name in ("requests", "calls"):
            lines += _head(name, "counter")
            lines += [
                f"{_NAMES[name][0]}{_labels(labels)} {value}"
                for (one, labels), value in sorted(counts.items())
                if one == name
            ]
        lines += _head("seconds", "histogram")
        for route, row in sorted(times.items()):
            lines += _histogram(route, row)
        gauges = (("under_way", self.under_way), ("upstreams", upstreams), ("ready", int(ready)))
        for name, value in gauges:
            lines += [*_head(name, "gauge"), f"{_NAMES[name][0]} {value}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str) -> list[str]:
    own, about = _NAMES[name]
    return [f"# HELP {own} {about}", f"# TYPE {own} {kind}"]


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    inner = ",".join(f'{name}="{value}"' for name, value in pairs)
    return f"{{{inner}}}" if inner else ""


def _histogram(route: str, row: list[float]) -> list[str]:
    own = _NAMES["seconds"][0]
    limits = [*(str(limit) for limit in _BUCKETS), "+Inf"]
    lines = [
        f'{own}_bucket{{le="{limit}",route="{route}"}} {value:.0f}'
        for limit, value in zip(limits, row, strict=False)
    ]
    return [
        *lines,
        f'{own}_sum{{route="{route}"}} {row[-1]:.6f}',
        f'{own}_count{{route="{route}"}} {row[-2]:.0f}',
    ]
