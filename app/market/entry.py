"""A server as a registry lists it: server.json of 2025-12-11, and the older snake_case spelling.

Reading is tolerant of what is missing and strict with what is used: a field of a wrong kind counts
as missing, lengths and numbers are bounded, and an entry without a usable name is refused.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from app.core.errors import ToolcribError
from store.typed import Json, JsonMapping, list_or_empty, object_or_empty

OFFICIAL_META = "io.modelcontextprotocol.registry/official"
ACTIVE, DEPRECATED, DELETED = "active", "deprecated", "deleted"
STDIO, HTTP, SSE = "stdio", "streamable-http", "sse"
POSITIONAL, NAMED = "positional", "named"
LONGEST_ENTRY = 256 * 1024  # characters of an entry's JSON
_NAME = re.compile(r"[a-zA-Z0-9.-]{1,100}/[a-zA-Z0-9._-]{1,100}")
_LONGEST = 4_000  # characters of one text
_MOST = 60  # packages, remotes, arguments, variables, choices of one list
_DEPTH = 3  # variables inside variables


@dataclass(frozen=True, slots=True)
class Input:
    """A value that a server is given: `value` is fixed by the publisher, else a person fills it in.

    `{name}` inside a value is replaced by the variable of that name.
    """

    name: str = ""
    description: str = ""
    required: bool = False
    secret: bool = False
    format: str = "string"  # string | number | boolean | filepath
    value: str = ""
    default: str = ""
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    variables: Mapping[str, "Input"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """A word, or a flag with its value, on a command line."""

    kind: str  # POSITIONAL | NAMED
    flag: str = ""  # with its dashes
    hint: str = ""  # name of a positional one
    repeated: bool = False
    input: Input = field(default_factory=Input)
    plain: bool = False  # a flag that is always given and takes no value


@dataclass(frozen=True, slots=True)
class Remote:
    """A server that is reached by URL."""

    transport: str
    url: str
    headers: tuple[Input, ...] = ()
    variables: Mapping[str, Input] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is fetched and started on this machine."""

    kind: str  # npm | pypi | oci | nuget | mcpb | cargo
    identifier: str
    version: str = ""
    base_url: str = ""
    sha256: str = ""
    runtime: str = ""  # npx | uvx | docker | dnx
    transport: Remote = Remote(STDIO, "")
    before: tuple[Argument, ...] = ()  # the runtime's own arguments
    after: tuple[Argument, ...] = ()  # the package's
    env: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of one listed server."""

    name: str
    version: str = ""
    title: str = ""
    description: str = ""
    website: str = ""
    repository: str = ""
    packages: tuple[Package, ...] = ()
    remotes: tuple[Remote, ...] = ()
    licence: str = ""
    status: str = ACTIVE
    status_message: str = ""
    published_at: str = ""
    updated_at: str = ""
    latest: bool = True
    raw: Json = field(default_factory=dict, repr=False)  # server.json as it came


class EntryError(ToolcribError):
    """An entry that cannot be used; the title names it."""


def read_item(item: object) -> Entry:
    """One item of a registry's list (`{server, _meta}`, or an older bare server); EntryError."""
    fields = object_or_empty(item)
    server = fields.get("server", fields)
    meta = object_or_empty(object_or_empty(fields.get("_meta")).get(OFFICIAL_META))
    return read_entry(server, meta)


def read_entry(server: object, meta: JsonMapping | None = None) -> Entry:
    """The entry that a server.json describes; `meta` is what the registry itself says of it."""
    fields = object_or_empty(server)
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = ascii(str(name)[:80])[1:-1]
        raise EntryError(
            f"An entry is called “{shown}”, which is no server's name.",
            "Names are like io.github.user/server, in plain letters. It was left out.",
        )
    about = meta or {}
    version_detail = object_or_empty(fields.get("version_detail"))
    return Entry(
        name=name,
        version=_text(fields, "version") or _text(version_detail, "version"),
        title=_text(fields, "title"),
        description=_text(fields, "description"),
        website=_web(_text(fields, "websiteUrl", "website_url")),
        repository=_web(_text(object_or_empty(fields.get("repository")), "url")),
        packages=tuple(map(_package, _dicts(fields, "packages"))),
        remotes=tuple(map(_remote, _dicts(fields, "remotes"))),
        licence=_text(fields, "license", "licence")[:80],
        status=_status(_text(about, "status") or _text(fields, "status")),
        status_message=_text(about, "statusMessage", "status_message"),
        published_at=_text(about, "publishedAt", "published_at")[:40],
        updated_at=_text(about, "updatedAt", "updated_at", "statusChangedAt")[:40],
        latest=about.get("isLatest", about.get("is_latest", True)) is not False,
        raw={key: value for key, value in fields.items() if key != "status"},
    )


