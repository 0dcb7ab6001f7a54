"""A sync: the pages of one source into the store, each with its cursor in one transaction.

What was stored stays whatever happens then; a sync that was cut off goes on from its cursor. The
first one lists everything; later ones ask for what changed since, so that deletions are learned.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.market import sources
from app.market.client import Client, ForgottenError, Limits, SourceError
from app.market.entry import DELETED, Entry, EntryError, read_item
from app.market.records import row_of
from store import market
from store.connection import transaction
from store.market import MarketServer, MarketSource

_OVERLAP = timedelta(hours=1)  # clocks differ, and pages are written while they are read
_MOST_PROBLEMS = 20  # sentences that are kept


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sync."""

    pages: int = 0
    servers: int = 0  # stored
    removed: int = 0
    left_out: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Synced:
    """The outcome of one sync."""

    source: MarketSource
    progress: Progress
    full: bool
    problems: tuple[str, ...] = ()  # of entries that were left out


OnProgress = Callable[[Progress], object]


def sync(
    ctx: AppContext,
    db: apsw.Connection,
    source: MarketSource,
    *,
    full: bool = False,
    on_progress: OnProgress = lambda _progress: None,
    cancelled: Callable[[], bool] = lambda: False,
    limits: Limits | None = None,
) -> Synced:
    """Fetch what a source lists; raises ToolcribError, with what was fetched by then stored."""
    source = sources.stored(db, source)
    client = sources.client(ctx, source, limits)
    client.cancelled = cancelled
    work = _Sync(db, client, on_progress)
    try:
        return work.run(source, full=full, now=ctx.clock)
    except SourceError as error:
        with transaction(db):
            market.set_problem(db, source.id, error.title)
        raise
    finally:
        client.close()


class _Sync:
    """One run over the pages of a source."""

    def __init__(self, db: apsw.Connection, client: Client, on_progress: OnProgress) -> None:
        self._db = db
        self._client = client
        self._report = on_progress
        self._done = Progress()
        self._problems: list[str] = []

    def run(self, source: MarketSource, *, full: bool, now: Callable[[], float]) -> Synced:
        source = self._begun(source, full=full)
        cursor, seen = source.cursor, {source.cursor}
        while True:
            try:
                page = self._client.page(cursor, source.since)
            except ForgottenError:
                if not cursor:
                    raise
                cursor, seen = "", {""}  # an old cursor: from the beginning, once
                page = self._client.page("", source.since)
            self._store(source, page.items, page.cursor)
            if not page.cursor:
                break
            if page.cursor in seen:
                raise SourceError(
                    f"{source.name} sends the same page again and again.",
                    "What was fetched before is kept. Remove the source if you do not trust it.",
                )
            cursor = page.cursor
            seen.add(cursor)
        with transaction(self._db):
            gone = market.end_sync(self._db, source, now())
        self._done = replace(self._done, removed=self._done.removed + gone)
        self._report(self._done)
        known = sources.named(self._db, source.name)
        return Synced(known, self._done, not source.since, tuple(self._problems))

    def _begun(self, source: MarketSource, *, full: bool) -> MarketSource:
        """The source as this run continues or begins it."""
        if source.cursor and not full:
            return source
        full = full or sources.passes_on(self._db, source)  # it says nothing of what has gone
        since = "" if full or not source.synced_at else earlier(source.newest)
        with transaction(self._db):
            market.begin_sync(self._db, source.id, since)
        return sources.named(self._db, source.name)

    def _store(self, source: MarketSource, items: tuple[object, ...], cursor: str) -> None:
        rows: dict[str, MarketServer] = {}
        gone: set[str] = set()
        newest = ""
        for item in items:
            try:
                entry = read_item(item)
                newest = max(newest, entry.updated_at if is_time(entry.updated_at) else "")
                if not entry.latest:
                    continue
                if entry.status == DELETED:
                    gone.add(entry.name)
                    rows.pop(entry.name, None)
                else:
                    gone.discard(entry.name)
                    rows[entry.name] = row_of(entry)
            except EntryError as error:
                self._leave_out(error)
        with transaction(self._db):
            market.save(self._db, source, rows.values())
            removed = market.drop(self._db, source.id, gone)
            market.note_page(self._db, source.id, cursor, newest)
        self._done = replace(
            self._done,
            pages=self._done.pages + 1,
            servers=self._done.servers + len(rows),
            removed=self._done.removed + removed,
            bytes=self._client.received,
        )
        self._report(self._done)

    def _leave_out(self, error: ToolcribError) -> None:
        self._done = replace(self._done, left_out=self._done.left_out + 1)
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(error.title)


def is_time(text: str) -> bool:
    """True if a text is a time of this century up to tomorrow: a list may claim any."""
    time = _time(text)
    return time is not None and time < datetime.now(UTC) + timedelta(days=1)


def earlier(newest: str) -> str:
    """An hour before a time, RFC 3339; "" for what is no time."""
    time = _time(newest)
    return "" if time is None else (time - _OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time.astimezone(UTC) if time.year > 2000 else None


def newest_version(client: Client, entry: Entry, version: str) -> Entry:
    """A version of an entry as its source has it now; ToolcribError where it is gone."""
    wanted = version or "latest"
    try:
        now = read_item(client.version(entry.name, wanted))
    except ForgottenError as error:
        raise ToolcribError(
            f"{entry.name} {version} is no longer listed.".replace("  ", " "),
            "Nothing was added. Sync the source and look again: toolcrib registry sync",
        ) from error
    if now.name != entry.name:
        raise ToolcribError(
            f"{entry.name} was asked for, and the source sent {now.name}.", "Nothing was added."
        )
    if now.status == DELETED:
        raise ToolcribError(
            f"{entry.name} was deleted from its registry.",
            f"Nothing was added. {now.status_message}".strip(),
        )
    return now
