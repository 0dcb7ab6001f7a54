"""A tool called by hand in the window, over a real server."""

import json
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from shiboken6 import isValid

from app.hosts.launch import STDIO, LaunchSpec
from store.connection import transaction
from ui.pages.catalog.calling import dialog as dialog_module
from ui.pages.catalog.calling.dialog import CallDialog
from ui.pages.catalog.calling.result_view import MESSAGES, RESULT, STRUCTURED, WHOLE
from ui.pages.catalog.server_work import add, read
from ui.shell.tasks import Job

SERVER = Path(__file__).parents[1] / "fakes" / "hand_server.py"


@pytest.fixture
def window(ctx, open_window, tmp_path):
    ctx.paths.create()
    env = {"HAND_PID": str(tmp_path / "pid")}
    found = add(ctx, "hand", LaunchSpec(STDIO, sys.executable, (str(SERVER),), env))
    (number,) = found.named
    read(ctx, Job(lambda _value: None), [found.targets[number]])
    return open_window()


@pytest.fixture
def call(window, qtbot):
    """Opens the form of a tool, as T in the tree does."""

    def open_form(name: str) -> CallDialog:
        content = window.pages["catalog"].content
        content.show_tool(window.live.catalog.find(f"hand/{name}").tool.id)
        QTest.keyClick(content.tree, Qt.Key.Key_T)
        found = [d for d in window.findChildren(CallDialog) if d.isVisible()]
        assert len(found) == 1
        return found[0]

    return open_form


def fill(dialog, **values):
    for name, value in values.items():
        dialog.form.inputs[tuple(name.split("__"))][1].show(value)


def press(dialog, qtbot):
    dialog.call.click()
    qtbot.waitUntil(lambda: dialog._job is None, timeout=20_000)


def test_a_form_from_the_schema_is_called_and_its_result_is_shown(call, qtbot):
    dialog = call("echo")
    fill(dialog, text="hey", times=2, tone="loud", tags=["a", "b"], where__file="x.py")
    fill(dialog, dry_run=False)
    press(dialog, qtbot)
    assert dialog.result_view.text(RESULT) == "hey hey"
    structured = json.loads(dialog.result_view.text(STRUCTURED))
    assert structured["where"] == {"file": "x.py"}
    assert structured["tags"] == ["a", "b"]
    assert structured["tone"] == "loud" and structured["dry_run"] is False
    assert "api_key" not in structured  # left empty: not given
    assert json.loads(dialog.result_view.text(WHOLE))["content"][0]["text"] == "hey hey"
    assert '"method":"tools/call"' in dialog.result_view.text(MESSAGES).replace(": ", ":")
    assert dialog.state.text().startswith("Answered after ")
    assert "starting the server took" in dialog.state.text()
    assert dialog.state.text().endswith("tokens ≈")
    dialog.copy.click()
    assert QGuiApplication.clipboard().text() == "hey hey"
    dialog.close()


def test_what_is_wrong_is_said_before_anything_is_started(call, tmp_path, qtbot):
    (tmp_path / "pid").unlink()
    dialog = call("echo")
    fill(dialog, text="x")
    dialog.form.inputs[("times",)][1].widget.setText("many")
    dialog.call.click()
    assert dialog.problem.text() == "times needs a whole number, got “many”."
    dialog.form.inputs[("times",)][1].widget.setText("0")
    dialog.call.click()
    assert dialog.problem.text().startswith("The schema says: times: 0 is less than the minimum")
    assert not (tmp_path / "pid").exists()
    dialog.close()


def test_form_and_json_hold_the_same_arguments(call):
    dialog = call("echo")
    fill(dialog, text="one", tags=["t"])
    dialog.form.setCurrentIndex(1)
    assert json.loads(dialog.form.json.toPlainText()) == {"text": "one", "times": 1, "tags": ["t"]}
    dialog.form.json.setPlainText('{"text": "two", "where": {"file": "f", "line": 3}}')
    dialog.form.setCurrentIndex(0)
    assert dialog.form.arguments() == {"text": "two", "where": {"file": "f", "line": 3}}
    dialog.close()


