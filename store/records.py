"""Rows of the store as frozen dataclasses; the only vocabulary that ui and store share."""

from collections.abc import Collection
from dataclasses import dataclass, field

from store.typed import Json

# A server's status, in the words of the window and of `toolcrib scan --json`.
CONFIGURED = "configured"
WAITING = "waiting"
READING = "reading"
READ = "read"
NEEDS_SIGN_IN = "needs sign-in"
COULD_NOT_START = "could not start"
TOOK_TOO_LONG = "took too long"
STOPPED = "stopped"
RETIRED = "retired"  # read once or disabled, named by no file any more; never shown
# the ways in which a host gets its tools
AS_IS, NATIVE, PRUNED, THROUGH = "as-is", "native", "pruned", "through"
MANUAL = "manual"  # the host of an entry that Toolcrib itself was given
HOOK = "hook"  # the mode of a write that is about a hook, not about servers


def storable(text: str) -> str:
    """The text with a replacement for halves of characters, which no file and no terminal takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """Launch or address of a server, without any secret value.

    `args` and `url` hold `${secret:N}` in place of a credential; environment and header values
    are never here, only their names. `key` tells two specs apart (it covers the secret values
    through a keyed digest, see app.secrets.secret_store).
    """

    transport: str  # stdio | http | sse
    key: str
    command: str = ""
    args: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()
    cwd: str = ""
    url: str = ""
    header_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launched:
    """Launch of a registered server: its name, its key, and its URL if it has one."""

    name: str
    key: str  # of its ServerSpec
    url: str


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One place that names a server: identity is (host, scope, file, name)."""

    host: str  # an id of resources/hosts.toml, or "manual"
    scope: str  # user | project | extension | managed | manual
    file: str  # absolute path, "" for manual
    name: str  # the key in that file
    server_id: int = 0
    disabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfDescription:
    """Answers of a server about itself, beside its tools."""

    server_info: Json = field(default_factory=dict)
    capabilities: Json = field(default_factory=dict)
    instructions: str = ""
    prompts: tuple[Json, ...] = ()
    resources: tuple[Json, ...] = ()
    templates: tuple[Json, ...] = ()
    list_hash: str = ""
    # protocol, client capabilities, era, home, signed_in
    taken_with: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerRecord(SelfDescription):
    """One server of the catalogue; `name` is unique and is the first part of its tools' ids."""

    id: int
    name: str
    spec: ServerSpec
    trusted: bool
    status: str
    problem: str  # "" when there is none
    entries: tuple[EntryRecord, ...] = ()
    stderr: str = ""  # last lines, redacted
    read_at: float = 0.0  # seconds since the epoch, 0 when never read
    disabled: bool = False  # by the user, in Toolcrib: neither started nor served
    former: tuple[str, ...] = ()  # names that it had, by which hosts' files may still call it

    def is_called(self, names: Collection[str]) -> bool:
        """True if one of these names means this server."""
        return self.name in names or any(name in names for name in self.former)


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """One entry of a server's tools/list, as the raw JSON it came as."""

    id: int
    server_id: int
    server: str  # the server's catalogue name
    name: str
    raw: Json
    hash: str
    trusted_hash: str
    problem: str = ""  # why the tool cannot be used, "" when it can
    position: int = 0
    first_seen: float = 0.0
    last_seen: float = 0.0
    gone: bool = False  # no longer in the server's list
    trusted_raw: Json | None = None  # the trusted text, where the present one differs from it

    @property
    def tool_id(self) -> str:
        """`server/tool`, the name of a tool everywhere inside Toolcrib."""
        return f"{self.server}/{self.name}"

    @property
    def description(self) -> str:
        """The description, "" when there is none or it is not text."""
        text = self.raw.get("description")
        return text if isinstance(text, str) else ""

    @property
    def input_schema(self) -> Json:
        """The input schema, {} when there is none or it is not an object."""
        schema = self.raw.get("inputSchema")
        return schema if isinstance(schema, dict) else {}

    def has_hint(self, hint: str) -> bool:
        """True if its annotations say so of it: readOnlyHint, destructiveHint."""
        annotations = self.raw.get("annotations")
        return isinstance(annotations, dict) and annotations.get(hint) is True


@dataclass(frozen=True, slots=True)
class NewTool:
    """A tool as read from a server, before it has a row."""

    name: str
    raw: Json
    hash: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolDelta:
    """Changes by saving a tools/list: ids of tools that need counting and encoding."""

    added: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of one tool under one encoding, per field and of the whole host text."""

    tool_id: int
    encoding: str  # o200k_base | cl100k_base
    name: int
    description: int
    input_schema: int
    output_schema: int
    annotations: int
    host_text: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Purpose of a tool in at most 60 tokens; source is made, user or model."""

    tool_id: int
    text: str
    source: str
    hash: str  # of the tool's raw text it was made from


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A user's likely words when they need a tool; source is pack, model, user or label."""

    id: int
    tool_id: int
    text: str
    source: str
    text_hash: str  # of the tool's name and description that it was written for
    dropped: bool = False  # taken away by the user
    live: bool = False  # counts: of the tool's present text, and not dropped


@dataclass(frozen=True, slots=True)
class Vector:
    """One embedding: float32, little endian, unit length."""

    tool_id: int
    model: str
    view: str  # summary | name | description | parameters | server
    hash: str  # of the text that was encoded
    data: bytes


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """A named set of ticks with its settings (see app.core.settings.ProfileSettings)."""

    id: int
    name: str
    settings: Json


