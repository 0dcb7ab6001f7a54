"""One server entry of a host file: its launch, and the gateway's arguments if Toolcrib wrote it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath, PureWindowsPath

from app.core.home import HOME_VARIABLE
from app.hosts.documents.edits import value_at
from app.hosts.facts import EntryStyle
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec
from store.records import storable
from store.typed import JsonMapping, list_or_empty

GATEWAY = "toolcrib-gateway"
REACH = "reach"  # its first argument where it starts a package that answers at a URL: a server
THROUGH_NAME = "toolcrib"
_TRANSPORTS = {
    "stdio": STDIO,
    "local": STDIO,
    "sse": SSE,
    "http": HTTP,
    "streamable-http": HTTP,
    "streamable_http": HTTP,
    "streamablehttp": HTTP,
    "remote": HTTP,
}
# Kinds of entries that hosts serve themselves: nothing that could be started from outside.
_BUILT_IN = frozenset({"builtin", "platform", "frontend", "inline_python"})


@dataclass(frozen=True, slots=True)
class Gateway:
    """Arguments of the gateway in an entry that Toolcrib wrote."""

    profile: str
    server: str  # "" = one entry for all servers
    command: str = ""
    args: tuple[str, ...] = ()
    behind: tuple[str, ...] | None = None  # servers that the one entry reaches, None for all


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry as Toolcrib understands it."""

    launch: LaunchSpec | None
    disabled: bool = False
    problem: str = ""
    gateway: Gateway | None = None


def is_built_in(raw: JsonMapping) -> bool:
    """True if the entry names a part of the host itself."""
    return raw.get("type") in _BUILT_IN


def view_entry(raw: object, style: EntryStyle) -> EntryView:
    """The entry's launch spec, or why there is none; never expands a variable."""
    if not isinstance(raw, Mapping):
        return EntryView(None, problem="This entry is not a table of settings.")
    nested = raw.get("transport")
    keys = {**raw, **nested} if isinstance(nested, Mapping) else dict(raw)
    disabled = style.off is not None and keys.get(style.off[0]) is style.off[1]
    launch, problem = _launch(keys, style)
    if launch is not None and not all(map(_is_text, _words_of(launch))):
        launch, problem = None, "This entry has a broken character (half a pair, or NUL)."
    if launch is None:
        return EntryView(None, disabled, problem)
    gateway = gateway_of(launch)
    if gateway is None:
        return EntryView(launch, disabled, problem)
    env = {name: value for name, value in launch.env.items() if name != HOME_VARIABLE}
    inner = replace(launch, command=gateway.command, args=gateway.args, env=env)
    return EntryView(inner if gateway.command else None, disabled, problem, gateway)


def started_by(raw: object, style: EntryStyle) -> LaunchSpec | None:
    """The launch as the host starts it: of an entry that Toolcrib wrapped, the gateway's."""
    if not isinstance(raw, Mapping):
        return None
    nested = raw.get("transport")
    return _launch({**raw, **nested} if isinstance(nested, Mapping) else raw, style)[0]


def wrapped_as(outer: LaunchSpec, inner: LaunchSpec, server: str) -> LaunchSpec:
    """`inner` as the gateway of `outer` starts it; `inner` itself where that is no gateway.

    `server` is the catalogue name that the gateway then asks for, "" for the one it has. A server
    behind a URL is not named in the entry, which stays what it is.
    """
    gateway = gateway_of(outer)
    if gateway is None:
        return inner
    own, dashes, _ = _split(outer.args)
    if server and "--server" in own:
        own[own.index("--server") + 1] = server
    if not gateway.command:
        return replace(outer, args=tuple(own))
    home = {name: value for name, value in outer.env.items() if name == HOME_VARIABLE}
    args = (*own, dashes, inner.command, *inner.args)
    return replace(inner, command=outer.command, args=args, env={**inner.env, **home})


