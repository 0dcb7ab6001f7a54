"""Facts about each host, read from resources/hosts.toml."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files

from app.core.errors import ToolcribError
from store.typed import Json, JsonMapping

SYSTEMS = ("linux", "macos", "windows")


@dataclass(frozen=True, slots=True)
class EntryStyle:
    """Spelling of one server entry in a host's file."""

    command: str = "command"
    args: str = "args"
    env: str = "env"
    cwd: str = "cwd"
    headers: str = "headers"  # a dot means a nested table
    urls: tuple[tuple[str, str], ...] = (("url", "http"),)  # key, transport when nothing says
    http: tuple[str, str] = ("url", "")  # key and type with which such an entry is written
    off: tuple[str, bool] | None = None  # key and value that switch the server off
    type: str = ""  # the type a stdio entry must have
    passes: str = ""  # key with names of variables that the host passes on
    array: bool = False  # program and arguments in one list
    new: JsonMapping = field(default_factory=dict)  # what a new entry needs besides


@dataclass(frozen=True, slots=True)
class HostFile:
    """One kind of file of a host."""

    key: str
    scope: str  # user | project | extension | managed | state
    format: str  # json | jsonc | toml | yaml | markdown
    paths: Mapping[str, tuple[str, ...]]  # templates per system
    at: tuple[str, ...] = ()
    also_at: tuple[str, ...] = ()  # dotted; * = any key, "" = the whole file
    role: str = "servers"  # servers | manifest | settings
    write: str = "yes"  # yes | no | closed-only | own-file-only | import-only | export-only
    override: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    pick: str = "all"  # all | first
    parents: bool = False  # folders above the project are read too
    comments: bool = False
    commas: bool = False
    bom: bool | None = None
    older: bool = False  # an earlier place, still read: written where it names servers
    gone_once: tuple[str, ...] = ()  # file key and the key in it with which the host left this file
    style: EntryStyle | None = None  # where it is not the host's

    @property
    def writable(self) -> bool:
        """True if Toolcrib writes such a file at all."""
        return self.write in ("yes", "closed-only")

    @property
    def closed_only(self) -> bool:
        """True if the host overwrites what is written while it runs."""
        return self.write == "closed-only"


@dataclass(frozen=True, slots=True)
class NativeRoute:
    """Place of a host's own per-tool switches."""

    route: str  # entry | deny-rules | permissions | profile | toolsets
    allow: str = ""  # key of the allow list in an entry
    deny: str = ""  # key of the deny list in an entry
    all: tuple[str, ...] = ()  # allow-list value that means every tool
    form: str = ""  # combined name a rule wants; "" = the raw tool name
    file: str = ""  # key of the file the rules are in
    project_file: str = ""
    partial: str = ""  # why this route does not narrow everything


@dataclass(frozen=True, slots=True)
class HookFacts:
    """The program that a host runs before a prompt reaches its model, and the place it is set."""

    paths: tuple[str, ...]  # templates; the first is written where none exists
    shape: str = "groups"  # groups of hooks by event | list by event | plugin: a file of our own
    event: str = "UserPromptSubmit"
    milliseconds: bool = False  # its time limit's unit; else seconds
    mcp: bool = False  # it can ask a connected server instead of starting a program
    lists: bool = False  # it can leave tools out of the request's list
    note: str = ""  # what the user has to do besides
    trusted_in: str = ""  # the file beside it that holds the user's trust in hooks, "" where none


@dataclass(frozen=True, slots=True)
class ProjectList:
    """Place where a host notes the folders it worked in: keys of a table, or one path or URL."""

    paths: Mapping[str, tuple[str, ...]]  # templates per system
    format: str
    at: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NameRule:
    """The name under which a host shows a tool to its model."""

    form: str = "{tool}"
    keep: str = ""  # characters kept, as a regex class; "" = not known, all kept
    other: str = "_"  # replaces all others
    max: int = 0  # characters, 0 = none known

    def clean(self, part: str) -> str:
        """A server or tool name with the characters this host keeps."""
        return re.sub(f"[^{self.keep}]", self.other, part) if self.keep else part

    def name(self, server: str, tool: str) -> str:
        """The name the model sees, before any cut."""
        return self.form.format(server=self.clean(server), tool=self.clean(tool))


