"""`toolcrib.lock`: the tools of a project's servers as reviewed, by hash and tokens.

The file is committed. A later reading is compared with it, so that CI names every changed text and
every added token. It holds no text of a tool and no value of a variable.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.core.safe_write import write_file
from app.tokens.counters import Counter
from app.tokens.host_text import host_text
from store.hashes import tool_hash
from store.typed import Json

FILE_NAME = "toolcrib.lock"
VERSION = 1
MOST_BYTES = 50_000_000
ADDED, REMOVED, CHANGED = "added", "removed", "changed"


@dataclass(frozen=True, slots=True)
class LockedTool:
    """A tool as it was reviewed: hash of its definition, tokens of its host text."""

    name: str
    hash: str
    tokens: int


@dataclass(frozen=True, slots=True)
class LockedServer:
    """A server of the project and its tools, in the order of their names."""

    name: str
    command: str  # as consent shows it, credentials masked
    tools: tuple[LockedTool, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all its tools."""
        return sum(tool.tokens for tool in self.tools)


@dataclass(frozen=True, slots=True)
class Lock:
    """The whole file."""

    encoding: str
    servers: tuple[LockedServer, ...] = ()

    def tools(self) -> dict[str, LockedTool]:
        """Every tool by its id, `server/tool`."""
        return {f"{s.name}/{t.name}": t for s in self.servers for t in s.tools}


@dataclass(frozen=True, slots=True)
class LockChange:
    """A difference between the lock and a later reading; `tokens` is how many came or went."""

    kind: str  # added | removed | changed
    server: str
    tool: str = ""  # "" for a whole server
    tokens: int = 0
    command: bool = False  # the server's command changed

    @property
    def text(self) -> str:
        """One sentence."""
        tokens = f" ({self.tokens:+,} tokens)" if self.tokens else ""
        if self.command:
            return f"{self.server}: the command changed."
        if not self.tool:
            return f"{self.server}: server {self.kind}{tokens}."
        what = "text changed" if self.kind == CHANGED else f"tool {self.kind}"
        return f"{self.server}/{self.tool}: {what}{tokens}."


@dataclass(frozen=True, slots=True)
class ReadServer:
    """A server read now: its command as shown, its raw tools, or why it could not be read."""

    name: str
    command: str
    tools: Sequence[Json] = ()
    problem: str = ""
    file: str = ""  # the project's file that names it


@dataclass(frozen=True, slots=True)
class Comparison:
    """A reading against the lock."""

    changes: tuple[LockChange, ...] = field(default=())

    @property
    def tokens(self) -> int:
        """Tokens that came, less those that went."""
        return sum(change.tokens for change in self.changes)


def make_lock(read: Iterable[ReadServer], counter: Counter) -> Lock:
    """The lock of what was read; servers that could not be read have no place in it."""
    servers = [
        LockedServer(one.name, one.command, _locked(one.tools, counter))
        for one in read
        if not one.problem
    ]
    return Lock(counter.encoding, tuple(sorted(servers, key=lambda server: server.name)))


def _locked(raw: Sequence[Json], counter: Counter) -> tuple[LockedTool, ...]:
    tools = [
        LockedTool(str(one.get("name", "")), tool_hash(one), counter.count(host_text(one)))
        for one in raw
    ]
    return tuple(sorted(tools, key=lambda tool: (tool.name, tool.hash)))


def compare(old: Lock, new: Lock) -> Comparison:
    """Every difference, by server and tool; counts of another tokenizer are not compared."""
    before = {server.name: server for server in old.servers}
    after = {server.name: server for server in new.servers}
    same_counts = old.encoding == new.encoding
    changes: list[LockChange] = []
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None and now is not None:
            changes.append(LockChange(ADDED, name, tokens=now.tokens))
        elif now is None and was is not None:
            changes.append(LockChange(REMOVED, name, tokens=-was.tokens))
        elif was is not None and now is not None:
            changes += _server_changes(was, now, counted=same_counts)
    return Comparison(tuple(changes))


def _server_changes(was: LockedServer, now: LockedServer, *, counted: bool) -> list[LockChange]:
    changes = []
    if was.command != now.command:
        changes.append(LockChange(CHANGED, was.name, command=True))
    before = {tool.name: tool for tool in was.tools}
    after = {tool.name: tool for tool in now.tools}
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is not None and new is not None and old.hash == new.hash:
            continue
        kind = CHANGED if old and new else ADDED if new else REMOVED
        tokens = (new.tokens if new else 0) - (old.tokens if old else 0)
        changes.append(LockChange(kind, was.name, name, tokens if counted else 0))
    return changes


def write_lock(lock: Lock, path: Path) -> None:
    """Write the file, a line for each tool so that a review reads well; ToolcribError if not."""
    servers = []
    for server in lock.servers:
        lines = [
            f"        {json.dumps([tool.name, tool.hash, tool.tokens], ensure_ascii=False)}"
            for tool in server.tools
        ]
        listed = "[\n" + ",\n".join(lines) + "\n      ]" if lines else "[]"
        servers.append(
            f'    {{\n      "name": {json.dumps(server.name, ensure_ascii=False)},\n'
            f'      "command": {json.dumps(server.command, ensure_ascii=False)},\n'
            f'      "tools": {listed}\n    }}'
        )
    inside = "[\n" + ",\n".join(servers) + "\n  ]" if servers else "[]"
    text = (
        f'{{\n  "version": {VERSION},\n  "tokenizer": {json.dumps(lock.encoding)},\n'
        f'  "servers": {inside}\n}}\n'
    )
    try:
        write_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        title = f"{path} was not written: {error.strerror}."
        raise ToolcribError(title, "Check the free space, and that you may write there.") from error


def read_lock(path: Path) -> Lock:
    """The lock in a file; ToolcribError says what is wrong and how to make it anew."""
    hint = f"Make it anew: toolcrib lock --project {path.parent}"
    try:
        values = json.loads(read_plain(path, MOST_BYTES).decode("utf-8"))
        return _lock(values)
    except OSError as error:
        raise ToolcribError(f"{path} cannot be read: {error.strerror}.", hint) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ToolcribError(f"{path} is not a lock of Toolcrib: {error}.", hint) from error


def _lock(values: Any) -> Lock:
    if not isinstance(values, Mapping) or values.get("version") != VERSION:
        raise ValueError(f"version {VERSION} was expected")
    servers = []
    for one in values["servers"]:
        tools = [_tool(*tool) for tool in one["tools"]]
        servers.append(LockedServer(_text(one["name"]), _text(one["command"]), tuple(tools)))
    return Lock(_text(values["tokenizer"]), tuple(servers))


def _tool(name: object, digest: object, tokens: object) -> LockedTool:
    if type(tokens) is not int or tokens < 0:
        raise ValueError("tokens must be a whole number")
    return LockedTool(_text(name), _text(digest), tokens)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text was expected")
    return value
