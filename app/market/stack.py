"""A stack: servers with a profile's policy, as one file or link that a colleague opens.

It holds no secret: what is missing is asked for when it is opened. Reading one is strict, for it
comes from another person; what it would start is shown before anything starts.
"""

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from app.core.errors import ToolcribError
from app.core.text import visible
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec
from app.market.entry import Entry, Input, read_entry
from app.market.launch import ARGUMENT, ENV, HEADER, Choice, Field, choices, launch_of
from app.secrets import credentials
from store.typed import Json, object_or_empty

FORMAT = 1
LINK = "toolcrib-stack:"
MOST_BYTES = 1 << 20
_MOST_SERVERS = 60
_HOME = "{HOME}"
_NAME = re.compile(r"[\w .@()+-]{1,64}")
_REFERENCE = re.compile(r"\$\{secret:(\d{1,3})\}")
_NOTHING = "Nothing was added."


@dataclass(frozen=True, slots=True)
class OwnLaunch:
    """A server that no list names: its command or URL, without a value of its environment."""

    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StackServer:
    """One server: out of a list with its entry, or with a launch of its own."""

    name: str
    source: str = ""  # URL of the list
    entry: Json = field(default_factory=dict)
    number: int = 0  # of the package or address
    given: Mapping[str, str] = field(default_factory=dict)
    launch: OwnLaunch | None = None

    @property
    def listed(self) -> Entry:
        """The entry of one out of a list."""
        return read_entry(self.entry)

    @property
    def choice(self) -> Choice:
        """The package or address; ToolcribError where it cannot be used."""
        ways = choices(self.listed, private=True)
        way = next((one for one in ways if one.number == self.number), None)
        if way is None or way.problem:
            why = way.problem if way else "It has not that package."
            raise ToolcribError(f"{self.name} cannot be added: {why}", _NOTHING)
        return way

    @property
    def fields(self) -> tuple[Field, ...]:
        """All values that it can be given."""
        own = self.launch
        if own is None:
            return self.choice.fields
        words = " ".join((own.command, *own.args, own.url))
        numbers = sorted({int(number) for number in _REFERENCE.findall(words)})
        keys = [(name, ENV) for name in own.env] + [(name, HEADER) for name in own.headers]
        keys += [(f"secret{number}", ARGUMENT) for number in numbers]
        return tuple(Field(key, where, _secret(key)) for key, where in keys)

    @property
    def lacking(self) -> tuple[Field, ...]:
        """Values that it needs and that the stack does not have."""
        return tuple(one for one in self.fields if one.wanted and not self.given.get(one.key))

    def launch_with(
        self, values: Mapping[str, str], home: str, *, shown: bool = False
    ) -> LaunchSpec:
        """The launch with a person's values; ToolcribError names what is missing.

        One that is only `shown` has names in the place of it.
        """
        kept = {key: text.replace(_HOME, home) for key, text in self.given.items()}
        every = {**kept, **{key: text for key, text in values.items() if text}}
        own = self.launch
        if own is None:
            return launch_of(self.listed, self.choice, every, private=True, shown=shown)
        if shown:
            every = {one.key: one.stand_in for one in self.lacking} | every
        missing = [one.key for one in self.fields if not every.get(one.key)]
        if missing:
            keys = " ".join(f"--set {self.name}.{key}=VALUE" for key in missing)
            raise ToolcribError(f"{self.name} needs a value for {', '.join(missing)}.", keys)

        def filled(text: str) -> str:
            whole = text.replace(_HOME, home)
            return _REFERENCE.sub(lambda match: every[f"secret{match[1]}"], whole)

        return LaunchSpec(
            own.transport,
            filled(own.command),
            tuple(map(filled, own.args)),
            env={name: every[name] for name in own.env},
            url=filled(own.url),
            headers={name: every[name] for name in own.headers},
        )


@dataclass(frozen=True, slots=True)
class Stack:
    """Servers, and the policy of the profile that shows them."""

    name: str
    servers: tuple[StackServer, ...]
    policy: str = ""  # text of a policy file

    def to_bytes(self) -> bytes:
        """The file."""
        value = {
            "toolcrib_stack": FORMAT,
            "name": self.name,
            "servers": [_server_json(one) for one in self.servers],
            "policy": self.policy,
        }
        return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"

    @property
    def link(self) -> str:
        """The same as a link."""
        packed = zlib.compress(self.to_bytes(), 9)
        return LINK + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def without_home(text: str, home: str) -> str:
    """A text that names no home folder, which is another one for a colleague."""
    return text.replace(home, _HOME) if len(home) > 1 else text


