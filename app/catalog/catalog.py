"""The catalogue as one profile sees it: what window, command line, export and routing read."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import apsw

from app.catalog import availability
from app.catalog.availability import Reason
from app.catalog.setting_checks import check_change
from app.core.changes import Changes
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings, with_settings
from store import findings, profiles, servers, serving, tools
from store.connection import data_version, transaction
from store.records import MANUAL, ProfileRecord, ServerRecord, TokenCount, ToolRecord, ToolState
from store.typed import Json

_NO_TOOLS = "No tools are known yet. Read some with: toolcrib scan"


@dataclass(frozen=True, slots=True)
class CatalogTool:
    """One tool with its state in the profile."""

    tool: ToolRecord
    server: ServerRecord
    on: bool
    pinned: bool
    held: str  # reasons.WITHHELD: why it is held back, "" when it is not
    tokens: TokenCount | None  # None until counted
    summary: str
    # Every stored reason against it, the one to be named first. Kept, for a tick in the window
    # walks over all tools several times.
    reasons: tuple[Reason, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        tool = self.tool
        reasons = availability.stored_reasons(
            gone=tool.gone,
            on=self.on,
            withheld=self.held,
            problem=tool.problem,
            disabled=self.server.disabled,
        )
        object.__setattr__(self, "reasons", reasons)

    @property
    def shown(self) -> bool:
        """True if a host may get this tool."""
        return not self.reasons

    @property
    def usable(self) -> bool:
        """True if its server has it, with a definition that a host can take."""
        return not self.tool.gone and not self.tool.problem

    @property
    def cost(self) -> int:
        """Tokens of the host text, 0 until counted."""
        return self.tokens.host_text if self.tokens else 0


@dataclass(frozen=True, slots=True)
class Catalog:
    """All servers and tools, in the servers' order, as seen by one profile."""

    profile: ProfileRecord
    settings: ProfileSettings
    encoding: str
    servers: tuple[ServerRecord, ...]
    tools: tuple[CatalogTool, ...]
    left_out: "Catalog | None" = None  # the servers of hosts' files that the profile leaves out

    @property
    def why_empty(self) -> str:
        """The sentence for a profile without tools."""
        if self.settings.servers != ():
            return _NO_TOOLS
        return (
            f"The profile {self.profile.name} has no server;"
            " toolcrib profile set servers=null gives it all."
        )

    @property
    def shown(self) -> tuple[CatalogTool, ...]:
        """The tools that a host may get."""
        return tuple(t for t in self.tools if t.shown)

    def of_server(self, server_id: int) -> tuple[CatalogTool, ...]:
        """One server's tools."""
        return tuple(t for t in self.tools if t.tool.server_id == server_id)

    def find(self, tool_id: str) -> CatalogTool | None:
        """The tool called `server/tool`, or None."""
        return next((t for t in self.tools if t.tool.tool_id == tool_id), None)

    def only(self, names: Collection[str]) -> "Catalog":
        """The same with these servers alone."""
        return self.of_servers([one for one in self.servers if one.is_called(names)])

    def of_servers(self, kept: Sequence[ServerRecord]) -> "Catalog":
        """The same with these of its servers alone."""
        ids = {server.id for server in kept}
        rows = tuple(row for row in self.tools if row.server.id in ids)
        return replace(self, servers=tuple(kept), tools=rows)

    def without(self, allows: Callable[[str], bool]) -> "Catalog":
        """The same without the tools, by id, that are not allowed."""
        return replace(self, tools=tuple(row for row in self.tools if allows(row.tool.tool_id)))

    def server(self, name: str) -> ServerRecord | None:
        """The server of that catalogue name, or None."""
        return next((s for s in self.servers if s.name == name), None)


def load_catalog(
    db: apsw.Connection, profile: str = "default", encoding: str = "o200k_base"
) -> Catalog:
    """Read the catalogue for a profile; raises ToolcribError for an unknown one."""
    record = find_profile(db, profile)
    settings = ProfileSettings.from_json(record.settings)
    rows = servers.all_servers(db)
    names = settings.servers
    chosen = [s for s in rows if names is None or s.name in names]
    others = [s for s in rows if names is not None and s.name not in names and _in_a_file(s)]
    by_id = {s.id: s for s in (*chosen, *others)}
    states = profiles.states(db, record.id)
    counts = tools.token_counts(db, encoding)
    summaries = tools.summaries(db)
    blocked = findings.blocked(db)
    rows_of_tools = tuple(
        _row(
            tool,
            by_id[tool.server_id],
            states.get(tool.id, ToolState(tool.id)),
            counts.get(tool.id),
            summaries[tool.id].text if tool.id in summaries else "",
            blocked=tool.id in blocked,
        )
        for tool in tools.tools(db)
        if tool.server_id in by_id
    )
    made = Catalog(record, settings, encoding, tuple(by_id.values()), rows_of_tools)
    if not others:
        return made
    return replace(made.of_servers(chosen), left_out=made.of_servers(others))


def _in_a_file(server: ServerRecord) -> bool:
    return any(entry.host != MANUAL for entry in server.entries)


def _row(
    tool: ToolRecord,
    server: ServerRecord,
    state: ToolState,
    tokens: TokenCount | None,
    summary: str,
    *,
    blocked: bool,
) -> CatalogTool:
    held = availability.withheld(
        trusted=server.trusted,
        held=state.held,
        changed=tool.hash != tool.trusted_hash,
        blocked=blocked,
    )
    return CatalogTool(tool, server, state.on, state.pinned, held, tokens, summary)


