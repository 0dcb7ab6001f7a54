"""Edits that put the gateway in front of one server, or in place of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from app.catalog.availability import Conditions
from app.catalog.catalog import Catalog
from app.catalog.conditions import DESTRUCTIVE, is_destructive, matches
from app.core.home import HOME_VARIABLE, moved_folder
from app.hosts.documents.edits import Delete, Edit, Path, Set
from app.hosts.facts import EntryStyle
from app.hosts.places import Places
from app.system.endpoint import Address
from store.serving import held_texts
from store.typed import Json, JsonMapping, list_or_empty

# Keys that only a remote entry has; they would be wrong or unsafe beside a command.
_REMOTE_KEYS = (
    "url",
    "httpUrl",
    "serverUrl",
    "uri",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "http_headers_helper",
    "headersHelper",
    "requestOptions",
    "oauth",
    "oauth_resource",
    "oauthClientId",
    "oauthScopes",
    "scopes",
    "auth",
    "authProviderType",
    "targetAudience",
    "targetServiceAccount",
    "apiKey",
    "request_timeout_ms",
    "versionNegotiation",
)


@dataclass(frozen=True, slots=True)
class GatewayCall:
    """Command of the gateway: its absolute path, the profile, and Toolcrib's own folder."""

    path: str
    profile: str
    home: str = ""  # where a variable moved it, which hosts do not pass on; else ""
    address: Address | None = None  # instead of a command, for the one entry for all servers
    behind: tuple[str, ...] = ()  # catalogue names of the servers that this entry reaches

    @classmethod
    def here(cls, path: PurePath, profile: str, places: Places) -> "GatewayCall":
        """The call of the gateway at `path`, for the folder that is used now."""
        moved = moved_folder(places.environ, linux=places.system == "linux")
        return cls(str(path), profile, moved)

    def args(self, server: str = "") -> list[str]:
        """Arguments before any `--`."""
        narrowed = ["--server", server] if server else ["--servers", ",".join(self.behind)]
        return ["--profile", self.profile, *narrowed]


def narrowed_servers(catalog: Catalog) -> frozenset[int]:
    """Ids of the servers of which the profile keeps something from a host, or from a session.

    Only these need the gateway in pruned mode: behind it all others would be what they are. With
    search hints all do.
    """
    if _stops_calls(catalog) or catalog.settings.gateway.search_hints:
        return frozenset(server.id for server in catalog.servers)
    conditions = Conditions.of(catalog.settings.scopes, catalog.settings.preconditions)
    patterns = {pattern for _, pattern in conditions.rules}
    patterns |= {condition.pattern for condition in conditions.preconditions}
    narrowed = {server.id for server in catalog.servers if held_texts(server.taken_with)}
    patterns_asked = catalog.settings.gateway.approve
    patterns |= set(patterns_asked) - {DESTRUCTIVE}
    for row in catalog.tools:
        if DESTRUCTIVE in patterns_asked and is_destructive(row.tool.raw):
            narrowed.add(row.server.id)
        if not row.tool.gone and row.server.id not in narrowed:
            named = any(matches(row.tool.tool_id, pattern) for pattern in patterns)
            if named or not row.shown:
                narrowed.add(row.server.id)
    return frozenset(narrowed)


def _stops_calls(catalog: Catalog) -> bool:
    """True if the gateway stops calls of any server, which no other program would."""
    settings = catalog.settings.gateway
    return (settings.secrets_out, settings.passages_out) != ("warn", "warn")


def pruned_edits(
    at: Path,
    raw: JsonMapping,
    *,
    style: EntryStyle,
    call: GatewayCall,
    server: str,
    passed: Mapping[str, str],
) -> list[Edit]:
    """Edits that make one entry start the gateway for its own server.

    `passed` are variables the gateway needs from the host, as the host spells them.
    """
    nested = raw.get("transport")
    inside = isinstance(nested, Mapping)
    here: JsonMapping = nested if isinstance(nested, Mapping) else raw
    where = (*at, "transport") if inside else at
    remote = style.command not in here
    edits: list[Edit] = [Delete((*where, key)) for key in _REMOTE_KEYS if remote and key in here]
    original = [] if remote else ["--", *_words(here, style)]
    edits += _command_edits(where, style, call.path, [*call.args(server), *original])
    kind = style.type or ("stdio" if "type" in here and remote else "")
    if kind and here.get("type") != kind:
        edits.append(Set((*where, "type"), kind))
    return edits + _passed_on(at, raw, style, passed) + _home_edits(at, style, call)


def through_entry(
    style: EntryStyle, call: GatewayCall, name: str, passed: Mapping[str, str] | None = None
) -> Json:
    """The one entry for all servers, spelled as the host wants it."""
    if call.address is not None:
        return _url_entry(style, call.address, name)
    variables = dict(passed or {})
    entry: Json = {"type": style.type} if style.type else {}
    if style.command == "cmd":  # Goose names its extensions inside as well
        entry |= {"name": name, "description": "Toolcrib"}
    if style.array:
        entry[style.command] = [call.path, *call.args()]
    else:
        entry |= {style.command: call.path, style.args: call.args()}
    if style.passes:
        entry |= {style.passes: list(variables)} if variables else {}
        variables = {}
    env = variables | ({HOME_VARIABLE: call.home} if call.home else {})
    if env or style.command == "cmd":
        entry[style.env] = env
    return entry | dict(style.new)


def _url_entry(style: EntryStyle, address: Address, name: str) -> Json:
    key, kind = style.http
    entry: Json = {"type": kind} if kind else {}
    if style.command == "cmd":
        entry |= {"name": name, "description": "Toolcrib"}
    entry[key] = address.url
    headers: Json = {"Authorization": address.bearer}
    outer, dot, inner = style.headers.partition(".")
    if address.variable and outer == "http_headers":
        entry["bearer_token_env_var"] = address.variable
    else:
        entry[outer] = {inner: headers} if dot else headers
    if style.command == "cmd":
        entry[style.env] = {}
    return entry | {key: value for key, value in style.new.items() if key != "type"}


def _passed_on(
    at: Path, raw: JsonMapping, style: EntryStyle, passed: Mapping[str, str]
) -> list[Edit]:
    if not style.passes:
        return [Set((*at, style.env, name), spelled) for name, spelled in passed.items()]
    names = [*list_or_empty(raw.get(style.passes)), *passed]
    return [Set((*at, style.passes), list(dict.fromkeys(names)))] if passed else []


def _words(keys: JsonMapping, style: EntryStyle) -> list[str]:
    command = keys[style.command]
    words = command if isinstance(command, list) else [command]
    return [str(word) for word in [*words, *(keys.get(style.args) or [])]]


def _command_edits(where: Path, style: EntryStyle, path: str, args: list[str]) -> list[Edit]:
    if style.array:
        return [Set((*where, style.command), [path, *args])]
    return [Set((*where, style.command), path), Set((*where, style.args), args)]


def _home_edits(at: Path, style: EntryStyle, call: GatewayCall) -> list[Edit]:
    return [Set((*at, style.env, HOME_VARIABLE), call.home)] if call.home else []
