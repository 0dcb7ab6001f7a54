"""Servers and tools of a profile that the gateway serves, read from the store, always current."""

import os
import threading
import time
from collections.abc import Callable, Sequence

import apsw

from app.catalog.reasons import PROJECT
from store import serving
from store.connection import data_version, open_store
from store.errors import StoreError
from store.files import stamp
from store.serving import ServerRow, ToolRow
from store.typed import TYPE_CHECKING, Any, Json

if TYPE_CHECKING:
    from app.gateway.project import ProjectRules
    from app.policy.policy_file import Policy

_LOOK_SECONDS = 0.25  # how old an answer may be after the window changed something
_OPEN_MS = 400  # how long the start waits for a locked file


class UnavailableError(Exception):
    """The catalogue cannot be served; the text says why and what to do."""


class ProfileView:
    """One profile of the store; usable from any thread."""

    def __init__(
        self,
        database: str,
        profile: str,
        behind: Sequence[str] | None = None,
        *,
        problem: str = "",
        rules: "ProjectRules | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`behind`: the servers that may be served, None for all of the profile's; `problem`: why
        there is no database that could be opened, "" where there may be one; `rules`: the policy of
        the project that the host works in.
        """
        self.database = database
        self._problem = problem
        self.profile_name = profile
        self._behind = behind  # as the host's entry named them when it started this gateway
        self._files: list[str] | None = None  # whose entry it may be
        self.dropped: frozenset[str] = frozenset()  # names of those that it no longer reaches
        self._rules = rules
        self._clock = clock
        self._lock = threading.RLock()
        self._db: apsw.Connection | None = None
        self._version = -1
        self._state: tuple[object, ...] = ()
        self._looked = float("-inf")
        self._file = ""  # policy.toml of the profile
        self._stamp = (0.0, 0)
        self._cache: dict[tuple[int, str], ToolRow | None] = {}
        self._tokens: dict[int, int] = {}
        self._hints: tuple[int, dict[int, str]] = (-1, {})  # of which version of the store
        self.profile_id = 0
        self.settings: Json = {}
        self.servers: dict[str, ServerRow] = {}
        self.generation = 0  # grows when something changed

    def open(self) -> None:
        """Read the profile; raises UnavailableError."""
        with self._lock:
            self._db = self._connect()
            self._load(self._db)

    def _connect(self) -> apsw.Connection:
        if self._problem:
            raise UnavailableError(self._problem)
        if not os.path.exists(self.database):
            raise UnavailableError(
                "Toolcrib's database does not exist yet. Open Toolcrib and read the servers once."
            )
        try:
            return open_store(self.database, timeout_ms=_OPEN_MS)
        except StoreError as error:
            raise UnavailableError(error.text) from error

    def _load(self, db: apsw.Connection) -> None:
        try:
            self._follow_file(db)
            if self._rules is not None:
                self._rules.look()
            with db:  # one moment of the store: what changes meanwhile is seen at the next look
                self._read(db)
        except apsw.Error as error:
            raise UnavailableError(f"Toolcrib's database cannot be read: {error}.") from error
        # not cleared: another thread may be putting an older value into the one that it holds
        self._cache, self._tokens = {}, {}
        self.generation += 1

    def _read(self, db: apsw.Connection) -> None:
        record = serving.profile(db, self.profile_name)
        if record is None:
            raise UnavailableError(
                f"Toolcrib has no profile called {self.profile_name}. Export the host's file again."
            )
        self.profile_id, settings = record
        if settings is None:
            raise UnavailableError(
                f"What is stored of the profile {self.profile_name} is damaged."
                " Run: toolcrib doctor --repair"
            )
        self.settings = settings
        if self._rules is not None:
            self.settings = self._rules.settings(self.settings)
        chosen = self.settings.get("servers")
        reached, rows = self._reached(db), serving.server_rows(db)
        self.servers = {
            row.name: row
            for row in rows
            if (chosen is None or row.name in chosen) and (reached is None or row.id in reached)
        }
        self.dropped = self._no_more(db, rows, reached or set())
        self._version = data_version(db)
        self._state = (*serving.state(db, self.profile_id), reached)

    def _reached(self, db: apsw.Connection) -> set[int] | None:
        """Ids of the servers that may be served: the host's file may be written while it runs.

        Where several files have named the same servers, the session may be any one's: a server
        is lost where none of them names it any more, and gained where all of them do.
        """
        if self._behind is None:
            return None
        if self._files is None:
            past = serving.past_entries(db, self.profile_name).items()
            self._files = [file for file, sets in past if tuple(sorted(self._behind)) in sets]
        entries = serving.entries_of(db, self.profile_name)
        mine = serving.server_ids(db, self._behind)
        now = [serving.server_ids(db, entries.get(file, self._behind)) for file in self._files]
        return mine.intersection(set().union(*now)) | set.intersection(*now) if now else mine

    def _no_more(
        self, db: apsw.Connection, rows: Sequence[ServerRow], reached: set[int]
    ) -> frozenset[str]:
        """Servers that the entry named and that are reached no more: its names, and today's."""
        if not serving.server_ids(db, self._behind or ()) - reached:
            return frozenset()  # as nearly always
        ids = {name: serving.server_ids(db, [name]) for name in self._behind or ()}
        lost = set().union(*ids.values()) - reached
        named = (name for name, own in ids.items() if own and own <= lost)
        return frozenset((*named, *(row.name for row in rows if row.id in lost)))

    def _follow_file(self, db: apsw.Connection) -> None:
        """Take in the policy file of the profile where it has one and that changed."""
        from store import policies

        path = policies.path_of_profile(db, self.profile_name)
        self._file, self._stamp = path, stamp(path) if path else (0.0, 0)
        if path:
            from app.policy.profile_policy import follow

            follow(db, self.profile_name)

    def refresh(self, *, at_once: bool = False) -> bool:
        """Take in what another process changed; whether there was anything.

        `at_once` looks however short the last look is ago.
        """
        now = self._clock()
        if now - self._looked < _LOOK_SECONDS and not at_once:
            return False
        with self._lock:
            self._looked = now
            db = self._connection()
            try:
                narrowed = self._rules is not None and self._rules.look()
                narrowed |= self._file != "" and stamp(self._file) != self._stamp
                version = data_version(db)
                if version == self._version and not narrowed:
                    return False
                self._version = version
                state = (*serving.state(db, self.profile_id), self._reached(db))
                if state == self._state and not narrowed:
                    return False
                self._load(db)
            except (apsw.Error, UnavailableError):
                return False  # the earlier data remains in use
            return True

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            raise UnavailableError("Toolcrib's database is not open.")
        return self._db

    def tool(self, server_id: int, name: str) -> ToolRow | None:
        """A server's tool of that name, the first of two."""
        key, cache = (server_id, name), self._cache
        if key not in cache:
            rows = self.tools(server_id=server_id, name=name)
            cache[key] = rows[0] if rows else None
        return cache[key]

    def tools(
        self, *, server_id: int | None = None, name: str | None = None, pinned: bool = False
    ) -> list[ToolRow]:
        """Tools with their states."""
        policy = self.project
        included = policy.always_include if policy is not None else ()
        with self._lock:
            rows = serving.tool_rows(
                self._connection(),
                self.profile_id,
                server_id=server_id,
                name=name,
                pinned=pinned and not included,
            )
        if policy is None:
            return rows
        by_id = {row.id: row.name for row in self.servers.values()}
        kept = []
        for row in rows:
            tool_id = f"{by_id.get(row.server_id, '')}/{row.name}"
            if not row.reason and not policy.allows(tool_id):
                row.reason = PROJECT
            if not pinned or row.pinned or policy.includes(tool_id):
                kept.append(row)
        return kept

    @property
    def project(self) -> "Policy | None":
        """The project's policy, where there is one that counts."""
        return self._rules.counting if self._rules is not None else None

    @property
    def project_note(self) -> str:
        """Reason that the project's policy file does not count, "" where it does or is missing."""
        return self._rules.note if self._rules is not None else ""

    def names(self) -> list[tuple[str, str]]:
        """(server, tool) of every tool of the profile's servers."""
        by_id = {row.id: row.name for row in self.servers.values()}
        with self._lock:
            pairs = serving.tool_names(self._connection())
        return [(by_id[server_id], name) for server_id, name in pairs if server_id in by_id]

    def named_servers(self) -> set[int]:
        """Ids of the servers that start and have a tool that may reach a host."""
        with self._lock:
            return serving.named_server_ids(self._connection(), self.profile_id)

    def tokens(self, tool_id: int) -> int:
        """Tokens of a tool's host text, 0 until counted."""
        counted = self._tokens
        if tool_id not in counted:
            with self._lock:
                counted[tool_id] = serving.tool_tokens(self._connection(), tool_id)
        return counted[tool_id]

    def lists(self, server: ServerRow) -> dict[str, list[Json]]:
        """The server's lists when it was read, by method."""
        with self._lock:
            prompts, resources, templates = serving.lists(self._connection(), server.id)
        return {
            "prompts/list": prompts,
            "resources/list": resources,
            "resources/templates/list": templates,
        }

    def text(self, row: ToolRow) -> str:
        """A tool's JSON text, with words for the host's own search where the profile wants them."""
        if not self.setting("search_hints", default=False):
            return row.raw
        from app.indexing.search_hints import hinted_text, search_hints

        with self._lock:
            if self._hints[0] != self._version:
                self._hints = (self._version, search_hints(self._connection()))
            return hinted_text(row.raw, self._hints[1].get(row.id, ""))

    def setting(self, name: str, default: Any) -> Any:
        """One of the profile's settings for the gateway, without the cost of app.core.settings."""
        values = self.settings.get("gateway")
        return values.get(name, default) if isinstance(values, dict) else default

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