@dataclass(frozen=True, slots=True)
class ToolState:
    """A tool's state in one profile; a tool without a row of its own is on, not pinned."""

    tool_id: int
    on: bool = True
    pinned: bool = False
    held: str = ""  # why it is held back, "" when it is not


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason to distrust a tool."""

    id: int
    tool_id: int
    rule: str
    severity: str  # block | warn | info
    detail: str
    hash: str  # of the tool text it was found in
    decided: str = ""  # "" open | approved | kept (held back)
    found_at: float = 0.0
    decided_at: float = 0.0


@dataclass(slots=True)
class EventRecord:
    """One entry of the journal; not frozen, since each call makes one: six times as fast."""

    at: float
    kind: str  # list | search | suggest | call | miss | evicted | load | held | error
    profile: str = ""
    host: str = ""
    session: str = ""
    tool: str = ""  # server/tool
    query: str = ""
    tokens: int = 0
    ms: float = 0.0
    problem: str = ""
    detail: Json = field(default_factory=dict)
    id: int = 0


@dataclass(frozen=True, slots=True)
class Observed:
    """Summary of the journal over a period, without the calls of each tool."""

    first: float = 0.0  # seconds since the epoch of its first event, 0 if none
    hosts: int = 0
    searches: int = 0
    misses: int = 0  # requests for which no tool was found or that could not be answered
    failed: int = 0  # calls that ended in an error


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """One write of one host file: enough to undo it byte for byte."""

    id: int
    at: float
    host: str
    scope: str
    file: str
    mode: str  # AS_IS, NATIVE, PRUNED, THROUGH or HOOK
    profile: str
    before_hash: str  # "" when there was no file
    after_hash: str
    backup: str  # path of the copy, "" when there was no file
    undone_at: float = 0.0
    detail: Json = field(default_factory=dict)

    @property
    def group(self) -> object:
        """Mark that the files of one write share; its own id where it is alone."""
        return self.detail.get("group", self.id)

    @property
    def base_copy(self) -> str:
        """Path of the copy of the file without Toolcrib, "" where there is none."""
        return str(self.detail.get("base", ""))

    @property
    def after_copy(self) -> str:
        """Path of the copy of what was written, "" where there is none."""
        return str(self.detail.get("after", ""))

    @property
    def copies(self) -> tuple[str, ...]:
        """Paths of all copies that it keeps."""
        return self.backup, self.base_copy, self.after_copy

    @property
    def format(self) -> str:
        """Format of the file, "" for the one that its name says."""
        return str(self.detail.get("format", ""))

    @property
    def over_http(self) -> bool:
        """True if it wrote a URL as the host's one entry."""
        return bool(self.detail.get("http"))

    @property
    def ended(self) -> tuple[int, ...]:
        """Records of the writes that were over with this one."""
        return tuple(self.detail.get("ended", ()))


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """A query and the tools that a user expects for it."""

    id: int
    query: str
    expected: tuple[str, ...]  # server/tool; empty means "no tool fits"
    source: str  # typed | imported | activity
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One calibration run with the settings and the catalogue it was made on."""

    id: int
    at: float
    fingerprint: str
    settings: Json
    result: Json


@dataclass(frozen=True, slots=True)
class Hit:
    """One row of a search: a keyword score (higher is better) or a cosine."""

    tool_id: int
    score: float


@dataclass(frozen=True, slots=True)
class HostRecord:
    """Progress in one of a host's own records; `changed` in seconds since the epoch."""

    id: int
    host: str
    file: str
    size: int
    changed: float
    position: int = 0
    last_request: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of a tool in a host's record: names as the host spells them, never a text."""

    call: bytes  # digest of the call's id
    server: str
    tool: str
    at: float  # seconds since the epoch


# states of a call that waits for a person's yes: how it was decided, or how it ended
CALL_WAITING, ALLOWED, SESSION, ALWAYS, DENIED = "waiting", "allowed", "session", "always", "denied"
EXPIRED, GONE, SENT = "expired", "gone", "sent"


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for a person's yes, or was decided; times in seconds since the epoch."""

    id: int
    made: float
    expires: float
    profile: str
    session: str  # of the gateway that waits
    host: str
    tool: str  # server/tool
    hash: str  # of the tool's definition
    arguments: str  # JSON, secrets masked; "" once it is decided
    state: str = CALL_WAITING


@dataclass(frozen=True, slots=True)
class PolicyTrust:
    """Decisions on a project's policy file."""

    digest: str = ""  # of the text that counts, "" for none
    text: str = ""  # that text, to be compared with a later one
    put_off: str = ""  # hash of the text that is not asked about any more


@dataclass(frozen=True, slots=True)
class SplitRecord:
    """A profile that was split into several, and everything that undoes it."""

    id: int
    made: float  # seconds since the epoch
    profile: str
    detail: Json
    undone: float = 0.0


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """The policy file that a profile takes its values from."""

    path: str
    hash: str = ""  # of the text and the tools that the stored values are of
    problem: str = ""  # reason that a later text is not used


@dataclass(frozen=True, slots=True)
class PutOff:
    """A proposal that is not made again before a moment; times in seconds since the epoch."""

    proposal: str  # its key
    title: str
    until: float  # 0: never again
    made: float = 0.0
