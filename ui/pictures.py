"""Pictures of the window's pages over the current store, for a machine without a display."""

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from app.core.context import AppContext
from app.hosts.places import Places
from ui.application import make_application
from ui.look.icons import app_icon
from ui.look.theme import DARK_ONLY, LIGHT_ONLY, Theme
from ui.pages.activity.page import USAGE, ActivityPage
from ui.pages.catalog.market.finder import FindServersDialog
from ui.pages.catalog.page import CatalogPage
from ui.pages.playground.page import QUERIES, PlaygroundPage
from ui.windows.main_window import MainWindow
from ui.windows.sections import SECTIONS

SIZE = (1280, 800)
FINDER_SIZE = (1040, 640)
FOUND = "extract the text of a PDF"  # tried in Find servers
_PATIENCE_MS = 60_000  # for the encoder to load, at most
_REST_MS = 400  # after the last task, for what follows by timer


def save_pictures(
    ctx: AppContext, folder: Path, *, places: Places | None = None, query: str = ""
) -> tuple[Path, ...]:
    """Save each page, light and dark, as PNG files; returns their paths.

    Works without a display. `query` is tried in the Playground; labelled queries are run.
    """
    if not any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        # that platform warns of each window that it has no size hints
        os.environ.setdefault("QT_LOGGING_RULES", "default.warning=false")
    app = QApplication.instance() or make_application(["toolcrib"])
    assert isinstance(app, QApplication)  # nothing else was made above
    app.setWindowIcon(app_icon())
    ctx.paths.create()
    folder.mkdir(parents=True, exist_ok=True)
    theme = Theme(app, ctx.paths.home / "cache", LIGHT_ONLY)
    window = MainWindow(ctx, places or Places.here(), theme)
    window.resize(*SIZE)
    window.show()
    try:
        return tuple(_save_all(window, theme, folder, query=query))
    finally:
        window.close()
        window.deleteLater()
        theme.choose(LIGHT_ONLY)


def _save_all(window: MainWindow, theme: Theme, folder: Path, *, query: str) -> list[Path]:
    saved = []
    for section in SECTIONS:
        window.open_page(section.key)
        _wait(lambda: window.tasks.idle)
        page = window.page
        if isinstance(page, PlaygroundPage) and query:
            page.try_query(query)
            _wait(lambda: window.tasks.idle)
        saved += _both_looks(window, theme, folder / section.key)
        if isinstance(page, CatalogPage):
            saved += _save_finder(window, page, theme, folder)
        if isinstance(page, PlaygroundPage) and page.queries.labels:
            page.open_tab(QUERIES)
            page.primary()
            _wait(lambda: window.tasks.idle)
            saved += _both_looks(window, theme, folder / "query-set")
        if isinstance(page, ActivityPage) and page.tabs.isVisible():
            page.tabs.setCurrentIndex(USAGE)
            _wait(lambda: window.tasks.idle)
            saved += _both_looks(window, theme, folder / "usage")
    return saved


def _save_finder(window: MainWindow, page: CatalogPage, theme: Theme, folder: Path) -> list[Path]:
    """Pictures of Find servers with a query."""
    dialog = FindServersDialog(window.services, page)
    dialog.resize(*FINDER_SIZE)  # the offscreen screen is smaller
    dialog.open()
    dialog.query.setText(FOUND)
    _wait(lambda: dialog.model.rowCount() > 0)
    dialog.list.setCurrentIndex(dialog.model.index(0, 0))
    saved = _both_looks(window, theme, folder / "find-servers", of=dialog)
    dialog.reject()
    dialog.deleteLater()
    return saved


def _both_looks(
    window: MainWindow, theme: Theme, stem: Path, *, of: QWidget | None = None
) -> list[Path]:
    """Pictures of the window, or of a dialog of it."""
    saved = []
    for look in (LIGHT_ONLY, DARK_ONLY):
        theme.choose(look)
        _wait(lambda: of is not None or window.tasks.idle)  # the finder goes on preparing
        file = stem.with_name(f"{stem.name}-{look}.png")
        (of or window).grab().save(str(file))
        saved.append(file)
    theme.choose(LIGHT_ONLY)
    return saved


def _wait(ready: Callable[[], bool]) -> None:
    """Let the window work until it is ready and for a moment after that."""
    clock = QElapsedTimer()
    clock.start()
    _rest()
    while not ready() and clock.elapsed() < _PATIENCE_MS:
        _rest()


def _rest() -> None:
    loop = QEventLoop()
    QTimer.singleShot(_REST_MS, loop.quit)
    loop.exec()
