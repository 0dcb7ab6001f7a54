"""The records that hosts keep of their sessions, and the calls and requests in them.

Each format was read off files that the real host wrote (Claude Code 2.1.330, Codex 0.169,
Copilot CLI 1.0.102, Gemini CLI 0.61, Qwen Code 0.15, opencode 1.18). Names and times are taken,
never arguments, results or prompts.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

OWN_SERVERS = ("toolcrib",)  # the journal has these calls


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call: the host's id of it, and server and tool as the host spells them."""

    call: str
    server: str
    tool: str
    at: float


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request to a model; several lines of one request have the same id."""

    id: str
    at: float


Parse = Callable[[Mapping[str, Any]], Iterator[RecordedCall | RecordedRequest]]


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """The records of one host: their paths below HOME, and the meaning of their lines.

    `marks`: a line with none of them is skipped without being parsed.
    """

    host: str
    variable: str  # environment variable that moves `folder`, "" for none
    folder: str  # below HOME
    pattern: str  # of files below the folder
    marks: tuple[bytes, ...]
    parse: Parse

    def place(self, home: Path, environ: Mapping[str, str]) -> Path:
        """The folder on this machine."""
        moved = environ.get(self.variable, "") if self.variable else ""
        return Path(moved) if moved else home / self.folder


def _claude_code(line: Mapping[str, Any]) -> Iterator[RecordedCall | RecordedRequest]:
    message = line.get("message")
    if line.get("type") != "assistant" or not isinstance(message, Mapping):
        return
    at = _time(line.get("timestamp"))
    ids = (line.get("requestRef"), line.get("requestId"), message.get("id"))
    yield RecordedRequest(_text(next((one for one in ids if one), "")), at)
    for part in _list(message.get("content")):
        name = _text(part.get("name"))
        if part.get("type") == "tool_use" and name.startswith("mcp__"):
            server, _, tool = name.removeprefix("mcp__").partition("__")
            yield RecordedCall(_text(part.get("id")), server, tool, at)


def _codex(line: Mapping[str, Any]) -> Iterator[RecordedCall | RecordedRequest]:
    payload = line.get("payload")
    if line.get("type") != "event_msg" or not isinstance(payload, Mapping):
        return
    at = _time(line.get("timestamp"))
    kind, item = payload.get("type"), payload.get("item")
    if kind == "token_count":
        yield RecordedRequest(_text(line.get("timestamp")), at)
    elif kind == "item_completed" and isinstance(item, Mapping):
        if item.get("type") == "McpToolCall":
            server, tool = _text(item.get("server")), _text(item.get("tool"))
            yield RecordedCall(_text(item.get("id")), server, tool, at)
    elif kind == "mcp_tool_call_end" and isinstance(call := payload.get("invocation"), Mapping):
        server, tool = _text(call.get("server")), _text(call.get("tool"))
        yield RecordedCall(_text(payload.get("call_id")), server, tool, at)


def _copilot_cli(line: Mapping[str, Any]) -> Iterator[RecordedCall | RecordedRequest]:
    data = line.get("data")
    if not isinstance(data, Mapping):
        return
    at = _time(line.get("timestamp"))
    if line.get("type") == "session.usage_record":
        yield RecordedRequest(_text(line.get("id")), at)
    elif line.get("type") == "tool.execution_start" and data.get("mcpServerName"):
        server, tool = _text(data.get("mcpServerName")), _text(data.get("mcpToolName"))
        yield RecordedCall(_text(data.get("toolCallId")), server, tool, at)


def _gemini_cli(line: Mapping[str, Any]) -> Iterator[RecordedCall | RecordedRequest]:
    if line.get("type") != "gemini":
        return
    yield RecordedRequest(_text(line.get("id")), _time(line.get("timestamp")))
    for call in _list(line.get("toolCalls")):
        tool, mark, rest = _text(call.get("displayName")).rpartition(" (")
        if mark and rest.endswith(" MCP Server)"):
            server = rest.removesuffix(" MCP Server)")
            yield RecordedCall(_text(call.get("id")), server, tool, _time(call.get("timestamp")))


def _qwen_code(line: Mapping[str, Any]) -> Iterator[RecordedCall | RecordedRequest]:
    at = _time(line.get("timestamp"))
    if line.get("type") == "assistant":
        yield RecordedRequest(_text(line.get("uuid")), at)
    payload = line.get("systemPayload")
    event = payload.get("uiEvent") if isinstance(payload, Mapping) else None
    if not isinstance(event, Mapping) or event.get("tool_type") != "mcp":
        return
    server = _text(event.get("mcp_server_name"))
    tool = _text(event.get("function_name")).removeprefix(f"mcp__{server}__")
    yield RecordedCall(_text(line.get("uuid")), server, tool, at)


def opencode_part(part_id: str, at: float, text: str) -> Iterator[RecordedCall | RecordedRequest]:
    """A row of opencode's table of parts; its tool's name has the server's before it."""
    try:
        data = json.loads(text)
    except ValueError:
        return
    if not isinstance(data, Mapping):
        return
    if data.get("type") == "step-finish":
        yield RecordedRequest(part_id, at)
    elif data.get("type") == "tool":
        yield RecordedCall(part_id, "", _text(data.get("tool")), at)


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""


def _time(value: Any) -> float:
    """Seconds since the epoch, 0.0 for what is no time."""
    try:
        return datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0


def parse_object(line: bytes) -> Mapping[str, Any] | None:
    """The JSON object that a line is, None for any other line."""
    try:
        value = orjson.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None


def parse_line(form: RecordFormat, line: bytes) -> Iterator[RecordedCall | RecordedRequest]:
    """The calls and requests of one line; none for a line that is not the host's."""
    if not any(mark in line for mark in form.marks):
        return
    value = parse_object(line)
    if value is not None:
        for one in form.parse(value):
            if one.at > 0 and not (isinstance(one, RecordedCall) and one.server in OWN_SERVERS):
                yield one


FORMATS = (
    RecordFormat(
        "claude-code",
        "CLAUDE_CONFIG_DIR",
        ".claude",
        "projects/*/*.jsonl",
        (b'"assistant"',),
        _claude_code,
    ),
    RecordFormat(
        "codex",
        "CODEX_HOME",
        ".codex",
        "sessions/*/*/*/rollout-*.jsonl",
        (b"McpToolCall", b"mcp_tool_call_end", b"token_count"),
        _codex,
    ),
    RecordFormat(
        "copilot-cli",
        "COPILOT_HOME",
        ".copilot",
        "session-state/*/events.jsonl",
        (b"tool.execution_start", b"session.usage_record"),
        _copilot_cli,
    ),
    RecordFormat(
        "gemini-cli", "", ".gemini", "tmp/*/chats/session-*.jsonl", (b'"gemini"',), _gemini_cli
    ),
    RecordFormat(
        "qwen-code",
        "",
        ".qwen",
        "projects/*/chats/*.jsonl",
        (b'"assistant"', b"mcp_server_name"),
        _qwen_code,
    ),
)
OPENCODE = "opencode"
OPENCODE_FILE = "opencode/opencode.db"  # below XDG_DATA_HOME, ~/.local/share
