"""From tools to rows, the same way after a scan and from a running server behind the gateway."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import apsw

from app.catalog.reasons import NEW
from app.catalog.server_findings import findings_of
from app.core.context import AppContext
from app.core.scrubber import Scrubber
from app.core.settings import ProfileSettings
from app.indexing.findings import TextJudge, findings_of_tools
from app.indexing.indexer import Indexer
from app.indexing.list_changes import ListChanges
from app.indexing.reading import Limits, Reading
from app.indexing.tool_checks import check_tools
from app.safety import pins
from app.safety.patterns import Names
from app.safety.server_texts import judge_server
from store import findings, market, profiles, servers, tools
from store.connection import transaction
from store.hashes import canonical_text
from store.records import Finding, NewTool, ServerRecord, ToolDelta, ToolRecord

Judged = Mapping[str, Sequence[Finding]]  # by the hash of the text


def text_judge(db: apsw.Connection, server_id: int, new: Sequence[NewTool]) -> TextJudge | None:
    """The judge of texts that are to be stored, None for a server that is forgotten."""
    server = servers.by_id(db, server_id)
    return TextJudge(server, new, tools.tools(db)) if server is not None else None


def save_reading(
    db: apsw.Connection, server_id: int, reading: Reading, judged: Judged, *, at: float
) -> ToolDelta:
    """Store what came of reading a server; a failure leaves the tools known before alone.

    `judged` is what `text_judge` made of its tools: no text is in the store without its findings.
    """
    before = servers.by_id(db, server_id)
    if before is None:  # forgotten while it was read
        return ToolDelta()
    servers.set_status(db, server_id, reading.status, reading.problem, reading.stderr)
    if not reading.read:
        return ToolDelta()
    texts = judge_server(reading, findings_of(before))
    servers.save_reading(db, server_id, reading, texts=texts, at=at)
    return _save_tools(db, before, reading.tools, judged, at)


def ingest(
    ctx: AppContext,
    db: apsw.Connection,
    server_id: int,
    entries: Iterable[Any],
    *,
    scrubber: Scrubber,
) -> ListChanges:
    """Store the tools that a running server lists: entries of tools/list as sent, in its order.

    New and changed tools are judged, stored, counted and summarised as after a scan.
    Tools that are missing stay, since a list may depend on the user. Raises StoreError.
    """
    live = check_tools(entries, Limits.of(ctx.settings), scrubber)
    judge = text_judge(db, server_id, live)
    if judge is None:
        return ListChanges()
    judge.run()
    with transaction(db):
        server = servers.by_id(db, server_id)
        if server is None:
            return ListChanges()
        merged = _merged(tools.tools(db, server_id), live)
        delta = _save_tools(db, server, merged, judge.judged, ctx.clock())
    Indexer(ctx, db).texts(server_id)  # also what a process that was killed had left
    return _changes(tools.tools(db, server_id), delta)


def _save_tools(
    db: apsw.Connection, server: ServerRecord, new: Sequence[NewTool], judged: Judged, at: float
) -> ToolDelta:
    """Make the server's tools these; what a known server did not have before may be held."""
    delta = tools.save_list(db, server.id, new, at)
    _save_findings(db, server.id, {*delta.added, *delta.changed}, judged)
    if server.read_at:
        _hold_new(db, delta.added)
    elif server.id in market.installs(db):  # out of a list: its tools wait for Review
        _hold(db, delta.added)
    return delta


def _save_findings(
    db: apsw.Connection, server_id: int, tool_ids: Collection[int], judged: Judged
) -> None:
    """Save findings in the transaction that stores the texts: no reader sees a text unjudged."""
    if not tool_ids:
        return
    rows = [tool for tool in tools.tools(db, server_id) if tool.id in tool_ids]
    # a text that came back is stored as it was, and so is none of those that were judged
    others = [tool for tool in rows if tool.hash not in judged]
    late = findings_of_tools(others, Names.of(tools.tools(db))) if others else {}
    for tool in rows:
        known = late[tool.id] if tool.id in late else (*judged[tool.hash], *pins.check(tool))
        findings.save(db, tool.id, known, tool.last_seen)


def _hold_new(db: apsw.Connection, tool_ids: Sequence[int]) -> None:
    """Hold tools in every profile that does not take new ones at once."""
    for profile in profiles.all_profiles(db) if tool_ids else ():
        if ProfileSettings.from_json(profile.settings).new_tools != "on":
            profiles.set_held(db, profile.id, tool_ids, NEW)


def _hold(db: apsw.Connection, tool_ids: Sequence[int]) -> None:
    """Hold tools in every profile, whatever it does with new ones."""
    for profile in profiles.all_profiles(db) if tool_ids else ():
        profiles.set_held(db, profile.id, tool_ids, NEW)


def _merged(stored: Sequence[ToolRecord], live: Sequence[NewTool]) -> list[NewTool]:
    """The stored tools in their order, as the server defines them now, then the new ones."""
    fresh = dict(_with_twins(live))
    kept = []
    known = [NewTool(tool.name, tool.raw, tool.hash, tool.problem) for tool in stored]
    for key, tool in _with_twins(known):
        now = fresh.pop(key, tool)
        kept.append(tool if canonical_text(now.raw) == canonical_text(tool.raw) else now)
    return [*kept, *fresh.values()]


def _with_twins(rows: Sequence[NewTool]) -> list[tuple[tuple[str, int], NewTool]]:
    """Each tool under its name and how many before it have the same."""
    counts: Counter[str] = Counter()
    keyed = []
    for row in rows:
        keyed.append(((row.name, counts[row.name]), row))
        counts[row.name] += 1
    return keyed


def _changes(stored: Sequence[ToolRecord], delta: ToolDelta) -> ListChanges:
    rows = {tool.id: tool for tool in stored}
    return ListChanges(
        added=[rows[id_].name for id_ in delta.added],
        changed=[rows[id_].name for id_ in delta.changed],
        unusable=[rows[i].name for i in (*delta.added, *delta.changed) if rows[i].problem],
    )
