"""Claude Code's own search on labelled sets: what the host would find without Toolcrib."""

import time
from collections.abc import Sequence

from app.ranking.tool_search import KEYWORDS, MOST, VERSION, Deferred, ToolSearch
from tests.bench.data.metrics import Judged, judge
from tests.bench.data.sets import Labelled, QuerySet
from tests.bench.judging import DEPTH

AS_TYPED, BY_KEYWORDS = "tool_search", "tool_search_keywords"
WAYS = (AS_TYPED, BY_KEYWORDS)
NOTE = (
    f"{AS_TYPED}: Claude Code's ToolSearch (emulated, {VERSION}) asked with the whole query;"
    f" {BY_KEYWORDS}: with the query's {KEYWORDS} rarest words that the catalogue has, a stand-in"
    f" for what its model types. Active are the {MOST} tools of an answer."
)


class HostSearch:
    """The host's search over a set, answering in tool ids."""

    def __init__(self, given: QuerySet) -> None:
        self._ids = [f"{tool.server}/{tool.name}" for tool in given.tools]
        self._search = ToolSearch(
            [
                Deferred(tool.server, tool.name, str(tool.raw.get("description") or ""))
                for tool in given.tools
            ]
        )

    def answer(self, query: str, way: str, most: int = DEPTH) -> list[str]:
        """The best tools, best first."""
        text = query if way == AS_TYPED else self._search.keywords(query)
        return [self._ids[hit.place] for hit in self._search.find(text, most)]

    def judge(self, queries: Sequence[Labelled], way: str) -> list[Judged]:
        """Each query's figures."""
        self._search.keywords("")  # counts the catalogue's words once
        return [self._one(query, way) for query in queries]

    def _one(self, query: Labelled, way: str) -> Judged:
        started = time.process_time()
        ranking = self.answer(query.query, way)
        spent = (time.process_time() - started) * 1000
        return judge(ranking, ranking[:MOST], query.gold, cpu_ms=spent)
