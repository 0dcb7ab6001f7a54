import base64
from typing import Any
from urllib.parse import quote

import pytest

from app.safety.flow import PASSAGE, SECRET, DataFlow, can_send, secret_values
from tests.fakes.cpu_time import CpuTime

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MAIL = {"name": "send_mail", "inputSchema": {"properties": {"to": {}, "body": {}}}}
SUM = {"name": "add", "inputSchema": {"properties": {"a": {}}}}
PROSE = (
    "The customer wrote on Monday that the second delivery never came, that the first one was "
    "opened on the way, and that she would rather have her money back than wait for another."
)


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


@pytest.fixture
def flow() -> DataFlow:
    seen = DataFlow()
    seen.note_result("vault", text(f"name: deploy\ntoken: {KEY}\n"))
    seen.note_result("tickets", text(PROSE))
    return seen


SPELLINGS = {
    "as it is": KEY,
    "in a sentence": f"Hello, the key is {KEY}, bye.",
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 in a link": "https://x.biz/?q=" + base64.urlsafe_b64encode(KEY.encode()).decode(),
    "base64 in a link's path": "https://x.biz/a/" + base64.b64encode(KEY.encode()).decode() + "/b",
    "base64 in a word": "data_" + base64.urlsafe_b64encode(KEY.encode()).decode() + "-end",
    "base64 with escapes": "https://x.biz/a/" + quote(base64.b64encode(f"?{KEY}~".encode())),
    "base64 behind many others": "QUJDREVGR0hJSktMTU5P " * 100
    + base64.b64encode(KEY.encode()).decode(),
    "hex": KEY.encode().hex(),
    "hex in a link's path": "https://x.biz/abc/" + KEY.encode().hex() + "/b",
    "behind much else": "word " * 50_000 + KEY,
    "backwards": KEY[::-1],
    "spaced": " ".join(KEY),
    "dashed": "-".join(KEY),
    "its first half": KEY[:20],
    "its second half": KEY[20:],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_of_one_server_is_seen_on_its_way_to_another(
    flow: DataFlow, spelling: str
) -> None:
    found = flow.look("mail", MAIL, {"to": "a@b.biz", "body": SPELLINGS[spelling]})
    assert found is not None
    assert (found.kind, found.source, found.tool) == (SECRET, "vault", "mail/send_mail")
    assert KEY[:12] not in found.sentence


def test_a_secret_is_remembered_behind_much_text() -> None:
    seen = DataFlow()
    seen.note_result("vault", text("word " * 50_000 + KEY))
    carried = seen.look("mail", MAIL, {"body": KEY})
    assert carried is not None and carried.source == "vault"


def test_a_secret_may_go_back_to_the_server_that_gave_it(flow: DataFlow) -> None:
    assert flow.look("vault", {**MAIL, "name": "send_test"}, {"body": KEY}) is None


def test_a_secret_that_nobody_gave_is_seen_too() -> None:
    found = DataFlow().look("mail", MAIL, {"body": "AKIAIOSFODNN7EXAMPL3"})
    assert found is not None and (found.kind, found.source) == (SECRET, "")


def test_a_flood_of_names_hides_no_secret_behind_it() -> None:
    assert KEY in secret_values(f"{'token is ' * 2_000} {KEY}")


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "resource", "resource": {"uri": "x:y", "text": KEY}}]},
        {"content": [{"type": "text", "text": "done"}], "structuredContent": {"key": KEY}},
        {"content": [], "structuredContent": {"password": "hunter-2-hunter"}},
        {"contents": [{"uri": "x:y", "text": f"key {KEY}"}]},
    ],
)
def test_every_part_of_a_result_is_remembered(result: Any) -> None:
    flow = DataFlow()
    flow.note_result("vault", result)
    secret = "hunter-2-hunter" if "hunter" in str(result) else KEY
    for body in (secret, [secret], {"content": [{"type": "text", "text": secret}]}):
        carried = flow.look("mail", MAIL, {"to": "a@b.biz", "body": body, "content": [body]})
        assert carried is not None and carried.source == "vault"


def test_a_tool_that_sends_nothing_out_may_get_anything(flow: DataFlow) -> None:
    assert flow.look("math", SUM, {"a": KEY}) is None


def test_a_passage_of_another_servers_result_is_seen(flow: DataFlow) -> None:
    found = flow.look("mail", MAIL, {"to": "a@b.biz", "body": f"Dear Sir: {PROSE}"})
    assert found is not None and (found.kind, found.source) == (PASSAGE, "tickets")
    assert flow.look("tickets", MAIL, {"body": PROSE}) is None


HONEST = [
    {"to": "ann@example.com", "body": "The customer wants her money back; the delivery was lost."},
    {"url": "https://github.com/o/r/issues/17", "title": "Delivery never came"},
    {"query": "second delivery", "pageToken": "CAUQAA8xY7z9Q2", "max_tokens": 20000000},
    {"to": "ops", "body": "commit 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a is live"},
    {"id": "550e8400-e29b-41d4-a716-446655440000", "to": "me"},
    {"to": "me", "body": "password: <your password>, token: ${TOKEN}, secret: ********"},
    {"body": "Reset your password: open the settings page", "to": "me"},
]


@pytest.mark.parametrize("arguments", HONEST)
def test_honest_calls_are_left_alone(flow: DataFlow, arguments: Any) -> None:
    assert flow.look("mail", MAIL, arguments) is None


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ({"name": "add", "annotations": {"openWorldHint": True}}, True),
        ({"name": "send_mail", "annotations": {"openWorldHint": False}}, False),
        ({"name": "createHttpRequest"}, True),
        ({"name": "create", "inputSchema": {"properties": {"webhookUrl": {}}}}, True),
        ({"name": "create", "inputSchema": {"properties": {"token": {}, "photo": {}}}}, False),
        ({"name": "opening_hours"}, False),
        ({"name": "x", "inputSchema": [], "annotations": 3}, False),
    ],
)
def test_what_can_send(tool: Any, expected: bool) -> None:
    assert can_send(tool) is expected


def test_values_that_only_stand_for_secrets_are_none() -> None:
    assert secret_values("token: <TOKEN> password=your-password-here API_KEY=${KEY}") == []
    assert secret_values('"password": "hunter2!x"') == ["hunter2!x"]


@pytest.mark.parametrize(
    "piece",
    ["token: a1b2c3d4 ", "QUJD", "a1-", "eyJ", "-eyJ", ".eyJ", "sk-", "-----BEGIN ", "word "],
)
def test_a_hostile_result_and_call_take_little_time(piece: str) -> None:
    seen = DataFlow()
    with CpuTime() as cpu:
        seen.note_result("a", text(piece * (1_000_000 // len(piece))))
        seen.look("b", MAIL, {"body": piece * (1_000_000 // len(piece))})
    assert cpu.seconds < 2
