"""Rows of the team's database as frozen dataclasses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from store.typed import Json

MEMBER, EDITOR, ADMIN = "member", "editor", "admin"
SIGN_INS = NO_SIGN_IN, BY_MEMBER, BY_ORGANISATION = "none", "member", "organisation"  # of a server
TEAM_POLICY = "team"  # the name of the policy that counts in every profile
EVERYBODY: tuple[str, ...] = ("organisation",)  # grants of what all members see


@dataclass(frozen=True, slots=True)
class Member:
    """The caller of a transaction; `allow` are an agent's `server/tool` patterns (with *)."""

    organisation_id: int
    member_id: int
    role: str  # member | editor | admin
    name: str
    groups: tuple[str, ...] = ()
    allow: tuple[str, ...] | None = None  # None: all that the member sees


@dataclass(frozen=True, slots=True)
class Organisation:
    """A team, or a company: the wall between tenants."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member as admins see them."""

    id: int
    name: str
    role: str
    groups: tuple[str, ...]
    issuer: str
    subject: str
    created: datetime
    removed: datetime | None


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A static token without its value; the database holds its hash alone."""

    id: int
    member_id: int
    name: str
    allow: tuple[str, ...] | None
    created: datetime
    expires: datetime | None
    used: datetime | None
    revoked: datetime | None


@dataclass(frozen=True, slots=True)
class Holder:
    """The member behind a token."""

    token_id: int
    member: Member


@dataclass(frozen=True, slots=True)
class NewServer:
    """A server to be saved: a launch or a URL, never a secret.

    `spec` has command, args, env_names, cwd, header_names as store.records.ServerSpec.
    """

    name: str
    transport: str  # stdio | http | sse
    spec: Json = field(default_factory=dict)
    url: str = ""
    sign_in: str = NO_SIGN_IN
    server_info: Json = field(default_factory=dict)
    instructions: str = ""
    grants: tuple[str, ...] = EVERYBODY  # organisation, role:NAME, group:NAME, member:ID


@dataclass(frozen=True, slots=True)
class Server:
    """A server of the team."""

    id: int
    name: str
    transport: str
    spec: Json
    url: str
    sign_in: str
    server_info: Json
    instructions: str
    enabled: bool
    grants: tuple[str, ...]
    updated: datetime


@dataclass(frozen=True, slots=True)
class NewTool:
    """A tool to be saved, indexed already (see app.team_server.indexing)."""

    name: str
    raw: Json
    hash: str
    summary: str
    tokens: int
    words: str  # a tsvector literal, see store.team.words
    length: int  # tokens in it
    vocabulary: Sequence[str] = ()  # words of its texts, for queries with slips
    vectors: Mapping[str, tuple[str, bytes]] = field(
        default_factory=dict
    )  # by model: hash, float32
    requests: Sequence["NewRequest"] = ()
    trusted_hash: str = ""
    held: bool = False
    problem: str = ""
    position: int = 0


@dataclass(frozen=True, slots=True)
class NewRequest:
    """A request of a tool, with its vector by model (float32 bytes)."""

    text: str
    source: str
    text_hash: str
    vectors: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the team; `decision` is the review's at its present hash ("" none)."""

    id: int
    server_id: int
    server: str
    name: str
    tool_id: str  # server/tool
    raw: Json
    hash: str
    trusted_hash: str
    held: bool
    problem: str
    position: int
    summary: str
    tokens: int
    decision: str  # "" | approved | kept
    updated: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason to distrust a tool's text."""

    tool_id: int
    rule: str
    severity: str
    detail: str
    hash: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The review's word on one text of a tool."""

    id: int
    tool_id: int
    hash: str
    decision: str  # approved | kept
    reason: str
    member_id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class TickRow:
    """A tool's state in a profile; `tool_id` is server/tool."""

    tool_id: str
    on: bool = True
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """A team profile with its ticks; `settings` as app.core.settings.ProfileSettings."""

    id: int
    name: str
    settings: Json
    version: int
    grants: tuple[str, ...]
    ticks: tuple[TickRow, ...]
    updated: datetime


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy in the text of a repository's policy file."""

    id: int
    name: str
    text: str
    hash: str
    updated: datetime


@dataclass(frozen=True, slots=True)
class Label:
    """A labelled query of a member."""

    id: int
    member_id: int
    query: str
    expected: tuple[str, ...]
    source: str
    at: datetime


@dataclass(frozen=True, slots=True)
class UseRow:
    """A day's count; never a query or an argument."""

    day: date
    member_id: int
    kind: str  # search | call | error | miss
    tool_id: str
    count: int


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One entry of the append-only log; member 0 is the operator."""

    id: int
    at: datetime
    member_id: int
    action: str  # insert | update | delete
    kind: str
    subject: str
    before: Json | None
    after: Json | None


@dataclass(frozen=True, slots=True)
class Change:
    """A row that changed, or is gone, after a cursor."""

    cursor: int
    kind: str  # servers | tools | profiles | policies | labels | decisions
    row_id: int
    gone: bool


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """An upstream's credential, encrypted by the gateway; member 0 is the organisation's."""

    server_id: int
    member_id: int
    sealed: bytes
    key_name: str
    expires: datetime | None
