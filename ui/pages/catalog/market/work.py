"""Searching, fetching and adding listed servers, as work for other threads; no widgets here."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from app.catalog.catalog import load_catalog
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from app.core.text import plural
from app.encoder.weights import ready_model
from app.market.details import Details, details
from app.market.index import MarketSearches, ServerHit, listed_of, prepare
from app.market.launch import Choice, best, can_be_added, choices, launch_of, runtimes
from app.market.records import entry_of
from app.market.seed import take_seed
from app.market.sources import trusts_private
from store import market
from ui.pages.catalog.server_work import Discovery, discovered
from ui.shell.tasks import Job

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder

_MOST = 200  # servers that filters are applied to
_SHOWN = 60
ANY = ""
YEAR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search with its filters; "" and 0 are none."""

    query: str = ""
    kind: str = ANY  # npm | pypi | oci | mcpb | remote
    starts_here: bool = False  # by a program that this machine has
    without_secrets: bool = False
    most_tokens: int = 0  # and known
    licence: bool = False  # stated
    recent: bool = False  # updated within a year


@dataclass(frozen=True, slots=True)
class Row:
    """A listed server as the list shows it."""

    id: int
    name: str
    title: str
    about: str  # fitting tools, else the description
    tools: int
    tokens: int
    state: str  # installed | deprecated | listed only | ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A search's rows, and how it was searched."""

    rows: tuple[Row, ...]
    servers: int
    words_only: bool
    unprepared: int