def test_a_tool_that_may_destroy_is_called_only_after_consent(call, monkeypatch, qtbot):
    asked, answers = [], [False, True, True]

    def confirm(_parent, text, more, *, yes):
        asked.append((text, more, yes))
        return answers.pop(0)

    monkeypatch.setattr(dialog_module, "confirm", confirm)
    dialog = call("wipe")
    dialog.call.click()
    assert dialog._job is None
    assert dialog.result_view.text(RESULT) == ""
    assert asked[0][0] == "Call wipe of hand?"
    assert "may delete or overwrite" in asked[0][1]
    press(dialog, qtbot)
    assert dialog.result_view.text(RESULT) == "wiped"
    press(dialog, qtbot)
    assert len(asked) == 3  # each time: what is deleted once may not be meant twice
    dialog.close()


def test_pictures_and_errors_are_shown_as_what_they_are(call, qtbot):
    dialog = call("picture")
    press(dialog, qtbot)
    (picture,) = dialog.result_view.pictures
    assert picture.pixmap().width() == 1
    assert picture.accessibleName() == "Picture, 1 by 1 pixels, image/png"
    dialog.close()
    dialog = call("fail")
    press(dialog, qtbot)
    assert dialog.state.text().startswith("The tool says: error after")
    assert dialog.result_view.text(RESULT) == "It did not work."
    dialog.close()


def test_earlier_calls_come_back_without_their_secrets(call, qtbot):
    dialog = call("echo")
    fill(dialog, text="first", api_key="my-own-key-123")
    press(dialog, qtbot)
    assert "my-own-key-123" not in dialog.result_view.text(MESSAGES)
    fill(dialog, text="second")
    press(dialog, qtbot)
    dialog.close()
    dialog = call("echo")
    assert dialog.earlier.count() == 3
    assert "my-own-key-123" not in dialog.earlier.itemText(2)
    dialog.earlier.activated.emit(2)
    assert dialog.result_view.text(RESULT) == "first"
    assert dialog.form.arguments()["text"] == "first"
    assert "api_key" not in dialog.form.arguments()
    dialog.close()


def test_a_call_is_stopped_and_closing_leaves_no_server(call, window, tmp_path, qtbot):
    dialog = call("hang")
    dialog.call.click()
    assert dialog.state.text() == "Waiting for the answer…"
    qtbot.waitUntil(lambda: dialog.cancel.isEnabled())
    dialog.cancel.click()
    qtbot.waitUntil(lambda: dialog._job is None, timeout=20_000)
    assert dialog.state.text().startswith("No answer after")
    assert dialog.result_view.text(RESULT).startswith("You stopped it")
    dialog.close()
    dialog = call("echo")
    fill(dialog, text="x")
    press(dialog, qtbot)
    pid = int((tmp_path / "pid").read_text())
    window.close()  # with the form open
    assert not Path(f"/proc/{pid}").exists()


def test_a_held_tool_says_where_it_is_decided(call, ctx, window, qtbot):
    db = ctx.open_store()
    with transaction(db):
        db.execute("UPDATE servers SET trusted = 0")
    db.close()
    window.live.load()
    qtbot.waitUntil(lambda: window.tasks.idle)
    page = window.pages["catalog"]
    page.content.show_tool(window.live.catalog.find("hand/echo").tool.id)
    page.call_tool()
    assert window.findChildren(CallDialog) == []
    assert window.status.message.text() == "hand is not trusted yet. Trust the server first."
    assert not page.content.details.call.isVisible()


def test_a_form_that_is_closed_before_the_answer_ends_the_call(call, window, tmp_path, qtbot):
    dialog = call("hang")
    dialog.call.click()
    qtbot.waitUntil(lambda: (tmp_path / "pid").exists(), timeout=20_000)
    pid = int((tmp_path / "pid").read_text())
    dialog.close()
    qtbot.waitUntil(lambda: not isValid(dialog))
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)
    assert not Path(f"/proc/{pid}").exists()
