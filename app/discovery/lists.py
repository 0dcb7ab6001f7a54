"""Lists of a server, page by page, within limits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from store.records import Json

Ask = Callable[[str, Json], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Listed:
    """The entries of a list, and why it is not the whole list ("" when it is)."""

    entries: tuple[Any, ...]
    note: str = ""


async def read_list(ask: Ask, method: str, key: str, *, most: int) -> Listed:
    """Every page of a list; stops at `most` entries and at a cursor that comes again.

    Raises ValueError when an answer holds no list.
    """
    entries: list[Any] = []
    cursor: Any = None
    cursors: set[str] = set()
    while True:
        answer = await ask(method, {} if cursor is None else {"cursor": cursor})
        page = answer.get(key)
        if not isinstance(page, list):
            raise ValueError(f"its answer to {method} holds no list")
        entries += page
        cursor = answer.get("nextCursor")
        if cursor is None or cursor == "":
            return Listed(tuple(entries))
        if repr(cursor) in cursors:
            return Listed(tuple(entries), f"{method} goes round in circles; it was read once.")
        cursors.add(repr(cursor))
        if len(entries) > most or len(cursors) > most:
            note = f"{method} has more than {most:,} entries; the rest was left out."
            return Listed(tuple(entries[:most]), note)