def _words_of(launch: LaunchSpec) -> Iterator[str]:
    yield from (launch.command, *launch.args, launch.cwd, launch.url)
    for pairs in (launch.env, launch.headers):
        yield from (*pairs, *pairs.values())


def _is_text(word: str) -> bool:
    return "\0" not in word and word == storable(word)


def gateway_of(launch: LaunchSpec) -> Gateway | None:
    """Arguments of Toolcrib's gateway in the launch, None when it starts something else."""
    if program_name(launch.command) != GATEWAY or launch.args[:1] == (REACH,):
        return None
    own, _, original = _split(launch.args)
    options = dict(zip(own[::2], own[1::2], strict=False))
    names = options.get("--servers")
    return Gateway(
        options.get("--profile", ""),
        options.get("--server", ""),
        original[0] if original else "",
        tuple(original[1:]),
        None if names is None else tuple(filter(None, names.split(","))),
    )


def program_name(command: str) -> str:
    """The bare name of a program, without folder and .exe, on any system."""
    path = PureWindowsPath(command) if "\\" in command else PurePath(command)
    return path.name.removesuffix(".exe")


def _split(args: Sequence[str]) -> tuple[list[str], str, list[str]]:
    words = list(args)
    if "--" not in words:
        return words, "", []
    cut = words.index("--")
    return words[:cut], "--", words[cut + 1 :]


def _launch(keys: JsonMapping, style: EntryStyle) -> tuple[LaunchSpec | None, str]:
    command, args = _command(keys, style)
    address = next(((key, how) for key, how in style.urls if isinstance(keys.get(key), str)), None)
    if command and address:
        return None, "This entry has a command and a URL; it must have one of them."
    if address:
        return _remote(keys, style, address)
    if not command:
        if "settings" in keys:
            return None, "This server comes from an extension of the host."
        return None, "This entry has no command and no URL."
    if args is None:
        return None, "The arguments of this entry are not a list of texts."
    cwd = keys.get(style.cwd)
    env = {**_passed_on(keys), **_texts(keys.get(style.env))}
    return LaunchSpec(STDIO, command, args, env, cwd if isinstance(cwd, str) else ""), ""


def _command(keys: JsonMapping, style: EntryStyle) -> tuple[str, tuple[str, ...] | None]:
    raw = keys.get(style.command)
    words = raw if isinstance(raw, list) else [raw] if isinstance(raw, str) else []
    more = keys.get(style.args) or []
    if not isinstance(more, list) or not all(_is_scalar(word) for word in [*words, *more]):
        return (str(words[0]) if words else ""), None
    texts = [_text(word) for word in [*words, *more]] if words else []
    return (texts[0] if texts else ""), tuple(texts[1:])


def _remote(
    keys: JsonMapping, style: EntryStyle, address: tuple[str, str]
) -> tuple[LaunchSpec | None, str]:
    key, assumed = address
    kind = str(keys.get("type", "")).lower()
    transport = _TRANSPORTS.get(kind, assumed)
    if not transport or transport == STDIO:
        return None, "This entry has a URL without a type, so the host skips it."
    if kind in ("ws", "websocket", "tcp"):
        return None, f"Toolcrib cannot reach servers over {kind}."
    return LaunchSpec(transport, url=keys[key], headers=_headers(keys, style)), ""


def _headers(keys: JsonMapping, style: EntryStyle) -> dict[str, str]:
    headers = _texts(value_at(keys, style.headers.split(".")))
    for name, variable in _texts(keys.get("env_http_headers")).items():
        headers[name] = f"${{{variable}}}"
    if isinstance(token := keys.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    return headers


def _passed_on(keys: JsonMapping) -> dict[str, str]:
    """Variables that the host only names: Codex passes them on, Goose keeps them in a keyring."""
    names = [*list_or_empty(keys.get("env_vars")), *list_or_empty(keys.get("env_keys"))]
    return {name: f"${{{name}}}" for name in names if isinstance(name, str)}


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(key): _text(item) for key, item in value.items() if _is_scalar(item)}


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
