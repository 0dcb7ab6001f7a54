"""`bench languages`: what a query in another language costs a backend, once and then; Linux.

A real backend behind a real adapter answers search_tools over the testbed's tools. CPU is that of
the backend's process around each search; memory is what only that process holds.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from app.encoder.onnx import Encoder
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import STATUS
from app.tokens.counters import counter
from tests.bench.cpu import cpu_now
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.raw import raw_queries
from tests.bench.data.testbed import read_testbed
from tests.bench.hooks.live import Connection, Home, home_with
from tests.bench.performance import Figure

MOST_FIRST, MOST_LATER = 1500.0, 40.0  # ms of CPU more than an English query: issue 35
_MOST_MB = 8.0  # of the word lists of twelve languages
_AS_BEFORE = 1.25  # English after the others, as a multiple of English before; a busy machine's
_ENGLISH = 40  # queries of each English round


def run(encoder: Encoder, *, cache: Path | None = None) -> tuple[Figure, ...]:
    """Costs of searches in English and in twelve other languages."""
    cached = CachedEncoder(encoder, cache)
    testbed = read_testbed(counter("cl100k_base")).as_set
    english = [query.query for query in testbed.queries][:_ENGLISH]
    queries = (*raw_queries("open"), *raw_queries("open", 3))
    other = [(one.language, one.query) for one in queries if one.kind == "other"]
    try:
        with (
            tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder,
            home_with(Path(folder), testbed, cached, cached.models) as home,
            Connection(home) as host,
        ):
            home.wait_for_hook(english)
            return _measured(host, _Backend(home), english, other)
    finally:
        cached.close()


class _Backend:
    """The process behind all hosts."""

    def __init__(self, home: Home) -> None:
        self.pid = int((request(home.place, STATUS) or {})["pid"])

    def costs(self, host: Connection, queries: Sequence[str]) -> list[float]:
        """Milliseconds of its CPU for each search."""
        spent = []
        for query in queries:
            before = cpu_now(self.pid)
            host.call("search_tools", {"query": query})
            spent.append(1000 * (cpu_now(self.pid) - before))
        return spent

    def own_mb(self) -> float:
        """Memory that no other process has a part in."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) / 1024


def _measured(
    host: Connection, backend: _Backend, english: Sequence[str], other: Sequence[tuple[str, str]]
) -> tuple[Figure, ...]:
    backend.costs(host, english)  # whatever the first ones load
    before = median(backend.costs(host, english))
    only_english = backend.own_mb()
    by_language: dict[str, list[str]] = {}
    for language, query in other:
        by_language.setdefault(language, []).append(query)
    firsts = [backend.costs(host, queries[:1])[0] for queries in by_language.values()]
    loaded = backend.own_mb()
    later = [ms for rest in by_language.values() for ms in backend.costs(host, rest)]
    after = median(backend.costs(host, english))
    languages = ", ".join(by_language)
    return (
        Figure("first query in another language", firsts[0] - before, "ms CPU more", MOST_FIRST,
               "than the median English one"),
        Figure("first of each further language", max(firsts[1:], default=0.0) - before,
               "ms CPU more", MOST_FIRST, f"the dearest; {languages}"),
        Figure("later queries in other languages", median(later), "ms CPU", MOST_LATER,
               f"median of {len(later)}"),
        Figure("dearest later one", max(later), "ms CPU", 4 * MOST_LATER, "with traces of load"),
        Figure("English after the others", after / before, "times before", _AS_BEFORE,
               f"medians of {len(english)}: {before:.1f} and {after:.1f} ms"),
        Figure("what the languages take", loaded - only_english, "MB more", _MOST_MB,
               f"a backend that meets English only has {only_english:.0f} MB of its own"),
    )  # fmt: skip
