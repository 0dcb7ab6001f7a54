"""Reads a config that is pasted or opened by hand, of a known host or of none."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.core.errors import ToolcribError, errors_of
from app.hosts.documents.edits import MISSING, value_at
from app.hosts.documents.values import format_of, read_values
from app.hosts.facts import HostFacts, HostFile, host, load_hosts, style
from app.hosts.places import Places
from app.hosts.reading import (
    FoundEntry,
    HostReading,
    hash_bytes,
    read_bytes,
    read_extension,
    with_entries,
)
from store.typed import JsonMapping

# Place of the servers in a file, and the entry style that it implies.
_SHAPES = (
    (("mcpServers",), "any"),
    (("context_servers",), "zed"),
    (("mcp_servers",), "codex"),
    (("extensions",), "goose"),
    (("mcp", "servers"), "plain"),
    (("mcp",), "opencode"),
    (("servers",), "plain"),
    (("experimental", "modelContextProtocolServers"), "continue"),
)
_LIST = "continue"  # the host that names its servers in a list, in YAML


def read_file(
    path: Path, host_hint: str | None = None, places: Places | None = None
) -> HostReading:
    """The servers that a file names; `host_hint` is a host id, else the file is recognised."""
    data = read_bytes(path)
    with errors_of(path):
        if path.name == "manifest.json":
            return _read_manifest(data, path, places or Places.here())
        return read_data(data, path, host_hint or _host_of(path, places))


def read_data(data: bytes, path: Path, host_hint: str = "") -> HostReading:
    """The servers that bytes name, read as the file `path` would be."""
    parsed = read_values(data, format_of(path))
    if format_of(path) == "yaml" and _is_list_of_maps(parsed.value):  # one block of Continue's
        parsed = replace(parsed, value={"mcpServers": parsed.value})
    facts, kind = _kind(parsed.value, path, host_hint)
    reading = HostReading(facts, path, "manual", (), bytes_hash=hash_bytes(data), kind=kind)
    reading = with_entries(reading, parsed, kind)
    entries = tuple(
        entry if entry.scope.startswith("local:") else replace(entry, scope="manual")
        for entry in reading.entries
    )
    return replace(reading, entries=entries)


def own_reading(file: Path, entry: FoundEntry) -> HostReading:
    """A reading of one server that no file names; `file` says where it came from."""
    return HostReading(_no_host(), file, "manual", (entry,))


def _read_manifest(data: bytes, path: Path, places: Places) -> HostReading:
    """An extension of Claude Desktop, opened by hand."""
    facts = host("claude-desktop")
    reading = HostReading(facts, path, "manual", (), bytes_hash=hash_bytes(data))
    entry = read_extension(places, read_values(data, "json").value, path)
    return replace(reading, entries=(replace(entry, scope="manual"),))


def _host_of(path: Path, places: Places | None) -> str:
    if places is None:
        return ""
    for facts in load_hosts():
        if any(path in places.candidates(kind) for kind in facts.server_files):
            return facts.id
    return ""


def _kind(value: object, path: Path, hint: str) -> tuple[HostFacts, HostFile]:
    if not isinstance(value, Mapping):
        raise ToolcribError("The file holds no servers.", "A map like mcpServers is expected.")
    facts = host(hint) if hint else _no_host()
    for kind in facts.server_files:
        if kind.at and _has(value, kind.at):
            return facts, kind
    for at, spelling in _SHAPES:
        if _has(value, at):
            listed = format_of(path) == "yaml" and _is_list_of_maps(value_at(value, at))
            own = facts.style if hint else style(_LIST if listed else _spelling(spelling, value))
            return replace(facts, style=own), _made(path, at)
    if hint == "" and value and all(isinstance(item, Mapping) for item in value.values()):
        return facts, _made(path, ())
    raise ToolcribError("The file holds no servers.", "A map like mcpServers is expected.")


def _spelling(spelling: str, value: JsonMapping) -> str:
    if spelling != "opencode":
        return spelling
    entries = [item for item in value["mcp"].values() if isinstance(item, Mapping)]
    typed = any(entry.get("type") in ("stdio", "http", "sse") for entry in entries)
    return "typed" if typed else "opencode"


def _no_host() -> HostFacts:
    return HostFacts("manual", "Imported file", "file", 99, (), style("any"))


def _made(path: Path, at: tuple[str, ...]) -> HostFile:
    return HostFile(
        key="file",
        scope="manual",
        format=format_of(path),
        paths={},
        at=at,
        also_at=("",),
        comments=True,
        commas=True,
    )


def _has(value: object, at: tuple[str, ...]) -> bool:
    return value_at(value, at, MISSING) is not MISSING


def _is_list_of_maps(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)
