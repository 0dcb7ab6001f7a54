"""A newer version of a listed server: offered, read in a throwaway folder, taken, taken back.

Nothing is changed before it is taken. The launch before it, with the texts that were approved
then, is kept, so that one step leads back.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from threading import Event

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import visible
from app.hosts.display import launch_text
from app.hosts.launch import STDIO, LaunchSpec, secrets_of
from app.indexing.reading import LEGACY, Limits
from app.market.bundle import read_manifest
from app.market.details import Doubt, doubts
from app.market.entry import DELETED, Entry, read_entry
from app.market.launch import Choice, Field, choices, launch_of, shown_command, with_bundle
from app.market.records import entry_of
from app.market.seed import SEED_URL
from app.market.sources import trusts_private
from app.market.versions import earlier_values, is_later, same_way
from app.registry.importing import edit_server
from app.registry.installing import bundles_folder, plain_values, ready
from app.registry.probe import ProbeOptions, probe
from app.registry.register import stored_launch
from app.safety.review import Difference, differences
from app.secrets.secret_store import SecretStore
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store import market, servers, tools
from store.connection import transaction
from store.market import MarketFormer, MarketInstall
from store.records import NewTool, ServerRecord, ServerSpec, ToolRecord

_SHIPPED = "That list came with Toolcrib, and a later Toolcrib brings a later one."


class LatestError(ToolcribError):
    """The list, as it was fetched last, has no later version; `source` is its URL."""

    def __init__(self, name: str, install: MarketInstall) -> None:
        is_shipped = install.source == SEED_URL
        super().__init__(
            f"{name} {install.version} is the latest version that its list has.",
            _SHIPPED if is_shipped else "Fetch the list first: toolcrib registry sync",
        )
        self.source = "" if is_shipped else install.source


@dataclass(frozen=True, slots=True)
class Offer:
    """A version that is listed and later than the installed one."""

    server: ServerRecord
    install: MarketInstall
    entry: Entry
    choice: Choice
    values: Mapping[str, str]
    private: bool
    doubts: tuple[Doubt, ...]

    @property
    def lacking(self) -> tuple[Field, ...]:
        """Fields that the new version needs and that have no value yet."""
        return tuple(f for f in self.choice.fields if f.wanted and not self.values.get(f.key))

    def with_values(self, values: Mapping[str, str]) -> "Offer":
        """The same with more values."""
        return replace(self, values={**self.values, **values})

    @property
    def to_fetch(self) -> bool:
        """True for a bundle that is not here yet: its manifest says what it starts and needs."""
        return self.choice.kind == "mcpb" and self.choice.bundle is None

    @property
    def launch(self) -> LaunchSpec:
        """The launch of the new version; ToolcribError where a value is missing."""
        return launch_of(self.entry, self.choice, self.values, private=self.private)

    @property
    def command(self) -> str:
        """The launch as consent shows it, of a bundle first what is downloaded."""
        if self.to_fetch:
            return shown_command(self.entry, self.choice, private=self.private)
        return launch_text(self.launch).line


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A tool whose text differs."""

    name: str
    before: int  # tokens
    after: int
    parts: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """The difference that a version makes, in tools, texts and tokens."""

    added: tuple[tuple[str, int], ...]  # name, tokens
    removed: tuple[str, ...]
    changed: tuple[ToolChange, ...]
    before: int  # tokens of all tools
    after: int

    @property
    def text(self) -> str:
        """The difference in a sentence."""
        if not (self.added or self.removed or self.changed):
            return f"Its tools and texts are the same: {self.after:,} tokens."
        parts = (
            (self.added, "new"),
            (self.removed, "gone"),
            (self.changed, "with another text"),
        )
        words = ", ".join(f"{len(tools)} {word}" for tools, word in parts if tools)
        return f"Tools: {words}. Tokens: {self.before:,} before, {self.after:,} after."

    def lines(self, most: int) -> list[str]:
        """The difference tool by tool: added with +, removed with -, other texts with ~.

        Of each text `most` lines are given.
        """
        lines = [f"+ {visible(name)}, {cost:,} tokens" for name, cost in self.added]
        lines += [f"- {visible(name)}" for name in self.removed]
        for one in self.changed:
            lines.append(f"~ {visible(one.name)}, {one.before:,} → {one.after:,} tokens")
            for part in one.parts:
                lines.append(f"    {visible(part.place)}")
                lines += [f"    - {visible(t)}" for t in part.before.splitlines()[:most]]
                lines += [f"    + {visible(t)}" for t in part.after.splitlines()[:most]]
        return lines