class Finder:
    """Searches on the store thread; `encoder` joins in once it is loaded."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._searches = MarketSearches()
        self.encoder: Encoder | None = None

    def search(self, db: Db, wanted: Wanted) -> Answer:
        """The servers that fit, best first; those updated last where nothing is typed."""
        take_seed(db, self._ctx.clock)
        result = self._searches.over(db, self.encoder).find(wanted.query, _MOST)
        trusted = {one.id for one in market.sources(db) if trusts_private(db, one)}
        rows = (
            _row(db, hit, private=private)
            for hit in result.hits
            for private in (hit.server.source_id in trusted,)
            if fits(db, hit, wanted, private=private)
        )
        shown = tuple(islice(rows, _SHOWN))
        return Answer(shown, result.servers, result.words_only, result.unprepared)

    def prepare(self, job: Job) -> int:
        """Load the encoder and encode what lacks a vector; reports how far it is."""
        from app.encoder.onnx import Encoder  # not needed for the window's start

        files = ready_model(self._ctx.paths, self._ctx.settings.model)
        if files is None:
            return 0
        self.encoder = self.encoder or Encoder.shared(self._ctx, files)
        with self._ctx.store() as db:
            take_seed(db, self._ctx.clock)
            stop = job.cancelled.is_set
            return prepare(db, self.encoder, on_progress=job.report, cancelled=stop)


def fits(db: Db, hit: ServerHit, wanted: Wanted, *, private: bool) -> bool:
    """True if a server passes the filters; `private` as for choices()."""
    entry = entry_of(hit.server)
    ways = [way for way in choices(entry, private=private) if not way.problem]
    if wanted.kind:
        ways = [way for way in ways if way.kind == wanted.kind]
    if wanted.starts_here:
        here = runtimes()
        ways = [way for way in ways if way.package is None or way.runtime in here]
    if wanted.without_secrets:
        ways = [way for way in ways if not way.secrets]
    if (wanted.kind or wanted.starts_here or wanted.without_secrets) and not ways:
        return False
    if wanted.most_tokens:
        tokens = listed_of(db, hit).tokens
        if not tokens or tokens > wanted.most_tokens:
            return False
    if wanted.licence and not entry.licence:
        return False
    return not wanted.recent or _is_recent(entry.updated_at)


def _is_recent(text: str) -> bool:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return False
    return time.replace(tzinfo=time.tzinfo or UTC) > datetime.now(UTC) - YEAR


def _row(db: Db, hit: ServerHit, *, private: bool) -> Row:
    entry = entry_of(hit.server)
    known = listed_of(db, hit)
    tools = ", ".join(tool.name for tool in hit.tools[:4])
    status = entry.status.replace("active", "")
    if not status and not can_be_added(entry, private=private):
        status = "listed only"
    return Row(
        id=hit.server.id,
        name=entry.name,
        title=entry.title or entry.name.rpartition("/")[2],
        about=tools or entry.description.removeprefix("Tools: "),  # the column says it
        tools=hit.known_tools,
        tokens=known.tokens,
        state="installed" if known.installed else status,
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """One listed server in full, and the way that is proposed to have it."""

    details: Details
    proposed: int | None
    reason: str
    team: str = ""  # whose profile is in view


def show(ctx: AppContext, db: Db, server_id: int, profile: int = 0) -> Shown:
    """Everything that is known of a listed server before it is installed."""
    from store import market, teams

    listed = market.by_ids(db, [server_id]).get(server_id)
    if listed is None:
        raise ToolcribError("That server is no longer listed.", "Search again.")
    known = details(db, listed, load_catalog(db, encoding=ctx.settings.encoding))
    proposed, reason = best(known.ways, runtimes())
    team = teams.current(db) if profile in teams.profiles(db) else None
    number = proposed.number if proposed else None
    return Shown(known, number, reason, team.organisation if team is not None else "")


class MoreValuesError(ToolcribError):
    """A bundle whose manifest asks for values that the entry does not name."""

    def __init__(self, choice: Choice) -> None:
        wanted = ", ".join(field.key for field in choice.fields if field.wanted)
        super().__init__(f"The bundle needs values: {wanted}.", "Fill them in, and add it again.")
        self.choice = choice


def install(
    ctx: AppContext, known: Details, choice: Choice, values: Mapping[str, str], query: str = ""
) -> Discovery:
    """Register a listed server as its source has it now; starts nothing. Raises ToolcribError."""
    from app.registry import installing

    private = bool(known.source.private)
    if choice.kind != "mcpb":
        launch_of(known.entry, choice, values, private=private)  # before anybody is asked
    entry = installing.current(ctx, known)
    now = next(way for way in choices(entry, private=private) if way.number == choice.number)
    now = installing.ready(ctx, entry, now, private=private)
    if any(field.wanted and not values.get(field.key) for field in now.fields):
        raise MoreValuesError(now)
    launch = launch_of(entry, now, values, private=private)
    with ctx.store() as db:
        done = installing.install(
            ctx, db, entry, now, launch, source=known.source, values=values, query=query
        )
        return discovered(ctx, db, done.registered)


@dataclass(frozen=True, slots=True)
class SyncState:
    """A line about the lists."""

    text: str
    stopped: bool = False


def sync_all(ctx: AppContext, job: Job, only: str = "") -> SyncState:
    """Fetch every source's list, or that of one URL; reports a line now and then."""
    from app.market import sources
    from app.market.client import CancelledError
    from app.market.sync import Progress, sync

    db = ctx.open_store()
    servers, failed = 0, []
    try:
        for source in sources.all_sources(db):
            if only not in ("", source.url):
                continue

            def report(now: Progress, name: str = source.name) -> None:
                job.report(f"{name}: {now.servers:,} servers")

            try:
                stop = job.cancelled.is_set
                done = sync(ctx, db, source, on_progress=report, cancelled=stop)
                servers += done.progress.servers
            except CancelledError:
                return SyncState("Stopped. The next fetch continues from here.", stopped=True)
            except ToolcribError as error:
                failed.append(error)
    finally:
        db.close()
    if failed:
        raise _with_number(failed[0], servers)
    return SyncState(f"New or changed: {plural(servers, 'server')}.")


def _with_number(error: ToolcribError, servers: int) -> ToolcribError:
    """The error, with what was fetched all the same."""
    more = f" {servers:,} servers came from the other lists." if servers else ""
    return ToolcribError(f"{error.title}{more}", error.hint)
