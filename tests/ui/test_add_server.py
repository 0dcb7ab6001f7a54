"""Adding a server by hand, and pasting a config."""

import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLineEdit

from app.hosts.launch import HTTP, STDIO
from ui.pages.catalog.add_server import AddServerDialog
from ui.pages.catalog.new_server import FieldError, command_server, url_server

FAKE = Path(__file__).parents[1] / "fakes" / "fake_server.py"
SECRET = "sk-neverShownAnywhere456"


@pytest.fixture
def window(open_window, qtbot):
    window = open_window()
    qtbot.waitUntil(lambda: window.catalog.state == "empty" and window.tasks.idle, timeout=20_000)
    return window


@pytest.fixture
def dialog(window):
    window.catalog.empty.buttons[1].click()
    return window.findChild(AddServerDialog)


def test_a_command_line_is_split_as_a_shell_would():
    name, launch = command_server(" time ", "uvx 'my server' --zone UTC", [("A", "b c"), ("", "")])
    assert (name, launch.transport, launch.command) == ("time", STDIO, "uvx")
    assert launch.args == ("my server", "--zone", "UTC")
    assert launch.env == {"A": "b c"}


def test_a_url_keeps_its_headers():
    _, launch = url_server("web", "https://example.com/mcp ", [("Authorization", "Bearer x")])
    assert (launch.transport, launch.url) == (HTTP, "https://example.com/mcp")
    assert launch.headers == {"Authorization": "Bearer x"}


@pytest.mark.parametrize(
    ("name", "line", "pairs", "field"),
    [
        (" ", "uvx a", (), "name"),
        ("a", " ", (), "start"),
        ("a", "uvx 'a", (), "start"),
        ("a", "uvx a", (("", "value"),), "pairs"),
        ("a", "uvx a", (("A=B", "c"),), "pairs"),
        ("a", "uvx a", (("A", "b"), ("A", "c")), "pairs"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(name, line, pairs, field):
    with pytest.raises(FieldError) as raised:
        command_server(name, line, pairs)
    assert raised.value.field == field


@pytest.mark.parametrize("url", ["", "example.com/mcp", "ftp://a/b", "http://[", "https://a b/c"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(FieldError):
        url_server("a", url, ())


def test_bad_input_is_said_in_place_and_nothing_is_lost(dialog, window):
    dialog.command.setText("uvx mcp-server-time")
    name, value = dialog.pairs.rows[0]
    name.setText("TOKEN")
    value.setText(SECRET)
    dialog.save.click()
    assert dialog.isVisible() and dialog.problem.text() == "Give the server a name."
    assert dialog.command.text() == "uvx mcp-server-time"
    assert value.text() == SECRET and value.echoMode() == QLineEdit.EchoMode.Password
    assert len(dialog.pairs.rows) == 2  # there is always an empty one
    dialog.reject()
    assert window.catalog.state == "empty"


def test_a_server_typed_in_is_offered_for_reading_with_its_values_hidden(
    dialog, window, qtbot, ctx
):
    dialog.name.setText("fake")
    dialog.command.setText(f'"{sys.executable}" -S -E "{FAKE}"')
    name, value = dialog.pairs.rows[0]
    name.setText("FAKE_MODE")
    value.setText(f"tools=2,{SECRET}")
    dialog.save.click()
    model = window.catalog.reading.model
    qtbot.waitUntil(lambda: window.catalog.state == "reading" and model.rowCount() == 1)
    assert model.rows[0].candidate.name == "fake" and model.rows[0].ticked
    assert SECRET.encode() not in ctx.paths.database.read_bytes()
    window.catalog.primary()
    qtbot.waitUntil(lambda: not window.catalog.reading.busy, timeout=60_000)
    assert model.rows[0].tools == 2


def test_a_pasted_config_that_is_broken_stays_to_be_corrected(dialog, window, qtbot):
    dialog.tabs.setCurrentIndex(1)
    dialog.text.setPlainText('{"mcpServers": ')
    dialog.save.click()
    qtbot.waitUntil(lambda: "not valid JSON" in dialog.problem.text())
    assert dialog.isVisible() and dialog.save.isEnabled()
    dialog.text.setPlainText('{"mcpServers": {"time": {"command": "uvx"}}}')
    dialog.save.click()
    model = window.catalog.reading.model
    qtbot.waitUntil(lambda: window.catalog.state == "reading" and model.rowCount() == 1)
    assert model.rows[0].candidate.name == "time"


def test_a_server_that_is_being_added_is_offered_also_where_cancel_comes_late(
    dialog, window, qtbot
):
    dialog.name.setText("late")
    dialog.command.setText("uvx mcp-server-time")
    dialog.save.click()
    dialog.reject()
    model = window.catalog.reading.model
    qtbot.waitUntil(lambda: window.catalog.state == "reading" and model.rowCount() == 1)
    qtbot.waitUntil(lambda: not window.findChildren(AddServerDialog))


def test_at_200_per_cent_both_ways_to_a_server_are_read_whole(window, theme, qtbot):
    try:
        theme.set_zoom(200)
        dialog = AddServerDialog(window.services, window)
        dialog.open()
        assert dialog.minimumWidth() <= dialog.screen().availableGeometry().width()
        for radio in (dialog.by_command, dialog.by_url):
            qtbot.waitUntil(lambda r=radio: r.width() >= r.sizeHint().width(), timeout=20_000)
            assert radio.parentWidget().rect().contains(radio.geometry())
        dialog.reject()
    finally:
        theme.set_zoom(100)
