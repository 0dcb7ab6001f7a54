"""The window's part of find_journey.py: the same steps by clicks, offscreen."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_registry import FakeRegistry
from find_journey import BUDGET, HOST, PYPI, QUERY, Machine, held, until
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.hosts.places import Places
from app.market import sources
from store import market
from ui.look.theme import Theme
from ui.pages.catalog.market.finder import FindServersDialog
from ui.pages.catalog.market.fitting import FitDialog
from ui.pages.hosts.page import HostsPage
from ui.pages.hosts.reach_row import OtherServers
from ui.pages.review.page import ReviewPage
from ui.windows.main_window import MainWindow

Json = dict[str, Any]


class Person:
    """Someone at the window: waits, looks, clicks."""

    def __init__(self, window: MainWindow, folder: Path | None) -> None:
        self.window, self._folder, self.clicks = window, folder, 0

    def until(self, what: str, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        until(what, holds, lambda: QTest.qWait(20))

    def idle(self) -> None:
        """Wait until nothing runs."""
        self.until("all work is done", lambda: self.window.tasks.idle)

    def click(self, widget: QWidget) -> None:
        """Click a button that can be seen."""
        held(widget.isVisible() and widget.isEnabled(), f"{widget} cannot be clicked")
        self.clicks += 1
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def picture(self, name: str, widget: QWidget | None = None) -> None:
        """Keep what can be seen."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (widget or self.window).grab().save(str(self._folder / f"{name}.png"))


def in_the_window(
    machine: Machine, server: FakeRegistry, folder: Path | None,
    *, rename: Callable[[int], None],
) -> Json:  # fmt: skip
    """The journey; returns its figures."""
    app = QApplication([])
    machine.set_up_host(9)
    ctx = AppContext(Paths(machine.own, Path(os.environ["TOOLCRIB_MODELS"])), Settings())
    ctx.paths.create()
    machine.run("registry", "add", server.url, "--name", "team", "--private")
    machine.run("profile", "set", f"budget.tokens={BUDGET}")
    # a journey asks the registry on loopback only
    sources.all_sources = lambda db: tuple(s for s in market.sources(db) if s.name == "team")
    theme = Theme(app, ctx.paths.home / "cache", "light")
    window = MainWindow(ctx, Places(machine.home, {}, "linux"), theme)
    window.resize(1280, 800)
    window.show()
    person = Person(window, folder)
    person.until("the window opens", lambda: window.live.catalog is not None)
    person.idle()
    try:
        _find(person)
        _read(person)
        _review(person)
        figures = _tick(person)
        _export(person)
    finally:
        window.close()
    arguments = {"ref": str(machine.file)}
    machine.call("benspdf/pdf_extract_text", arguments, rename)
    return {**figures, "clicks": person.clicks}


def _find(person: Person) -> None:
    catalog = person.window.catalog
    person.until("no server is known", lambda: catalog.state == "empty")
    person.click(catalog.empty.buttons[3])
    dialog = person.window.findChild(FindServersDialog)
    person.click(dialog.fetch)
    person.until("the list is fetched", lambda: dialog.fetch.text() == "Fetch lists")
    QTest.keyClicks(dialog.query, QUERY)

    def names() -> list[str]:
        return [row.name for row in dialog.model.rows]

    person.until("it is among what is found", lambda: PYPI in names())
    dialog.list.setCurrentIndex(dialog.model.index(names().index(PYPI), 0))
    package = "benspdf-mcp"
    person.until("its details are shown", lambda: package in dialog.details.command.text())
    person.picture("1-find", dialog)
    person.click(dialog.details.add)
    person.until("consent is asked", lambda: catalog.state == "reading")
    person.idle()


def _read(person: Person) -> None:
    catalog = person.window.catalog
    person.picture("2-consent")
    person.click(catalog.reading.go)
    person.until("it is read", lambda: catalog.reading.after_read)
    person.idle()
    person.click(catalog.reading.go)
    person.until("the next step is said", lambda: "benspdf is read" in catalog.messages.text)
    person.picture("3-read")


def _review(person: Person) -> None:
    window = person.window
    window.open_page("review")
    page = window.pages["review"]
    held(isinstance(page, ReviewPage), "no Review")
    person.until("tools wait", lambda: page.card.item is not None)
    person.picture("4-review")
    while page.model.rowCount():
        left = page.model.rowCount()
        person.until("its text is read to the end", lambda: _read_to_the_end(page))
        person.click(page.card.approve)
        person.until("one is approved", lambda left=left: page.model.rowCount() < left)
        person.idle()


def _read_to_the_end(page: ReviewPage) -> bool:
    bar = page.card.evidence.verticalScrollBar()
    bar.setValue(bar.maximum())
    return page.card.approve.isEnabled()


def _tick(person: Person) -> Json:
    window = person.window
    window.open_page("catalog")
    window.catalog.show_server("benspdf")
    window.catalog.fit_server()
    person.until("ticks are proposed", lambda: window.findChild(FitDialog) is not None)
    dialog = window.findChild(FitDialog)
    chosen, tokens = [tool.tool.name for tool in dialog.chosen], dialog.verdict.tokens
    held("pdf_extract_text" in chosen and dialog.verdict.word == "PASS", f"proposed: {chosen}")
    person.picture("5-fit", dialog)
    person.click(dialog.save)
    person.idle()
    catalog = window.live.catalog
    held(catalog is not None and len(catalog.shown) == len(chosen), "the ticks are not so")
    db = window.services.ctx.open_store()
    stored = [tool.tool.name for tool in load_catalog(db).shown]
    db.close()
    held(sorted(stored) == sorted(chosen), f"stored are {stored}")
    return {"ticked": len(chosen), "tokens": tokens}


def _export(person: Person) -> None:
    window = person.window
    window.open_page("hosts")
    page = window.pages["hosts"]
    held(isinstance(page, HostsPage), "no Hosts")
    page.choose(HOST)
    person.until("the host is shown", lambda: page.preview is not None)
    page.detail.radios["through"].click()
    person.until("it goes through", lambda: page.preview and page.preview.plan.mode == "through")
    person.idle()
    person.click(page.detail.reach.add)
    dialog = window.findChild(OtherServers)
    dialog.list.item(0).setCheckState(Qt.CheckState.Checked)
    person.click(dialog.save)
    person.until("it is reached", lambda: page.preview and page.preview.plan.also == ("benspdf",))
    person.idle()
    person.picture("6-export")
    person.click(page.detail.write)
    person.idle()
    person.picture("7-written")
