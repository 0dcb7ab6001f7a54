"""Settings, HTTP: the switch starts what answers, over a real backend."""

import os
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from app.core.settings import Settings
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import STOP, Place
from store import exports
from store.connection import transaction
from store.records import THROUGH, ExportRecord
from ui.windows.settings_dialog import SettingsDialog

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from web_client import WebClient, free_port

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no backend")
SECONDS = 30_000


@pytest.fixture
def tab(fill, open_window, qtbot, ctx, monkeypatch):
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    assert os.environ["PYTHON_KEYRING_BACKEND"]  # never the machine's keychain
    fill()
    ctx.keep(http_port=free_port())
    window = open_window()
    QTest.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    dialog = window.findChild(SettingsDialog)
    dialog.tabs.setCurrentIndex(
        next(n for n in range(dialog.tabs.count()) if dialog.tabs.tabText(n) == "&HTTP")
    )
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=SECONDS)
    yield dialog.http
    dialog.reject()
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=SECONDS)
    place = Place(str(ctx.paths.home))
    request(place, STOP)
    qtbot.waitUntil(lambda: not Path(place.socket).exists(), timeout=SECONDS)


def test_it_is_off_and_nothing_runs_until_it_is_switched_on(tab, ctx):
    assert tab.state.text() == "The HTTP endpoint is off."
    assert not tab.copy_url.isEnabled() and not tab.copy_token.isEnabled()
    assert not Path(Place(str(ctx.paths.home)).socket).exists()


def test_switching_it_on_has_a_backend_answer_at_what_is_copied(tab, ctx, qtbot):
    tab.form.fields["http"].click()
    qtbot.waitUntil(lambda: tab.state.text().startswith("It answers"), timeout=SECONDS)
    assert Settings.load(ctx.paths.settings_file).http
    tab.copy_url.click()
    url = QApplication.clipboard().text()
    tab.copy_token.click()
    qtbot.waitUntil(lambda: QApplication.clipboard().text() != url, timeout=SECONDS)
    port, path = ctx.settings.http_port, urlsplit(url).path
    web = WebClient(port, QApplication.clipboard().text(), path)
    assert web.initialize().last["result"]["serverInfo"]["name"] == "toolcrib"
    tab.form.fields["http"].click()
    qtbot.waitUntil(lambda: "is off" in tab.state.text(), timeout=SECONDS)
    assert not tab.copy_token.isEnabled()


def test_a_port_that_is_taken_is_said(tab, ctx, qtbot):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        tab.form.fields["http_port"].setValue(taken.getsockname()[1])
        tab.form.fields["http"].click()
        qtbot.waitUntil(lambda: "cannot be used" in tab.state.text(), timeout=SECONDS)


def test_the_hosts_that_have_its_url_are_named(tab, ctx, qtbot):
    db = ctx.open_store()
    record = ExportRecord(
        0, 1.0, "cursor", "user", "/x", THROUGH, "default", "", "h", "", detail={"http": True}
    )
    with transaction(db):
        exports.add(db, record)
    db.close()
    tab.follow()
    qtbot.waitUntil(
        lambda: tab.state.text().endswith("Without it these hosts reach no tool: Cursor."),
        timeout=SECONDS,
    )
    tab.form.fields["http"].click()
    qtbot.waitUntil(
        lambda: tab.state.text().endswith("Written with its URL: Cursor."), timeout=SECONDS
    )


def test_a_page_can_open_the_settings_at_a_tab(fill, open_window, qtbot):
    fill()
    window = open_window()
    window.services.open_settings("login")
    dialog = window.findChild(SettingsDialog)
    assert dialog.tabs.tabText(dialog.tabs.currentIndex()) == "&Login"
    assert dialog.login.isVisible() and not dialog.http.isVisible()
    dialog.reject()
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=SECONDS)


def test_an_answer_that_comes_after_the_dialog_is_gone_is_dropped(fill, open_window, qtbot):
    fill()
    window, there = open_window(), threading.Event()
    window.tasks.wait(lambda _job: there.wait(SECONDS / 1000), lambda _none: None)
    window.open_settings("http")  # its look waits behind the one above
    dialog = window.findChild(SettingsDialog)
    dialog.reject()
    qtbot.waitUntil(lambda: not isValid(dialog))
    there.set()
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=SECONDS)  # nothing was raised meanwhile
