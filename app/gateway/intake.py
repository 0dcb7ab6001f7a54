"""Tools that appeared after the scan: kept in the store, held or on as the profile says."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from app.errors import ToolcribError
from app.gateway.protocol import Json
from store.errors import StoreError
from store.serving import ServerRow

NEW = "new"


def take_in(
    database: str, row: ServerRow, items: list[Json], done: Callable[[list[str]], None]
) -> None:
    """Compare a running server's list with the stored one, in a thread of its own.

    `done` gets the names that were added; tools that are missing stay, since a list may depend on
    who asks (STACK.md, fault 3).
    """
    threading.Thread(target=_run, args=(database, row, items, done), daemon=True).start()


def _run(
    database: str, row: ServerRow, items: list[Json], done: Callable[[list[str]], None]
) -> None:
    try:
        added = _save(database, row, items)
    except (StoreError, ToolcribError):
        return  # the window's next scan will see them
    if added:
        done(added)


def _save(database: str, row: ServerRow, items: list[Json]) -> list[str]:
    from app.routing.keyword import keyword_row
    from app.routing.summary import make_summary
    from store import profiles, tools
    from store.connection import open_store, transaction
    from store.hashes import tool_hash
    from store.records import NewTool, Summary
    from store.search import save_keywords

    db = open_store(Path(database))
    try:
        with transaction(db):
            known = tools.tools(db, row.id)
            fresh = _fresh(items, {tool.name for tool in known})
            if not fresh:
                return []
            kept = [NewTool(t.name, t.raw, t.hash, t.problem) for t in known]
            new = [NewTool(str(item["name"]), item, tool_hash(item)) for item in fresh]
            delta = tools.save_list(db, row.id, [*kept, *new], time.time())
            if row.read_at > 0:
                for profile in profiles.all_profiles(db):
                    if profile.settings.get("new_tools") != "on":
                        profiles.set_held(db, profile.id, delta.added, NEW)
            added = [tool for tool in tools.tools(db, row.id) if tool.id in delta.added]
            save_keywords(db, [keyword_row(tool) for tool in added])
            tools.save_summaries(
                db, [Summary(t.id, make_summary(t), "made", t.hash) for t in added]
            )
        return [tool.name for tool in added]
    finally:
        db.close()


def _fresh(items: list[Json], known: set[str]) -> list[Json]:
    """The usable tools of a list that the store does not hold, each name once."""
    found: dict[str, Json] = {}
    for item in items:
        name, usable = item.get("name"), isinstance(item.get("inputSchema"), dict)
        if isinstance(name, str) and name and name not in known and usable:
            found.setdefault(name, item)
    return list(found.values())