@dataclass(frozen=True, slots=True)
class HostFacts:
    """One host."""

    id: str
    name: str
    kind: str
    rank: int
    files: tuple[HostFile, ...]
    style: EntryStyle
    status: str = "active"
    interpolation: str = ""  # how variables are spelled in its files; "" = it fills in none
    native: NativeRoute | None = None
    hook: HookFacts | None = None
    names: NameRule = NameRule()
    tool_limit: int = 0  # 0 = none known
    limit_kind: str = ""  # hard | warn
    defers: str = ""  # "" | always | default | model | auto
    defers_why: str = ""
    rules: tuple[str, ...] = ()  # templates of the user's own instructions for its agent
    selects: bool = False  # its own search loads tools by their exact names: select:NAME,NAME
    measured: str = ""  # request bytes saved with 10 of 60 tools kept, by tests/hosts/measure.py
    list_changed: str = "unknown"
    restart: str = ""
    processes: tuple[str, ...] = ()
    lock: str = ""  # name of the lock beside the file, a trailing / means a folder
    asks_trust: bool = False
    link: str = ""  # template of a link that adds a server: {name}, its entry as {base64} or {json}
    http: str = ""  # how it is known that it takes a URL with a header: run | source | docs
    switch: bool = False  # it obeys the key of its style that switches a server off
    also_reads: tuple[str, ...] = ()  # templates of other hosts' files
    projects: tuple[ProjectList, ...] = ()

    @property
    def server_files(self) -> tuple[HostFile, ...]:
        """The kinds of files that name its servers."""
        return tuple(file for file in self.files if file.role == "servers")

    @property
    def writable(self) -> bool:
        """True if Toolcrib can export to this host."""
        return any(file.writable for file in self.server_files)

    @property
    def defers_tools(self) -> bool:
        """True if its first request has only the names of tools; schemas follow on demand."""
        return self.defers in ("always", "default")

    def file(self, key: str) -> HostFile:
        """The kind of file with this key."""
        return next(file for file in self.files if file.key == key)


@cache
def load_hosts() -> tuple[HostFacts, ...]:
    """All hosts, by rank."""
    data, styles = _data()
    hosts = [_host(entry, styles) for entry in data["host"]]
    return tuple(sorted(hosts, key=lambda host: host.rank))


def host(host_id: str) -> HostFacts:
    """The host with this id; ToolcribError when there is none."""
    for facts in load_hosts():
        if facts.id == host_id:
            return facts
    known = ", ".join(facts.id for facts in load_hosts())
    raise ToolcribError(f"There is no host called {host_id}.", f"Known hosts: {known}.")


def style(name: str) -> EntryStyle:
    """The entry style with this name."""
    return _data()[1][name]


@cache
def _data() -> tuple[JsonMapping, Mapping[str, EntryStyle]]:
    text = files("resources").joinpath("hosts.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    plain = data["style"]["plain"]
    return data, {name: _style({**plain, **keys}) for name, keys in data["style"].items()}


def _style(keys: JsonMapping) -> EntryStyle:
    urls = tuple((key, transport) for key, transport in keys["urls"])
    off = (keys["off"][0], keys["off"][1]) if keys["off"] else None
    http = (keys["http"][0], keys["http"][1])
    return EntryStyle(**{**keys, "urls": urls, "http": http, "off": off})


def _host(entry: JsonMapping, styles: Mapping[str, EntryStyle]) -> HostFacts:
    limit = entry.get("limit", {})
    defers = entry.get("defers", {})
    nested = {
        "files": tuple(_file(item, styles) for item in entry.get("file", ())),
        "style": styles[entry["style"]],
        "projects": tuple(map(_project_list, entry.get("projects", ()))),
        "native": NativeRoute(**_frozen(entry["native"])) if "native" in entry else None,
        "hook": HookFacts(**_frozen(entry["hook"])) if "hook" in entry else None,
        "names": NameRule(**entry.get("names", {})),
        "tool_limit": limit.get("tools", 0),
        "limit_kind": limit.get("kind", ""),
        "defers": defers.get("when", ""),
        "defers_why": defers.get("why", ""),
    }
    known = {item.name for item in fields(HostFacts)} - nested.keys()
    rest = {key: value for key, value in entry.items() if key in known}
    return HostFacts(**nested, **_frozen(rest))


def _file(item: JsonMapping, styles: Mapping[str, EntryStyle]) -> HostFile:
    shared = item.get("paths", ())
    paths = {system: tuple(item.get(system, shared)) for system in SYSTEMS}
    rest = {key: value for key, value in item.items() if key not in (*SYSTEMS, "paths", "style")}
    own = styles[item["style"]] if "style" in item else None
    return HostFile(paths=paths, style=own, **_frozen(rest))


def _project_list(item: JsonMapping) -> ProjectList:
    paths = {system: tuple(item.get(system, item.get("paths", ()))) for system in SYSTEMS}
    return ProjectList(paths, item["format"], tuple(item.get("at", ())))


def _frozen(keys: JsonMapping) -> Json:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
