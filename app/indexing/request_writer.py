"""Letting a model write requests for many tools: in batches, each kept as it comes, checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.settings import Settings
from app.core.text import plural
from app.indexing import requests as editing
from app.indexing.summaries import encode
from app.ranking.rewrite import (
    BATCH,
    AnswerStoppedError,
    Model,
    model_of,
    question,
    read_answer,
)
from store import requests
from store.records import ToolRecord

# R@5 of `bench raw`'s kept half where half of the tools have requests, by the first gold tool
FOUND_WITHOUT, FOUND_WITH = 72, 94


@dataclass(slots=True)
class WriterResult:
    """Result of a run."""

    tools: int = 0  # that have requests of this run
    requests: int = 0
    refused: list[tuple[str, editing.RefusedRequest]] = field(default_factory=list)  # by tool id
    unanswered: list[str] = field(default_factory=list)  # tool ids
    stopped: bool = False

    @property
    def sentence(self) -> str:
        """Result in one line."""
        parts = [
            f"{'Stopped. ' if self.stopped else ''}{plural(self.requests, 'request')} for"
            f" {plural(self.tools, 'tool')}."
        ]
        if self.refused:
            parts.append(f"{plural(len(self.refused), 'text')} refused by the safety rules.")
        if self.unanswered:
            parts.append(f"No usable answer for {plural(len(self.unanswered), 'tool')}.")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class MissingRequests:
    """The tools without requests, of so many; of those held back nothing is sent."""

    tools: tuple[ToolRecord, ...]
    total: int
    held: int

    @property
    def sentence(self) -> str:
        """Their number, and the cost of that for the search as measured."""
        return (
            f"{len(self.tools):,} of {plural(self.total, 'tool')} have no example requests. In our"
            f" tests the right tool was among the first five for {FOUND_WITHOUT} of 100 queries"
            f" where it had none, and for {FOUND_WITH} where it had some."
        )

    @property
    def held_sentence(self) -> str:
        """Sentence on the tools that are not sent; "" where none is held."""
        count = plural(self.held, "tool")
        return f"Nothing is sent of {count} held back in Review." if self.held else ""


def find_missing_requests(db: apsw.Connection, profile: str = "default") -> MissingRequests:
    """The tools of a profile that have no request."""
    rows = [row for row in load_catalog(db, profile).tools if not row.tool.gone]
    return MissingRequests(
        lacking(db, [row.tool for row in rows if not row.held]),
        len(rows),
        sum(bool(row.held) for row in rows),
    )


def lacking(db: apsw.Connection, tools: Sequence[ToolRecord]) -> tuple[ToolRecord, ...]:
    """The tools that have no request at all, of those that can be searched."""
    live = requests.live(db)
    return tuple(tool for tool in tools if not tool.problem and not live.get(tool.id))


def chosen_model(settings: Settings, environ: Mapping[str, str]) -> Model:
    """The model that the user chose for servers read later; ToolcribError where it lacks a part."""
    return model_of(
        settings.requests_command,
        url=settings.requests_url,
        name=settings.requests_model,
        key_env=settings.requests_key_env,
        environ=environ,
    )


def write_and_encode(
    ctx: AppContext,
    tools: Sequence[ToolRecord],
    model: Model,
    *,
    progress: Callable[[int], None],
    keep_going: Callable[[], bool] = lambda: True,
) -> WriterResult:
    """Write requests over a connection of its own, then make their vectors."""
    try:
        with ctx.store() as db:
            return write_requests(db, tools, model, progress=progress, keep_going=keep_going)
    finally:
        encode(ctx)


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
        batch = tools[start : start + BATCH]
        try:
            if not keep_going():
                raise AnswerStoppedError
            answer = model.answer(question(batch), lambda: not keep_going())
        except AnswerStoppedError:
            written.stopped = True
            break
        answers = read_answer(answer, len(batch))
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