def _package(fields: Json) -> Package:
    kind = _text(fields, "registryType", "registry_type", "registry_name").lower()
    transport = object_or_empty(fields.get("transport"))
    return Package(
        kind={"docker": "oci"}.get(kind, kind),
        identifier=_text(fields, "identifier", "name"),
        version=_text(fields, "version"),
        base_url=_text(fields, "registryBaseUrl", "registry_base_url"),
        sha256=_text(fields, "fileSha256", "file_sha256").lower(),
        runtime=_text(fields, "runtimeHint", "runtime_hint"),
        transport=_remote(transport) if transport else Remote(STDIO, ""),
        before=tuple(map(_argument, _dicts(fields, "runtimeArguments", "runtime_arguments"))),
        after=tuple(map(_argument, _dicts(fields, "packageArguments", "package_arguments"))),
        env=tuple(map(_input, _dicts(fields, "environmentVariables", "environment_variables"))),
    )


def _remote(fields: Json) -> Remote:
    kind = _text(fields, "type", "transport_type").replace("_", "-") or HTTP
    return Remote(
        transport={"streamable": HTTP, "http": HTTP}.get(kind, kind),
        url=_text(fields, "url"),
        headers=tuple(map(_input, _dicts(fields, "headers"))),
        variables=_variables(fields, _DEPTH),
    )


_VALUED = ("value", "default", "choices", "format", "placeholder", "valueHint", "variables")


def _argument(fields: Json) -> Argument:
    kind = NAMED if _text(fields, "type") == NAMED else POSITIONAL
    valued = any(fields.get(key) not in (None, "", [], {}) for key in (*_VALUED, "value_hint"))
    required = _flag(fields, "isRequired", "is_required")
    described = bool(_text(fields, "description"))
    given = _input(fields)
    if kind == NAMED and not valued and not (required or not described):
        given = _input({**fields, "format": "boolean"})
    return Argument(
        kind=kind,
        flag=_text(fields, "name") if kind == NAMED else "",
        hint=_text(fields, "valueHint", "value_hint")[:60],
        repeated=_flag(fields, "isRepeated", "is_repeated"),
        input=given,
        plain=kind == NAMED and not valued and (required or not described),
    )


def _input(fields: Json, depth: int = _DEPTH) -> Input:
    return Input(
        name=_text(fields, "name")[:200],
        description=_text(fields, "description"),
        required=_flag(fields, "isRequired", "is_required"),
        secret=_flag(fields, "isSecret", "is_secret"),
        format=_text(fields, "format") or "string",
        value=_text(fields, "value"),
        default=_text(fields, "default"),
        placeholder=_text(fields, "placeholder")[:200],
        choices=tuple(_scalar(one)[:200] for one in _list(fields.get("choices"))),
        variables=_variables(fields, depth - 1),
    )


def _variables(fields: Json, depth: int) -> Mapping[str, Input]:
    given = object_or_empty(fields.get("variables"))
    if depth <= 0:
        return {}
    named = list(given.items())[:_MOST]
    return {
        str(name)[:200]: _input({"name": name, **object_or_empty(one)}, depth)
        for name, one in named
    }


def _status(text: str) -> str:
    return text if text in (ACTIVE, DEPRECATED, DELETED) else ACTIVE


def _web(url: str) -> str:
    """A link that may be shown and opened: a file:// one would reach out by itself."""
    return url if url.startswith(("https://", "http://")) and " " not in url else ""


def _text(fields: JsonMapping, *names: str) -> str:
    """The first of these fields that holds something, as text."""
    for name in names:
        text = _scalar(fields.get(name))
        if text:
            return text[:_LONGEST]
    return ""


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _flag(fields: JsonMapping, *names: str) -> bool:
    return any(fields.get(name) is True for name in names)


def _list(value: object) -> list[object]:
    return list_or_empty(value)[:_MOST]


def _dicts(fields: JsonMapping, *names: str) -> Iterator[Json]:
    """The objects of the first of these lists that is there."""
    for name in names:
        if name in fields:
            yield from (one for one in _list(fields[name]) if isinstance(one, dict))
            return
