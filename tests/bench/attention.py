"""Tool Attention's two hooks as a library, for builders of agents (arXiv 2604.21816, 4.4 and A.4).

    attention = Attention(router, catalog, counter=counter(), on_event=journal)
    turn = attention.before_model("what is open in the payments repo?", state)
    answer = model(turn.messages(system, history))  # your loop, with turn.schemas as its tools
    refusal = attention.after_model(turn, answer.tool)
    if refusal:  # {"error": "tool_not_available", "available": [...]}: give it to the model
        ...

Both phases name a tool as `server__tool`, which every model's interface accepts. The pool of
summaries changes with the catalogue only, so it belongs into the prompt's stable prefix.
"""

import hashlib
import re
import time
import uuid
from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.catalog.catalog import Catalog, CatalogTool
from app.catalog.conditions import State
from app.ranking.gates import PRECONDITION
from app.ranking.ranked import Ranked
from app.ranking.router import Router
from app.ranking.text import query_hash
from app.tokens.counters import Counter
from store.records import EventRecord
from store.typed import Json, compact_json

NOT_AVAILABLE = "tool_not_available"
LOGGED = 20  # best candidates kept in an event
CONTEXT = 600  # characters of the newest observations that are embedded with the query
LONGEST_NAME = 64
POOL_HEAD = "Tools you can ask for:\n"
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one model call gets: the pool of all summaries, and the schemas promoted for it."""

    id: str
    query: str
    pool: str  # phase 1: a line a tool, its name first
    schemas: tuple[Json, ...]  # phase 2: name, description, input_schema; best first
    active: tuple[str, ...]  # tool ids (server/tool) of the schemas
    phase1_tokens: int
    phase2_tokens: int
    ms: float  # wall time of the decision
    ranked: Ranked

    @property
    def tokens(self) -> int:
        """Both phases."""
        return self.phase1_tokens + self.phase2_tokens

    def messages(self, system: str, history: Sequence[Json] = ()) -> list[Json]:
        """The two-phase layout: what is stable first, promoted schemas just before the query."""
        schemas = "\n".join(compact_json(schema) for schema in self.schemas)
        parts = [part for part in (schemas, self.query) if part]
        return [
            {"role": "system", "content": f"{system}\n\n{self.pool}"},
            *history,
            {"role": "user", "content": "\n\n".join(parts)},
        ]


class Attention:
    """Decides before each model call which schemas the model sees, and holds it to them after."""

    def __init__(
        self,
        router: Router,
        catalog: Catalog,
        *,
        counter: Counter,
        session: str = "",
        on_event: Callable[[EventRecord], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._router = router
        self._catalog = catalog
        self._counter = counter
        self._session = session or uuid.uuid4().hex
        self._on_event = on_event
        self._clock = clock
        self._rows = {row.tool.tool_id: row for row in catalog.shown}
        self._costs: dict[str, int] = {}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name under which a model calls a tool, by tool id; of tools that a host may get."""
        plain = [visible_name(tool_id) for tool_id in self._rows]
        times = Tally(plain)
        return {
            tool_id: name if times[name] == 1 else hashed(name, tool_id)
            for tool_id, name in zip(self._rows, plain, strict=True)
        }

    @cached_property
    def pool(self) -> str:
        """Phase 1: one line a tool, the same in every turn."""
        lines = [f"{self.names[id_]}: {row.summary}" for id_, row in self._rows.items()]
        return POOL_HEAD + "\n".join(lines)

    @cached_property
    def _pool_tokens(self) -> int:
        return self._counter.count(self.pool)

    def before_model(
        self, query: str, state: State | None = None, *, observations: Sequence[str] = ()
    ) -> Turn:
        """Rank, gate and promote for one model call.

        Call it again with what tools answered (newest last): the query is then embedded together
        with the newest observations, so that the next step's tool is found (paper, section 9).
        """
        pool, before = self._pool_tokens, time.perf_counter()
        ranked = self._router.route(with_context(query, observations), state=state)
        active = tuple(tool.tool_id for tool in ranked.shown if tool.tool_id in self._rows)
        turn = Turn(
            id=uuid.uuid4().hex,
            query=query,
            pool=self.pool,
            schemas=tuple(self._schema(tool_id) for tool_id in active),
            active=active,
            phase1_tokens=pool,
            phase2_tokens=sum(self._cost(tool_id) for tool_id in active),
            ms=(time.perf_counter() - before) * 1000,
            ranked=ranked,
        )
        self._tell("search", query=query, tokens=turn.tokens, ms=turn.ms, detail=decision(turn))
        return turn

    def after_model(self, active: Turn | Sequence[str], call: str | None) -> Json | None:
        """None when the model may call this tool (or calls none), else a structured refusal.

        `call` is a name as the model writes it, or a tool id.
        """
        if call is None:
            return None
        ids = active.active if isinstance(active, Turn) else tuple(active)
        known = {self.names.get(tool_id, visible_name(tool_id)): tool_id for tool_id in ids}
        tool_id = known.get(call) or (call if call in ids else "")
        turn_id = active.id if isinstance(active, Turn) else ""
        if tool_id:
            self._tell("call", tool=tool_id, detail={"turn_id": turn_id})
            return None
        self._tell("miss", tool=call, problem=NOT_AVAILABLE, detail={"turn_id": turn_id})
        return {"error": NOT_AVAILABLE, "available": list(known)}

    def _schema(self, tool_id: str) -> Json:
        row: CatalogTool = self._rows[tool_id]
        return {
            "name": self.names[tool_id],
            "description": row.tool.raw.get("description") or "",
            "input_schema": row.tool.raw.get("inputSchema") or {},
        }

    def _cost(self, tool_id: str) -> int:
        if tool_id not in self._costs:
            self._costs[tool_id] = self._counter.count(compact_json(self._schema(tool_id)))
        return self._costs[tool_id]

    def _tell(self, kind: str, **fields: Any) -> None:
        if self._on_event is None:
            return
        event = EventRecord(
            self._clock(),
            kind,
            profile=self._catalog.profile.name,
            session=self._session,
            **fields,
        )
        self._on_event(event)


