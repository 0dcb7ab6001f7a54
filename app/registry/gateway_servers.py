"""Servers that a gateway's own config names, beside the tools that it was found to reach.

Read after consent only, as the gateway itself reads it: a file that its arguments name, or one of
its own name in the folder that it starts in. Only names of servers are taken.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.core.errors import ToolcribError
from app.hosts.documents.values import format_of, read_values
from app.hosts.places import is_file
from app.hosts.reading import read_bytes
from store.records import ServerSpec

_ENDINGS = (".json", ".jsonc", ".yaml", ".yml", ".toml", ".kdl")
_PLACES = ("mcpServers", "mcp_servers", "servers", "mcp", "mcps", "upstreams", "backends")
_IN_KDL = re.compile(r'(?m)^[ \t]{0,16}(?:mcp|server)[ \t]{1,4}"?([\w.-]{1,64})"?[ \t]{0,4}\{')
_NAME = re.compile(r"[\w.-]{1,64}")
_SHORTEST = 4  # of a file's own name, which then is the gateway's and no "mcp.json" of a host
_MOST, _LARGEST = 200, 1_000_000


def configured_servers(spec: ServerSpec) -> tuple[str, ...]:
    """Names of the servers in the gateway's own config; none where there is no config."""
    names: dict[str, None] = {}
    for file in _files(spec):
        try:
            data = read_bytes(file, _LARGEST)
            names |= dict.fromkeys(_names(data, file))
        except (ToolcribError, OSError):
            continue  # the gateway may read what is none to us
    return tuple(names)[:_MOST]


def _files(spec: ServerSpec) -> Iterator[Path]:
    folder = Path(spec.cwd) if spec.cwd else Path.home()
    words = [word.rpartition("=")[2] for word in spec.args]
    for word in words:
        if word.endswith(_ENDINGS) and "${" not in word and is_file(folder / word):
            yield folder / word
    try:
        inside = sorted(folder.iterdir()) if spec.cwd else []
    except OSError:
        return
    programs = [Path(word).name for word in (spec.command, *words)]
    for file in inside:
        own = file.stem.lstrip(".")
        named = len(own) >= _SHORTEST and any(program.startswith(own) for program in programs)
        if named and file.suffix in _ENDINGS and is_file(file):
            yield file


def _names(data: bytes, file: Path) -> Iterator[str]:
    if file.suffix == ".kdl":
        yield from _IN_KDL.findall(data.decode("utf-8", "replace"))
        return
    tree = read_values(data, format_of(file)).value
    for place in _PLACES:
        servers = tree.get(place) if isinstance(tree, Mapping) else None
        if isinstance(servers, Mapping):
            yield from (name for name, one in servers.items() if _is_on(name, one))
        elif isinstance(servers, list):
            named = [(one.get("name"), one) for one in servers if isinstance(one, Mapping)]
            yield from (str(name) for name, one in named if _is_on(name, one))


def _is_on(name: object, entry: object) -> bool:
    """True if it is an entry of a server that the gateway is to reach."""
    if not isinstance(entry, Mapping) or not isinstance(name, str) or not _NAME.fullmatch(name):
        return False
    return entry.get("disabled") is not True and entry.get("enabled") is not False
