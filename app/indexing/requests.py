"""Requests of tools: shipped, written by a model or by the user, checked before they count."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import apsw

from app.core.changes import Changes
from app.ranking.keyword import keyword_row
from app.ranking.requests import LONGEST, MOST, pack_key, read_pack, tool_text_hash
from app.safety.judgement import judge
from app.safety.texts import Passage
from store import requests, search
from store.connection import transaction
from store.records import RequestRecord, ToolRecord

PACK, MODEL, USER, LABEL = "pack", "model", "user", "label"
ORIGINS = {PACK: "from Toolcrib", MODEL: "from a model", USER: "yours", LABEL: "from labels"}


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that is not stored, and why."""

    text: str
    problem: str


def request_problem(text: str) -> str:
    """Reason that a request cannot be used, "" when it can; the safety rules are the tools' own.

    A suspicion of the classifier alone is no reason: it learned from descriptions, and a request
    is an order by nature. No request is ever given to a model.
    """
    if len(text) > LONGEST:
        return f"It is longer than {LONGEST} characters."
    worst = next(iter(judge([Passage("description", text)], orders=False)), None)
    return f"{worst.rule}: {worst.detail}" if worst is not None else ""


def offer_pack(
    db: apsw.Connection,
    rows: Sequence[ToolRecord],
    pack: Mapping[str, Sequence[str]] | None = None,
) -> set[int]:
    """Give these tools their shipped requests; the tools whose requests changed in any way.

    Runs inside the caller's transaction.
    """
    hashes = {tool.id: tool_text_hash(tool) for tool in rows if not tool.problem}
    if pack is None:
        pack = read_pack({pack_key(hash_) for hash_ in hashes.values()})
    shipped = [
        RequestRecord(0, tool_id, text, PACK, hash_)
        for tool_id, hash_ in hashes.items()
        for text in pack.get(pack_key(hash_), ())
    ]
    requests.add(db, shipped)
    return requests.mark_live(db, hashes)


def add(
    db: apsw.Connection, tool: ToolRecord, texts: Iterable[str], source: str
) -> tuple[list[RequestRecord], list[RefusedRequest]]:
    """Store the texts that pass, at most MOST, as a tool's live requests; the others say why."""
    hash_ = tool_text_hash(tool)
    plain = list(dict.fromkeys(" ".join(text.split()) for text in texts if text.strip()))
    problems = {text: request_problem(text) for text in plain[:MOST]}
    good = [
        RequestRecord(0, tool.id, text, source, hash_) for text, why in problems.items() if not why
    ]
    with transaction(db):
        requests.add(db, good)
        _changed(db, tool)
    return good, [RefusedRequest(text, why) for text, why in problems.items() if why]


def rows_of(db: apsw.Connection, tool_id: int) -> tuple[RequestRecord, ...]:
    """Every request of a tool, also those that do not count now, for edited() and put()."""
    return requests.of_tool(db, tool_id)


def edited(
    tool: ToolRecord, before: Sequence[RequestRecord], texts: Sequence[str]
) -> tuple[RequestRecord, ...]:
    """A tool's rows after the user made its live requests equal to these texts."""
    hash_ = tool_text_hash(tool)
    wanted = list(dict.fromkeys(" ".join(text.split()) for text in texts if text.strip()))
    rows = [
        replace(row, dropped=row.text not in wanted) if row.text_hash == hash_ else row
        for row in before
    ]
    there = {row.text for row in rows if row.text_hash == hash_}
    new = [RequestRecord(0, tool.id, t, USER, hash_) for t in wanted if t not in there]
    return (*rows, *new)


def put(db: apsw.Connection, tool: ToolRecord, rows: Sequence[RequestRecord]) -> Changes:
    """Make a tool's rows equal to these, for editing and for undoing it."""
    with transaction(db):
        requests.replace(db, tool.id, rows)
        _changed(db, tool)
    return Changes(tools=True)


def index_keywords(db: apsw.Connection, rows: Iterable[ToolRecord]) -> None:
    """Put the tools' texts and live requests into the keyword index."""
    usable = [tool for tool in rows if not tool.problem]
    live = requests.live(db, usable[0].id if len(usable) == 1 else None)
    texts = {id_: [request.text for request in records] for id_, records in live.items()}
    search.save_keywords(db, [keyword_row(tool, texts.get(tool.id, ())) for tool in usable])


def _changed(db: apsw.Connection, tool: ToolRecord) -> None:
    requests.mark_live(db, {tool.id: tool_text_hash(tool)})
    index_keywords(db, [tool])
