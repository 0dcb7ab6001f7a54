"""Letting a model write requests for many tools: in batches, each kept as it comes, checked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import apsw

from app.indexing import requests as editing
from app.ranking.rewrite import BATCH, Model, question, read_answer
from store import requests
from store.records import ToolRecord


@dataclass(slots=True)
class WriterResult:
    """Result of a run."""

    tools: int = 0  # that have requests of this run
    requests: int = 0
    refused: list[tuple[str, editing.RefusedRequest]] = field(default_factory=list)  # by tool id
    unanswered: list[str] = field(default_factory=list)  # tool ids
    stopped: bool = False


def without_model_requests(
    db: apsw.Connection, tools: Sequence[ToolRecord]
) -> tuple[ToolRecord, ...]:
    """The tools that no model wrote requests for yet: where an earlier run goes on."""
    live = requests.live(db)
    return tuple(
        tool
        for tool in tools
        if not tool.problem and all(row.source != editing.MODEL for row in live.get(tool.id, ()))
    )


def write_requests(
    db: apsw.Connection,
    tools: Sequence[ToolRecord],
    model: Model,
    *,
    progress: Callable[[int], None] = lambda _done: None,
    keep_going: Callable[[], bool] = lambda: True,
) -> WriterResult:
    """Ask the model batch by batch; what came before a stop or an error stays.

    Call it only after the user agreed to what `model.place` gets. Raises ToolcribError when the
    model cannot be used at all.
    """
    written = WriterResult()
    for start in range(0, len(tools), BATCH):
        if not keep_going():
            written.stopped = True
            break
        batch = tools[start : start + BATCH]
        answers = read_answer(model.answer(question(batch)), len(batch))
        for tool, texts in zip(batch, answers, strict=True):
            _keep(db, tool, texts, written)
        progress(start + len(batch))
    return written


def _keep(
    db: apsw.Connection, tool: ToolRecord, texts: Sequence[str], written: WriterResult
) -> None:
    good, refused = editing.add(db, tool, texts, editing.MODEL)
    written.refused += [(tool.tool_id, one) for one in refused]
    if good:
        written.tools += 1
        written.requests += len(good)
    elif not refused:
        written.unanswered.append(tool.tool_id)


def forget(db: apsw.Connection, tools: Sequence[ToolRecord], source: str) -> int:
    """Delete what came from one source for these tools; how many requests."""
    count = 0
    for tool in tools:
        before = requests.of_tool(db, tool.id)
        rows = tuple(row for row in before if row.source != source)
        if len(rows) < len(before):
            editing.put(db, tool, rows)
            count += len(before) - len(rows)
    return count
