"""A catalogue with queries, embedded and counted once, for experiments on the paper's gate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from app.ranking.summary import summarise
from app.tokens.counters import Counter
from app.tokens.host_text import host_text
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Gold
from tests.bench.data.sets import Labelled, SetTool
from tests.bench.data.testbed import changes_something, tool_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PAPER_THETA, PAPER_K = 0.28, 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """Means over queries: tokens a turn by phase, and how well the active set serves."""

    phase1: float
    phase2: float
    recall: float  # per cent of the gold tools that are active
    precision: float  # per cent of the active tools that are gold
    active: float  # tools
    empty: float  # per cent of queries without any tool

    @property
    def tokens(self) -> float:
        """Both phases."""
        return self.phase1 + self.phase2

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision, per cent."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


class EmbeddedCatalogue:
    """Tools, queries, their embeddings and token counts; one serialisation for all methods."""

    def __init__(
        self,
        tools: Sequence[SetTool],
        queries: Sequence[Labelled],
        *,
        encoder: CachedEncoder,
        counter: Counter,
    ) -> None:
        import numpy as np

        self.tools = tuple(tools)
        self.queries = tuple(queries)
        self.ids = [tool_id(tool) for tool in tools]
        self._encoder = encoder
        self._counter = counter
        self._texts = [host_text(dict(tool.raw)) for tool in tools]
        summaries = [summarise(t.name, str(t.raw.get("description") or "")) for t in tools]
        # the pool names tools by id, so that the model can ask for one
        lines = [f"{i}: {s}" for i, s in zip(self.ids, summaries, strict=True)]
        self.schema_tokens = np.array([counter.count(text) for text in self._texts])
        self.summary_tokens = np.array([counter.count(line) for line in lines])
        self._summaries = encoder.encode(summaries)
        self._query_vectors = encoder.encode([q.query for q in queries], query=True)
        self._writes = np.array([changes_something(tool) for tool in tools])
        self._servers = np.array([tool.server for tool in tools])

    @property
    def full(self) -> int:
        """Tokens of all schemas: baseline B1, every turn."""
        return int(self.schema_tokens.sum())

    @property
    def pool(self) -> int:
        """Tokens of all summaries with their ids: phase 1, every turn."""
        return int(self.summary_tokens.sum())

    @property
    def characters(self) -> tuple[int, int]:
        """Characters of all host texts, and of all descriptions."""
        described = sum(len(str(t.raw.get("description") or "")) for t in self.tools)
        return sum(map(len, self._texts)), described

    @cached_property
    def iso(self) -> "NDArray[np.float32]":
        """Cosine of every query and summary."""
        cosines: NDArray[np.float32] = self._query_vectors @ self._summaries.T
        return cosines

    @cached_property
    def schema_cosines(self) -> "NDArray[np.float32]":
        """Cosine of every query and full schema text (baseline B3); cut at the encoder's length."""
        cosines: NDArray[np.float32] = self._query_vectors @ self._encoder.encode(self._texts).T
        return cosines

    @cached_property
    def met(self) -> "NDArray[np.bool_]":
        """Per query, the tools whose preconditions hold: what writes needs its server's scope.

        The state of a task holds the write scopes of the servers that the task needs.
        """
        import numpy as np

        rows = []
        for query in self.queries:
            signed_in = {name.split("/")[0] for name in (*query.gold.tools, *query.gold.same)}
            rows.append(~self._writes | np.isin(self._servers, sorted(signed_in)))
        return np.array(rows)

    def gate(
        self,
        scores: Any = None,
        *,
        theta: float = PAPER_THETA,
        k: int = PAPER_K,
        state: bool = True,
    ) -> list[list[int]]:
        """Per query the active tools, best first: score >= theta, preconditions, top k."""
        import numpy as np

        used = self.iso if scores is None else scores
        chosen = []
        for row, met in zip(used, self.met, strict=True):
            order = np.argsort(-row, kind="stable")
            passing = [i for i in order if row[i] >= theta and (met[i] or not state)]
            chosen.append([int(i) for i in passing[:k]])
        return chosen

    def outcome(self, active: Sequence[Sequence[int]], *, pool: bool) -> Outcome:
        """What these active sets cost and find; `pool` says whether phase 1 is in the prompt."""
        pairs = list(zip(active, self.queries, strict=True))
        count = len(pairs)
        hits = [self._hits(chosen, query.gold) for chosen, query in pairs]
        filled = [(f, len(c)) for f, (c, _query) in zip(hits, pairs, strict=True) if c]
        return Outcome(
            phase1=float(self.pool) if pool else 0.0,
            phase2=sum(float(self.schema_tokens[c].sum()) for c, _ in pairs if c) / count,
            recall=100 * sum(f / len(a.gold.tools) for f, (_, a) in zip(hits, pairs, strict=True))
            / count,
            precision=100 * sum(f / n for f, n in filled) / len(filled) if filled else 0.0,
            active=sum(len(chosen) for chosen, _ in pairs) / count,
            empty=100 * sum(not chosen for chosen, _ in pairs) / count,
        )  # fmt: skip

    def _hits(self, active: Sequence[int], gold: Gold) -> int:
        names = {self.ids[i] for i in active}
        return len({gold.same.get(name, name) for name in names} & set(gold.tools))
