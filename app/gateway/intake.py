"""Tools that appeared after the scan: kept in the store, held or on as the profile says."""

import threading
import time
from collections.abc import Callable

import apsw

from app.gateway.protocol import Json
from store import serving
from store.connection import open_store, transaction
from store.errors import StoreError
from store.serving import ServerRow
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder

NEW = "new"


def take_in(
    database: str,
    row: ServerRow,
    items: list[Json],
    done: Callable[[list[str]], None],
    *,
    encoder: "Encoder | None" = None,
) -> None:
    """Compare a running server's list with the stored one, in a thread of its own.

    `done` gets the names that were added; tools that are missing stay, since a list may depend on
    who asks (STACK.md, fault 3). With an encoder at hand the new ones are embedded too.
    """
    given = (database, row, items, done, encoder)
    threading.Thread(target=_run, args=given, daemon=True).start()


def _run(
    database: str,
    row: ServerRow,
    items: list[Json],
    done: Callable[[list[str]], None],
    encoder: "Encoder | None",
) -> None:
    try:
        db = open_store(database)
        try:
            known = {name for id_, name in serving.tool_names(db) if id_ == row.id}
            fresh = _fresh(items, known)
            added = _save(db, row, fresh) if fresh else []
            if added and encoder is not None:
                _embed(db, row, added, encoder)
        finally:
            db.close()
    except StoreError:
        return  # the window's next scan will see them
    if added:
        done(added)


def _save(db: apsw.Connection, row: ServerRow, fresh: list[Json]) -> list[str]:
    """Store the new tools, searchable by words, checked, and held where the profile says so."""
    from app.routing.keyword import keyword_row
    from app.routing.summary import make_summary
    from app.safety import patterns
    from store import findings, profiles, tools
    from store.hashes import tool_hash
    from store.records import NewTool, Summary
    from store.search import save_keywords

    with transaction(db):
        kept = [NewTool(t.name, t.raw, t.hash, t.problem) for t in tools.tools(db, row.id)]
        known = {tool.name for tool in kept}
        new = [
            NewTool(str(item["name"]), item, tool_hash(item))
            for item in fresh
            if item["name"] not in known
        ]
        delta = tools.save_list(db, row.id, [*kept, *new], time.time())
        if row.read_at > 0:
            for profile in profiles.all_profiles(db):
                if profile.settings.get("new_tools") != "on":
                    profiles.set_held(db, profile.id, delta.added, NEW)
        every = tools.tools(db)
        added = [tool for tool in every if tool.id in delta.added]
        save_keywords(db, [keyword_row(tool) for tool in added])
        tools.save_summaries(db, [Summary(t.id, make_summary(t), "made", t.hash) for t in added])
        for tool in added:
            findings.save(db, tool.id, patterns.check(tool, every), tool.last_seen)
    return [tool.name for tool in added]


def _embed(db: apsw.Connection, row: ServerRow, names: list[str], encoder: "Encoder") -> None:
    from app.routing.dense import VIEW
    from app.routing.views import mixed, views_hash, views_of
    from store import tools, vectors
    from store.records import Vector

    summaries = tools.summaries(db)
    made = []
    for tool in tools.tools(db, row.id):
        if tool.name in names and tool.id in summaries:
            views = views_of(tool, summaries[tool.id])
            (data,) = mixed(encoder.encode, [views])
            made.append(Vector(tool.id, encoder.key, VIEW, views_hash(views), data))
    with transaction(db):
        vectors.save(db, made)


def _fresh(items: list[Json], known: set[str]) -> list[Json]:
    """The usable tools of a list that the store does not hold, each name once."""
    found: dict[str, Json] = {}
    for item in items:
        name, usable = item.get("name"), isinstance(item.get("inputSchema"), dict)
        if isinstance(name, str) and name and name not in known and usable:
            found.setdefault(name, item)
    return list(found.values())