def plain_given(given: Mapping[str, str | None], choice: Choice, home: str) -> dict[str, str]:
    """The values that may be in a stack: none that is secret, or looks so."""
    secret = {one.key for one in choice.fields if one.input.secret}
    return {
        key: without_home(text, home)
        for key, text in given.items()
        if text and key not in secret and not _looks_secret(key, text)
    }


def _looks_secret(key: str, text: str) -> bool:
    return credentials.is_secret_name(key) or bool(credentials.credentials_in(text))


def read_stack(data: bytes | str) -> Stack:
    """A stack from its file's bytes, or from its link; ToolcribError for anything else."""
    if isinstance(data, str):
        data = _from_link(data)
    if len(data) > MOST_BYTES:
        raise _refusal("it is larger than 1 MB.")
    try:
        fields = orjson.loads(data)
    except ValueError as error:
        raise _refusal("it is no JSON.") from error
    if not isinstance(fields, dict) or fields.get("toolcrib_stack") != FORMAT:
        raise _refusal("it is no stack of this version of Toolcrib.")
    rows, policy, name = fields.get("servers"), fields.get("policy", ""), fields.get("name")
    if not isinstance(rows, list) or not 0 < len(rows) <= _MOST_SERVERS:
        raise _refusal(f"it must name 1 to {_MOST_SERVERS} servers.")
    if not isinstance(policy, str) or not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _refusal("its name or its policy is no plain text.")
    servers = tuple(map(_server, rows))
    if len({one.name for one in servers}) < len(servers):
        raise _refusal("it names a server twice.")
    return Stack(name, servers, policy)


def _from_link(text: str) -> bytes:
    packed = text.strip().removeprefix(LINK)
    try:
        whole = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        opened = zlib.decompressobj()
        data = opened.decompress(whole, MOST_BYTES + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise _refusal("the link is damaged.") from error
    if len(data) <= MOST_BYTES and not opened.eof:
        raise _refusal("the link is damaged.")
    return data


def _server(row: object) -> StackServer:
    fields = object_or_empty(row)
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _refusal(f"a server is called “{visible(str(name)[:60])}”.")
    if "launch" in fields:
        return StackServer(name, launch=_own(name, fields["launch"]))
    entry, number = fields.get("entry"), fields.get("number")
    given = fields.get("given", {})
    if not isinstance(entry, dict) or not isinstance(number, int) or not isinstance(given, dict):
        raise _refusal(f"{name} has neither an entry nor a launch.")
    source = fields.get("source")
    made = StackServer(
        name, source if isinstance(source, str) else "", entry, number,
        {str(key): text for key, text in given.items() if isinstance(text, str)},
    )  # fmt: skip
    made.choice  # noqa: B018 - refuses what no list may name
    return made


def _own(name: str, value: object) -> OwnLaunch:
    fields = object_or_empty(value)
    transport = fields.get("transport")
    texts = {key: fields.get(key, "") for key in ("command", "url")}
    lists = {key: fields.get(key, []) for key in ("args", "env", "headers")}
    plain = all(isinstance(one, str) and one.isprintable() for one in texts.values())
    plain = plain and all(
        isinstance(rows, list) and all(isinstance(one, str) and one.isprintable() for one in rows)
        for rows in lists.values()
    )
    if transport not in (STDIO, HTTP, SSE) or not plain:
        raise _refusal(f"the launch of {name} cannot be read.")
    if bool(texts["command"]) is not (transport == STDIO) or bool(texts["url"]) is (
        transport == STDIO
    ):
        raise _refusal(f"{name} has neither a command nor a URL.")
    args, env, headers = (tuple(lists[key]) for key in ("args", "env", "headers"))
    return OwnLaunch(transport, texts["command"], args, texts["url"], env, headers)


def _server_json(server: StackServer) -> Json:
    own = server.launch
    if own is None:
        return {"name": server.name, "source": server.source, "number": server.number,
                "given": dict(server.given), "entry": server.entry}  # fmt: skip
    launch = {"transport": own.transport, "command": own.command, "args": list(own.args),
              "url": own.url, "env": list(own.env), "headers": list(own.headers)}  # fmt: skip
    return {"name": server.name, "launch": {key: value for key, value in launch.items() if value}}


def _secret(key: str) -> Input:
    return Input(name=key, required=True, secret=True)


def _refusal(what: str) -> ToolcribError:
    return ToolcribError(f"The stack cannot be opened: {what}", _NOTHING)
