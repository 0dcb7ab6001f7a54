"""Signing in from the window: the page opens when asked, the wait can be ended, tools follow."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QContextMenuEvent, QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton

from app.hosts.launch import LaunchSpec
from app.registry.importing import add_server
from app.registry.register import targets
from app.registry.scan import ScanOptions, scan
from store import servers
from ui.pages.catalog.tree_cells import FLAGS
from ui.widgets.columns import place

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from guarded import Browser, running


@pytest.fixture(scope="module")
def guarded():
    with running() as guarded:
        yield guarded


class Desktop(QObject):
    """What the system would do with a web address; `browser` visits it unless it is off."""

    def __init__(self) -> None:
        super().__init__()
        self.browser = Browser()
        self.visits = True
        self.asked: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.asked.append(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
        if self.visits:
            self.browser.open(self.asked[-1])


@pytest.fixture
def desktop(qapp):
    desktop = Desktop()
    QDesktopServices.setUrlHandler("http", desktop, "open")
    yield desktop
    QDesktopServices.unsetUrlHandler("http")
    desktop.browser.close()


@pytest.fixture
def window(guarded, ctx, fill, open_window, monkeypatch, tmp_path, desktop):
    """Servers that were read, and linear, which asks for a sign-in."""
    guarded.control(life=3600, deny="", state="", hide=[], down=False, page="", more={})
    fill()
    db = ctx.open_store()
    add_server(ctx, db, "linear", LaunchSpec("http", url=guarded.url))
    target = next(t for t in targets(ctx, db) if t.name == "linear")
    db.close()
    scan(ctx, [target], ScanOptions(prepare_encoder=False))
    window = open_window()
    window.catalog.show_server("linear")
    return window


def messages(window) -> str:
    return window.catalog.messages.text


def button(widget, text: str) -> QPushButton:
    return next(b for b in widget.findChildren(QPushButton) if b.text() == text and b.isVisible())


def settled(window, qtbot) -> None:
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)


def linear(ctx):
    db = ctx.open_store()
    found = servers.by_name(db, "linear")
    db.close()
    return found


def test_looking_at_it_opens_no_browser(window, desktop, qtbot):
    content = window.catalog.content
    index = content.model.index_of_server("linear")
    assert index.siblingAtColumn(place(content.model.columns, FLAGS)).data() == "Needs sign-in"
    assert [b.text() for b in content.details.buttons if b.isVisible()] == [
        "Sign in…",
        "Try again",
        "Remove",
    ]
    assert desktop.asked == []


def test_the_button_signs_in_and_reads_the_tools(window, desktop, qtbot, ctx):
    QTest.mouseClick(button(window.catalog.content.details, "Sign in…"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "tools read" in messages(window), timeout=60_000)
    settled(window, qtbot)
    assert messages(window) == "Signed in to linear: 2 tools read."
    assert len(desktop.asked) == 1 and "/authorize?" in desktop.asked[0]
    assert [t.tool.name for t in window.live.catalog.tools if t.server.name == "linear"]
    assert button(window.catalog.content.details, "Sign out")
    assert "You are signed in." in window.catalog.content.details._text.text()
    assert linear(ctx).taken_with["signed_in"]


def test_the_wait_names_the_place_and_can_be_cancelled(window, desktop, qtbot, ctx):
    desktop.visits = False
    QTest.mouseClick(button(window.catalog.content.details, "Sign in…"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "Waiting for you" in messages(window), timeout=30_000)
    assert messages(window).endswith("in the browser, at 127.0.0.1.")
    QTest.mouseClick(button(window.catalog, "Copy address"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == desktop.asked[0]
    window.catalog.sign_in_to_one()  # asked once more: it goes on waiting for the same one
    assert len(desktop.asked) == 1
    QTest.mouseClick(button(window.catalog, "Cancel"), Qt.MouseButton.LeftButton)
    settled(window, qtbot)
    assert messages(window) == ""
    assert window.status.message.text() == "The sign-in to linear was cancelled"
    assert not ctx.paths.secrets.exists()


def test_other_work_goes_on_while_somebody_signs_in(window, desktop, qtbot):
    desktop.visits = False
    window.catalog.sign_in_to_one()
    qtbot.waitUntil(lambda: bool(desktop.asked), timeout=30_000)
    done = []
    window.tasks.work(lambda _job: 1, done.append)
    window.tasks.request(lambda _db: 2, done.append)
    qtbot.waitUntil(lambda: sorted(done) == [1, 2])
    window.catalog.sign_in.cancel()
    settled(window, qtbot)


def test_closing_the_window_ends_the_wait(window, desktop, qtbot):
    desktop.visits = False
    window.catalog.sign_in_to_one()
    qtbot.waitUntil(lambda: bool(desktop.asked), timeout=30_000)
    window.close()


def test_a_denied_sign_in_says_so_and_offers_another_try(window, desktop, guarded, qtbot):
    guarded.control(deny="access_denied")
    window.catalog.sign_in_to_one()
    qtbot.waitUntil(lambda: "Not signed in" in messages(window), timeout=30_000)
    assert messages(window).startswith("Not signed in to linear. The sign-in was not allowed.")
    guarded.control(deny="")
    QTest.mouseClick(button(window.catalog, "Try again"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "2 tools read" in messages(window), timeout=60_000)


def test_the_rows_menu_signs_in_and_out(window, desktop, qtbot, ctx):
    tree = window.catalog.content.tree

    def choose(words: str) -> None:
        place = tree.visualRect(tree.currentIndex()).center()
        QApplication.sendEvent(
            tree.viewport(),
            QContextMenuEvent(
                QContextMenuEvent.Reason.Mouse, place, tree.viewport().mapToGlobal(place)
            ),
        )
        (menu,) = [m for m in tree.findChildren(QMenu) if m.isVisible()]
        action = next(a for a in menu.actions() if a.text().replace("&", "") == words)
        action.trigger()
        menu.close()

    choose("Sign in…")
    qtbot.waitUntil(lambda: "2 tools read" in messages(window), timeout=60_000)
    settled(window, qtbot)
    window.catalog.show_server("linear")
    choose("Sign out")
    qtbot.waitUntil(lambda: window.status.message.text() == "Signed out of linear", timeout=30_000)
    settled(window, qtbot)
    assert (linear(ctx).status, linear(ctx).problem) == ("needs sign-in", "You signed out.")
    assert "tok-" not in ctx.paths.secrets.read_text()


def test_the_command_needs_a_server_that_asks(fill, open_window, desktop):
    fill()
    window = open_window()
    actions = window.commands.findChildren(type(window.commands.read)) + [
        a for m in window.menuBar().findChildren(QMenu) for a in m.actions()
    ]
    command = next(a for a in actions if "Sign in to a server" in a.text().replace("&", ""))
    command.trigger()
    assert window.status.message.text() == "No server asks for a sign-in."
    assert desktop.asked == []


def test_the_first_reading_offers_it_too(guarded, ctx, open_window, desktop, qtbot):
    guarded.control(deny="")
    ctx.paths.create()
    db = ctx.open_store()
    add_server(ctx, db, "linear", LaunchSpec("http", url=guarded.url))
    db.close()
    window = open_window()
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: reading.go.isEnabled(), timeout=20_000)
    assert not reading.enter.isVisible()
    QTest.mouseClick(reading.go, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not reading.busy and window.tasks.idle, timeout=60_000)
    assert reading.reason.text().splitlines()[0] == "linear: It asks for a sign-in."
    assert reading.enter.isVisible() and desktop.asked == []
    QTest.mouseClick(reading.enter, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "2 tools read" in messages(window), timeout=60_000)
    assert reading.model.rows[0].badge(0).word == "Read 2 tools"
    assert not reading.enter.isVisible()
    assert reading.go.text() == "Continue"
    settled(window, qtbot)
