"""Labels from the hosts' records: a prompt, the tools called after it, and consent to both."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.catalog.catalog import change_settings
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.settings import GatewaySettings
from app.hooks.record_labels import MOST_TOOLS, labels_from_records
from app.hosts.launch import LaunchSpec
from app.registry.importing import add_server as register
from store.records import LabelRecord

AT = "2026-11-26T02:06:30.904Z"
KEY = "sk-" + "a1B2" * 8


@pytest.fixture(autouse=True)
def known(add_server: Any) -> None:
    add_server("files", "read", "write", *(f"t{n}" for n in range(MOST_TOOLS)))


def keep_prompts(db: apsw.Connection) -> None:
    change_settings(db, "default", {"gateway": GatewaySettings(keep_prompts=True)})


def labels(db: apsw.Connection, home: Path, *, agreed: bool = True) -> tuple[LabelRecord, ...]:
    paths = Paths(home / "toolcrib", home / "models")
    return labels_from_records(db, paths, home, {}, "default", agreed=agreed)


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "timestamp": AT, "message": {"role": "user", "content": text}, **more}


def call(tool: str, number: int = 1) -> dict[str, Any]:
    part = {"type": "tool_use", "id": f"c{number}", "name": f"mcp__files__{tool}", "input": {}}
    message = {"id": "m", "role": "assistant", "content": [part]}
    return {"type": "assistant", "timestamp": AT, "requestId": f"r{number}", "message": message}


def claude(home: Path, *lines: dict[str, Any]) -> None:
    file = home / ".claude" / "projects" / "-repo" / "one.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_neither_consent_alone_gives_a_label(db: apsw.Connection, tmp_path: Path) -> None:
    claude(tmp_path, user("show the log"), call("read"))
    with pytest.raises(ToolcribError, match="Prompts are not kept"):
        labels(db, tmp_path)
    keep_prompts(db)
    with pytest.raises(ToolcribError, match="records are not read"):
        labels(db, tmp_path, agreed=False)
    (one,) = labels(db, tmp_path)
    assert (one.query, one.expected) == ("show the log", ("files/read",))
    assert one.source == "record:claude-code"


def test_a_prompt_has_the_calls_up_to_the_next_one(db: apsw.Connection, tmp_path: Path) -> None:
    keep_prompts(db)
    result = [{"type": "tool_result", "tool_use_id": "c1", "content": "PRIVATE"}]
    claude(
        tmp_path,
        user("read it and write it"),
        call("read"),
        user(result),
        user("<system-reminder>be brief</system-reminder>"),
        user("meta", isMeta=True),
        call("write", 2),
        user([{"type": "text", "text": "thank you"}]),
        user("<command-name>/clear</command-name>"),
        call("read", 3),
        user("/compact"),
        call("read", 4),
        user(f"read it with {KEY}"),
        call("read", 5),
        call("gone", 6),
    )
    assert [(one.query, one.expected) for one in labels(db, tmp_path)] == [
        ("read it and write it", ("files/read", "files/write")),
        ("read it with ••••", ("files/read",)),
    ]


def test_a_prompt_holds_no_secret_of_a_server(
    ctx: AppContext, db: apsw.Connection, tmp_path: Path
) -> None:
    keep_prompts(db)
    launch = LaunchSpec("stdio", "db-server", env={"PLACE": "k7Qw-9zPx-33ab"})
    register(ctx, db, "db", launch)
    claude(tmp_path, user("read it with k7Qw-9zPx-33ab now"), call("read"))
    (one,) = labels(db, tmp_path)
    assert one.query == "read it with •••• now"
    ctx.paths.secrets.write_text("{broken", encoding="utf-8")
    with pytest.raises(ToolcribError, match="cannot be read"):
        labels(db, tmp_path)


def test_a_day_of_work_after_one_prompt_teaches_nothing(
    db: apsw.Connection, tmp_path: Path
) -> None:
    keep_prompts(db)
    calls = [call(f"t{n}", n) for n in range(MOST_TOOLS)]
    claude(tmp_path, user("do it all"), *calls, call("read", 90), user("a" * 9_000), call("read"))
    assert labels(db, tmp_path) == ()
    claude(tmp_path, user("do it all"), *calls)
    assert len(labels(db, tmp_path)[0].expected) == MOST_TOOLS


@pytest.mark.parametrize(
    ("host", "file", "lines"),
    [
        (
            "codex",
            ".codex/sessions/2026/11/26/rollout-1.jsonl",
            [
                {
                    "type": "event_msg",
                    "payload": {
                        "type": "item_completed",
                        "item": {
                            "type": "UserMessage",
                            "content": [{"type": "text", "text": "show the log"}],
                        },
                    },
                },
                {
                    "type": "event_msg",
                    "payload": {
                        "type": "item_completed",
                        "item": {
                            "type": "McpToolCall",
                            "id": "c",
                            "server": "files",
                            "tool": "read",
                        },
                    },
                },
            ],
        ),
        (
            "copilot-cli",
            ".copilot/session-state/1/events.jsonl",
            [
                {
                    "type": "user.message",
                    "data": {"content": "show the log", "transformedContent": "<now> show"},
                },
                {
                    "type": "tool.execution_start",
                    "data": {"toolCallId": "c", "mcpServerName": "files", "mcpToolName": "read"},
                },
            ],
        ),
        (
            "gemini-cli",
            ".gemini/tmp/p/chats/session-1.jsonl",
            [
                {"$set": {"messages": [{"type": "user", "content": [{"text": "<context>"}]}]}},
                {"type": "user", "content": [{"text": "show the log"}]},
                {
                    "type": "gemini",
                    "id": "g",
                    "toolCalls": [
                        {"id": "c", "displayName": "read (files MCP Server)", "timestamp": AT}
                    ],
                },
                {"type": "user", "content": [{"functionResponse": {"id": "c"}}]},
            ],
        ),
        (
            "qwen-code",
            ".qwen/projects/p/chats/1.jsonl",
            [
                {
                    "type": "user",
                    "message": {"role": "user", "parts": [{"text": "show the log"}]},
                },
                {
                    "uuid": "c",
                    "systemPayload": {
                        "uiEvent": {
                            "tool_type": "mcp",
                            "mcp_server_name": "files",
                            "function_name": "mcp__files__read",
                        }
                    },
                },
            ],
        ),
    ],
)
def test_each_host_has_its_own_form(
    db: apsw.Connection, tmp_path: Path, host: str, file: str, lines: list[dict[str, Any]]
) -> None:
    keep_prompts(db)
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({"timestamp": AT, **line}) + "\n" for line in lines))
    (one,) = labels(db, tmp_path)
    assert (one.query, one.expected) == ("show the log", ("files/read",))
    assert one.source == f"record:{host}"


def test_opencode_keeps_its_prompts_in_a_database(db: apsw.Connection, tmp_path: Path) -> None:
    keep_prompts(db)
    path = tmp_path / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    source = apsw.Connection(str(path))
    source.execute("CREATE TABLE message (id TEXT, data TEXT)")
    source.execute(
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER,"
        " time_updated INTEGER, data TEXT)"
    )
    for name, role in (("m1", "user"), ("m2", "assistant")):
        source.execute("INSERT INTO message VALUES (?, ?)", (name, json.dumps({"role": role})))
    rows = (
        ("p1", "m1", '{"type":"text","text":"\\"show the log\\""}'),
        ("p2", "m2", '{"type":"tool","tool":"files_read","state":{"input":{"q":"PRIVATE"}}}'),
        ("p3", "m2", '{"type":"text","text":"done"}'),
        ("p4", "m1", '{"type":"text","synthetic":true,"text":"made up"}'),
        ("p5", "m2", '{"type":"tool","tool":"files_write","state":{}}'),
        ("p6", "m1", '{"type":"text","text":5}'),
    )
    for number, (part, message, data) in enumerate(rows):
        values = (part, message, "s", number, 1_795_700_000_000 + number, data)
        source.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", values)
    source.close()
    (one,) = labels(db, tmp_path)
    assert (one.query, one.expected) == ("show the log", ("files/read", "files/write"))
