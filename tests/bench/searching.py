"""The gateway's own search over a made store: what the model is shown, in tokens and in time."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.catalog.conditions import State
from app.catalog.menu_tools import menu_tools, server_list_text
from app.core.paths import Paths
from app.core.settings import GatewaySettings
from app.gateway.environment import GatewayEnvironment
from app.gateway.menu.search import ToolSearch
from app.tokens.counters import Counter
from app.tokens.host_text import host_text
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Gold
from tests.bench.data.sets import Labelled, QuerySet

_WAIT = 60.0  # seconds the encoder may take to load


@dataclass(frozen=True, slots=True)
class Searched:
    """One search: tokens and milliseconds of the answer, and whether it holds the gold tools."""

    tokens: int
    ms: float
    first: bool  # the tool whose schema is given is a gold one
    listed: float  # share of the gold tools that are named
    names: int  # tools named


class Gateway:
    """search_tools of a profile with every tool on, and the menu that stands in tools/list."""

    def __init__(self, finder: ToolSearch, servers: Sequence[str], counter: Counter) -> None:
        settings = GatewaySettings()
        self._finder = finder
        self._counter = counter
        self._level = settings.slim
        self._budget = settings.search_tokens
        menu = menu_tools(server_list_text(servers, settings.pool))
        self.menu_tokens = sum(counter.count(host_text(tool)) for tool in menu)

    def search(self, query: Labelled) -> Searched:
        """Search with a query's text."""
        answer = self._finder.search(
            {"query": query.query},
            State(),
            generation=0,
            tokens=self._budget,
            level=self._level,
            note="",
        )
        first = answer.best.tool.tool_id if answer.best else ""
        return Searched(
            self._counter.count(answer.text),
            answer.ms,
            first=_stands_for(first, query.gold) in query.gold.tools,
            listed=_share(answer.listed, query.gold),
            names=len(answer.listed),
        )


class _Store(GatewayEnvironment):
    """The surroundings of a gateway over files of our own."""

    def __init__(self, paths: Paths) -> None:
        super().__init__()
        self._paths = paths

    def paths(self) -> Paths:
        """The made store's files."""
        return self._paths


@contextmanager
def gateway_over(
    given: QuerySet, *, encoder: CachedEncoder, counter: Counter, models: Path
) -> Iterator[Gateway]:
    """The gateway's search over a store that holds this set; `models` has the exported encoder."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        paths = Paths(Path(folder), models)
        open_corpus(paths.database, given, encoder).close()
        finder = ToolSearch(_Store(paths), "default", str(paths.database))
        finder.warm(0)
        finder.wait(_WAIT)
        try:
            yield Gateway(finder, sorted({tool.server for tool in given.tools}), counter)
        finally:
            finder.close()


def _stands_for(name: str, gold: Gold) -> str:
    return gold.same.get(name, name)


def _share(listed: Sequence[str], gold: Gold) -> float:
    hits = {_stands_for(name, gold) for name in listed} & set(gold.tools)
    return len(hits) / len(gold.tools)