def decision(turn: Turn) -> Json:
    """A turn as the paper's structured event (section 5.7); queries appear as a hash only."""
    best = turn.ranked.tools[:LOGGED]
    return {
        "turn_id": turn.id,
        "query_hash": query_hash(turn.query),
        "candidates": [tool.tool_id for tool in best],
        "scores": [round(tool.score, 4) for tool in best],
        "gated_out_by_state": [tool.tool_id for tool in best if tool.gate == PRECONDITION],
        "active_set": list(turn.active),
        "phase1_tokens": turn.phase1_tokens,
        "phase2_tokens": turn.phase2_tokens,
        "latency_ms": round(turn.ms, 3),
    }


def with_context(query: str, observations: Sequence[str]) -> str:
    """The query with the newest observations behind it, the newest first."""
    text, left = [query], CONTEXT
    for seen in reversed(observations):
        part = " ".join(seen.split())[:left]
        if not part:
            break
        text.append(part)
        left -= len(part)
    return "\n".join(text)


def visible_name(tool_id: str) -> str:
    """`server__tool` with other characters as _; a hash ends a name that would be too long."""
    server, _, tool = tool_id.partition("/")
    plain = f"{_OTHER.sub('_', server)}__{_OTHER.sub('_', tool)}"
    return plain if len(plain) <= LONGEST_NAME else hashed(plain, tool_id)


def hashed(plain: str, tool_id: str) -> str:
    """A name that is told apart by a hash of the tool id at its end."""
    mark = hashlib.sha256(tool_id.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[: LONGEST_NAME - 9]}_{mark}"