def newer(db: apsw.Connection) -> dict[str, str]:
    """Installed servers with a later version in their list: name and that version."""
    names = servers.names(db)
    known = market.installs(db)
    rows = ((names[key], _listed(db, one)) for key, one in known.items() if key in names)
    return {name: row.version for name, row in rows if row is not None}


def offer(ctx: AppContext, db: apsw.Connection, name: str) -> Offer:
    """The later version of a server; LatestError for none, ToolcribError where it cannot be had."""
    server, install = _installed(db, name)
    row = _listed(db, install)
    if row is None:
        raise LatestError(name, install)
    source = next(one for one in market.sources(db) if one.id == row.source_id)
    entry, private = entry_of(row), trusts_private(db, source)
    old = _choice(install, private)
    way = same_way(old, choices(entry, private=private))
    if way is None or way.problem:
        why = way.problem if way else "It has no longer that package or address."
        raise ToolcribError(
            f"{entry.name} {entry.version} cannot be taken: {why}",
            f"Nothing was changed. Add it anew: toolcrib add --from {entry.name}",
        )
    old = _unpacked(ctx, install.name, old)
    launch = stored_launch(server, SecretStore.open(ctx.paths))
    given = json.loads(install.given)
    was = read_entry(json.loads(install.entry))
    values = earlier_values(was, old, given, launch, private=private) if launch else {}
    made = Offer(server, install, entry, way, values, private, doubts(entry))
    return made if made.to_fetch else _with_its_fields(made)


def fetched(ctx: AppContext, wanted: Offer) -> Offer:
    """The offer with its bundle downloaded, checked and unpacked beside the present one."""
    if not wanted.to_fetch:
        return wanted
    choice = ready(ctx, wanted.entry, wanted.choice, private=wanted.private)
    return _with_its_fields(replace(wanted, choice=choice))


def _with_its_fields(wanted: Offer) -> Offer:
    """The offer without values that its version has no use for."""
    known = {field.key for field in wanted.choice.fields}
    kept = {key: text for key, text in wanted.values.items() if key in known}
    return replace(wanted, values=kept)


def read(
    ctx: AppContext, db: apsw.Connection, wanted: Offer, *, cancel: Event | None = None
) -> Change:
    """Start the new version in a folder that is thrown away, and compare; changes nothing."""
    launch = wanted.launch
    options = ProbeOptions(Limits.of(ctx.settings), scratch_home=ctx.settings.scratch_home)
    era = str(wanted.server.taken_with.get("era") or LEGACY)
    with tempfile.TemporaryDirectory(prefix="toolcrib-new-", ignore_cleanup_errors=True) as folder:
        if launch.transport == STDIO and wanted.choice.bundle is None:
            launch = replace(launch, cwd=folder)
        reading = probe(launch, options=options, cancel=cancel, era=era)
    if not reading.read:
        raise ToolcribError(
            f"{wanted.entry.name} {wanted.entry.version} could not be read: {reading.problem}",
            f"Nothing was changed: {wanted.server.name} stays at {wanted.install.version}.",
        )
    return _change(ctx, db, wanted.server, reading.tools)


def take(ctx: AppContext, db: apsw.Connection, wanted: Offer) -> None:
    """Have the server start the new version from now on; read it then, as any other change."""
    server, install, launch = wanted.server, wanted.install, wanted.launch
    now = [tool for tool in tools.tools(db, server.id) if not tool.gone]
    texts = {tool.name: [tool.trusted_hash, tool.trusted_raw or tool.raw] for tool in now}
    former = MarketFormer(
        server.id, json.dumps(asdict(install)), json.dumps(asdict(server.spec)), json.dumps(texts)
    )
    new = replace(
        install,
        version=wanted.entry.version,
        number=wanted.choice.number,
        at=ctx.clock(),
        entry=json.dumps(wanted.entry.raw),
        given=json.dumps(plain_values(wanted.choice, wanted.values)),
    )
    with transaction(db):  # first: the secrets of a launch that is kept are kept
        market.save_former(db, former)
    edit_server(ctx, db, server, server.name, launch)
    with transaction(db):
        market.save_install(db, new)