def version(db: apsw.Connection) -> int:
    """A number that changes when another connection wrote to the store."""
    return data_version(db)


def outline(db: apsw.Connection, profile: str) -> tuple[object, ...]:
    """A value that differs when servers, tools, what waits in Review or a profile changed.

    What is journalled does not count: it changes with every call.
    """
    record = profiles.by_name(db, profile)
    own = serving.state(db, record.id if record else 0)
    return (*own, *serving.names_state(db), *findings.outline(db))


def find_profile(db: apsw.Connection, name: str) -> ProfileRecord:
    """The profile of that name; raises ToolcribError that names the known ones."""
    record = profiles.by_name(db, name)
    if record is None:
        names = ", ".join(p.name for p in profiles.all_profiles(db))
        raise ToolcribError(f"There is no profile called {name}.", f"Known are: {names}.")
    return record


def match_tools(catalog: Catalog, patterns: Iterable[str]) -> tuple[CatalogTool, ...]:
    """Tools that any pattern names: `server/tool` with * and ?, or a server's name.

    Raises ToolcribError for a pattern that names nothing.
    """
    matches: dict[int, CatalogTool] = {}
    for pattern in patterns:
        wide = pattern if "/" in pattern else f"{pattern}/*"
        hits = [
            t
            for t in catalog.tools
            if t.tool.tool_id == wide or fnmatchcase(t.tool.tool_id, wide)  # "a/b[1]" is a name too
        ]
        if not hits:
            raise _nothing_called(catalog, pattern)
        matches.update((t.tool.id, t) for t in hits)
    return tuple(matches.values())


def _nothing_called(catalog: Catalog, pattern: str) -> ToolcribError:
    if catalog.server(pattern) is not None:
        return ToolcribError(
            f"No tools of {pattern} are known, so nothing was done.",
            "Read them with: toolcrib scan",
        )
    what = "tool" if "/" in pattern else "server or tool"
    verb = "matches" if {"*", "?"} & set(pattern) else "is called"
    return ToolcribError(
        f"No {what} {verb} {pattern}, so nothing was done.",
        "Names are server/tool; see them with: toolcrib footprint --tools"
        if catalog.tools
        else catalog.why_empty,
    )


def set_on(db: apsw.Connection, profile: str, tool_ids: Iterable[int], on: bool) -> Changes:
    """Tick tools on or off in a profile."""
    record = find_profile(db, profile)
    with transaction(db):
        profiles.set_on(db, record.id, tool_ids, on)
    return Changes(profile=True)


def set_pinned(db: apsw.Connection, profile: str, tool_ids: Iterable[int], pinned: bool) -> Changes:
    """Pin or unpin tools in a profile."""
    record = find_profile(db, profile)
    with transaction(db):
        profiles.set_pinned(db, record.id, tool_ids, pinned)
    return Changes(profile=True)


def set_disabled(db: apsw.Connection, server_ids: Iterable[int], disabled: bool) -> Changes:
    """Have Toolcrib neither start nor serve these servers, or have it do so again."""
    with transaction(db):
        for server_id in server_ids:
            servers.set_disabled(db, server_id, disabled)
    return Changes(servers=True, tools=True)


def trust_server(db: apsw.Connection, server_id: int, at: float) -> Changes:
    """Let a server's tools reach hosts, with their present texts."""
    with transaction(db):
        servers.set_trusted(db, server_id, True)
        servers.approve_texts(db, server_id)
        trust_tools(db, [t.id for t in tools.tools(db, server_id)], at)
    return Changes(servers=True, tools=True)


def approve_texts(db: apsw.Connection, server_id: int, before: list[Json]) -> Changes:
    """Let hosts get a server's own texts as they are; `before` takes the findings for the undo."""
    with transaction(db):
        before[:] = servers.approve_texts(db, server_id)
    return Changes(servers=True, tools=True)


def reopen_texts(db: apsw.Connection, server_id: int, before: Sequence[Json]) -> Changes:
    """Take such an approval back."""
    with transaction(db):
        servers.save_texts(db, server_id, before)
    return Changes(servers=True, tools=True)


def trust_tools(db: apsw.Connection, tool_ids: Iterable[int], at: float) -> None:
    """Take these tools' present texts as trusted, findings and all; the caller's transaction."""
    chosen = set(tool_ids)
    tools.trust(db, chosen)
    present = {tool.id: tool.hash for tool in tools.tools(db) if tool.id in chosen}
    for finding in findings.all_findings(db):
        undecided = finding.decided != findings.APPROVED
        if undecided and finding.hash == present.get(finding.tool_id):
            findings.decide(db, finding.id, findings.APPROVED, at)
    for profile in profiles.all_profiles(db):
        held = [i for i, s in profiles.states(db, profile.id).items() if s.held and i in chosen]
        profiles.set_held(db, profile.id, held, "")


def change_settings(db: apsw.Connection, profile: str, parts: Mapping[str, object]) -> Changes:
    """Replace some of a profile's settings, as budget or gateway.pool; the others stay."""
    now = ProfileSettings.from_json(find_profile(db, profile).settings)
    return save_settings(db, profile, with_settings(now, parts))


def save_settings(db: apsw.Connection, profile: str, settings: ProfileSettings) -> Changes:
    """Replace a profile's settings; raises ToolcribError where a changed one cannot be used."""
    record = find_profile(db, profile)
    check_change(ProfileSettings.from_json(record.settings), settings)
    with transaction(db):
        profiles.save_settings(db, record.id, settings.to_json())
    return Changes(profile=True)