def back(ctx: AppContext, db: apsw.Connection, name: str) -> str:
    """The version before, with what was approved then; returns it. ToolcribError for none."""
    server, _install = _installed(db, name)
    former = market.former(db, server.id)
    if former is None:
        raise ToolcribError(f"No earlier version of {name} is kept.", "Nothing was changed.")
    spec = _spec(former.launch)
    secrets = secrets_of(spec, SecretStore.open(ctx.paths))
    edit_server(ctx, db, server, server.name, LaunchSpec.from_spec(spec, secrets))
    install = MarketInstall(**json.loads(former.install))
    approved = json.loads(former.trusted)
    with transaction(db):
        for tool in tools.tools(db, server.id):
            if tool.name in approved:
                hash_, raw = approved[tool.name]
                tools.trust_earlier(db, tool.id, hash_, raw)
        market.save_install(db, install)
        market.drop_former(db, server.id)
    return install.version


def former_version(db: apsw.Connection, name: str) -> str:
    """The version before the last update, "" for none; ToolcribError for no listed server."""
    server, _install = _installed(db, name)
    known = market.former(db, server.id)
    return str(json.loads(known.install)["version"]) if known else ""


def _installed(db: apsw.Connection, name: str) -> tuple[ServerRecord, MarketInstall]:
    server = servers.by_name(db, name)
    install = market.installs(db).get(server.id) if server else None
    if server is None or install is None:
        why = "was not added from a list" if server else "is not known"
        raise ToolcribError(f"{name} {why}.", "See what was: toolcrib server update")
    return server, install


def _listed(db: apsw.Connection, install: MarketInstall) -> market.ListedServer | None:
    """The entry of a later version in the list that the server came from."""
    ids = {one.id for one in market.sources(db) if one.url == install.source}
    rows = (row for row in market.by_name(db, install.name) if row.source_id in ids)
    row = next(rows, None)
    later = row is not None and row.status != DELETED and is_later(row.version, install.version)
    return row if later else None


def _choice(install: MarketInstall, private: bool) -> Choice:
    ways = choices(read_entry(json.loads(install.entry)), private=private)
    chosen = next((way for way in ways if way.number == install.number), None)
    if chosen is None:
        raise ToolcribError(
            f"How {install.name} was added is not known.", "Add it anew: toolcrib add --from"
        )
    return chosen


def _unpacked(ctx: AppContext, name: str, choice: Choice) -> Choice:
    """The choice with its bundle as it was unpacked; without it where that is gone."""
    package = choice.package
    if package is None or choice.kind != "mcpb":
        return choice
    folder = bundles_folder(ctx) / package.sha256
    return with_bundle(choice, read_manifest(name, folder)) if folder.is_dir() else choice


def _spec(text: str) -> ServerSpec:
    fields = json.loads(text)
    for name in ("args", "env_names", "header_names"):
        fields[name] = tuple(fields[name])
    return ServerSpec(**fields)


def _change(
    ctx: AppContext, db: apsw.Connection, server: ServerRecord, read_: tuple[NewTool, ...]
) -> Change:
    count = counter(ctx.settings.encoding)

    def cost(tool: ToolRecord) -> int:
        return count_tool(count, tool).host_text

    old = {tool.name: tool for tool in tools.tools(db, server.id) if not tool.gone}
    new = {
        tool.name: ToolRecord(0, server.id, server.name, tool.name, tool.raw, tool.hash, "")
        for tool in read_
    }
    changed = [
        ToolChange(name, cost(old[name]), cost(tool), differences(old[name].raw, tool.raw))
        for name, tool in new.items()
        if name in old and old[name].hash != tool.hash
    ]
    return Change(
        added=tuple((name, cost(tool)) for name, tool in new.items() if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=tuple(changed),
        before=sum(map(cost, old.values())),
        after=sum(map(cost, new.values())),
    )
