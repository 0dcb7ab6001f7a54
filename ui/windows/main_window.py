"""The main window: toolbar, sections, budget strip, pages, status bar."""

from PySide6.QtCore import QEvent, QSettings, Qt
from PySide6.QtGui import QCloseEvent, QResizeEvent, QShowEvent, QUndoStack
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.context import AppContext
from app.errors import ToolcribError
from app.hosts.places import Places
from app.policy.budget import PASS
from app.profiles import DEFAULT
from app.safety.review import OPEN
from ui.actions import past
from ui.models.live_catalog import LiveCatalog
from ui.services import Services
from ui.tasks import Tasks
from ui.text import APPROX, plural
from ui.theme import Theme
from ui.views.budget_strip import BudgetStrip
from ui.views.catalog import CatalogPage
from ui.views.page import Page
from ui.views.palette import CommandPalette
from ui.views.sidebar import Sidebar
from ui.windows.commands import Commands
from ui.windows.export_state import ExportState
from ui.windows.offers import offers
from ui.windows.sections import SECTIONS, make_page
from ui.windows.status_line import StatusLine
from ui.windows.trail import Trail

NARROW_BELOW = 1100  # pixels; below it the sidebar shows icons only


class MainWindow(QMainWindow):
    """Owns the bridge to the worker threads, the undo stack and the pages."""

    def __init__(self, ctx: AppContext, places: Places, theme: Theme) -> None:
        super().__init__()
        self.setWindowTitle("Toolcrib")
        self.setObjectName("mainWindow")
        self._settings = QSettings(
            str(ctx.paths.home / "window.ini"), QSettings.Format.IniFormat, self
        )
        self.tasks = Tasks(ctx, self)
        self.live = LiveCatalog(self.tasks, str(self._settings.value("profile", DEFAULT)))
        self.undo = QUndoStack(self)
        self.services = Services(
            ctx, places, self.tasks, theme, self.undo, self.live, self.say, self.go
        )
        self.pages: dict[str, Page] = {}
        self._trail = Trail()
        self._focus: QWidget | None = None  # to go back to when another profile is in view
        self._done = 0  # index of the undo stack before the last step
        self._build(theme)
        self._connect()
        self._restore()
        self.live.load()

    @property
    def page(self) -> Page:
        """The page in view."""
        page = self.stack.currentWidget()
        assert isinstance(page, Page)  # nothing else is ever added
        return page

    def say(self, text: str) -> None:
        """One sentence in the status bar."""
        self.status.say(text)

    def show_problem(self, error: ToolcribError) -> None:
        """An error that no page took: in the page in view."""
        self.page.messages.error(error)

    def go(self, key: str) -> None:
        """Open a section."""
        if key not in self.pages:
            page = make_page(key, self.services)
            page.badge.connect(lambda text, tone: self.nav.set_badge(key, text, tone))
            page.result.connect(lambda text: self._show_result(page, text))
            page.restore(self._settings, key)
            self.pages[key] = page
            self.stack.addWidget(page)
        page = self.pages[key]
        self.stack.setCurrentWidget(page)
        self.status.result.clear()
        self.nav.choose(key)
        self._trail.visit(key)
        page.opened()
        if self.isVisible():
            page.main_view().setFocus()

    def travel(self, step: int) -> None:
        """Open the section before (-1) or after (1) this one, as they were opened."""
        key = self._trail.step(step)
        if key:
            self.go(key)

    def import_queries(self) -> None:
        """Let the user choose a file of labelled queries."""
        self.go("playground")
        self.page.import_queries()

    def cycle(self, step: int) -> None:
        """F6: the next pane among sections, budget strip and the page's own."""
        panes = [self.nav, self.strip.bar, *self.page.panes()]
        seen = [p for p in panes if p.isVisible() and p.isEnabled()]
        focus = self.focusWidget()
        here = [n for n, p in enumerate(seen) if focus and (p is focus or p.isAncestorOf(focus))]
        seen[((here[-1] if here else -1) + step) % len(seen)].setFocus(
            Qt.FocusReason.TabFocusReason
        )

    def showEvent(self, event: QShowEvent) -> None:
        """The page's main view has the first focus, not the toolbar."""
        super().showEvent(event)
        self.page.main_view().setFocus()

    def changeEvent(self, event: QEvent) -> None:
        """Back in the window: show what the command line did meanwhile."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.live.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow window has a narrow sidebar."""
        super().resizeEvent(event)
        self._fit_sidebar()

    def _fit_sidebar(self) -> None:
        self.nav.set_narrow(self.width() < self.services.theme.scaled(NARROW_BELOW))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the geometry, end the threads."""
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("profile", self.live.profile)
        for key, page in self.pages.items():
            page.save(self._settings, key)
        self._settings.sync()
        self.tasks.close()
        super().closeEvent(event)

    def _build(self, theme: Theme) -> None:
        self.nav = Sidebar(theme, SECTIONS)
        self.strip = BudgetStrip(theme, self.live)
        self.stack = QStackedWidget()
        self.status = StatusLine()
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.strip)
        right.addWidget(self.stack, 1)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.nav)
        row.addLayout(right, 1)
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row, 1)
        column.addWidget(self.status)
        self.setCentralWidget(whole)
        self.commands = Commands(self, self.services)
        self.strip.profile.setMenu(self.commands.profiles)
        self.finder = CommandPalette(theme, self, lambda: offers(self))
        self.export_state = ExportState(self.services, self)

    def _connect(self) -> None:
        self.nav.chosen.connect(self.go)
        self.services.theme.changed.connect(self._fit_sidebar)
        self.strip.server_chosen.connect(lambda name: self.catalog.show_server(name))
        self.status.undo.clicked.connect(self.undo.undo)
        self.undo.indexChanged.connect(self._tell_step)
        self.export_state.told.connect(self.commands.show_export)
        self.export_state.waiting.connect(
            lambda number: self.nav.set_badge("hosts", str(number or ""), "accent")
        )
        self.tasks.failed.connect(self.show_problem)
        self.live.failed.connect(self.show_problem)
        self.live.lost.connect(self._on_lost)
        self.live.strayed.connect(self.undo.clear)
        self.live.leaving.connect(self._on_leaving)
        self.live.loaded.connect(self._on_arrived)
        self.live.loaded.connect(self._tell_known)
        self.live.loaded.connect(self._tell_sections)
        self.live.toggled.connect(lambda _ids: self._tell_sections())
        self.live.configured.connect(self._tell_sections)
        QApplication.instance().aboutToQuit.connect(self.tasks.close)  # type: ignore[union-attr]

    def _restore(self) -> None:
        geometry = self._settings.value("geometry")
        if geometry is None or not self.restoreGeometry(geometry):
            self.resize(1280, 800)
        self.go("catalog")

    @property
    def catalog(self) -> CatalogPage:
        """The Catalog page, opened."""
        self.go("catalog")
        page = self.page
        assert isinstance(page, CatalogPage)
        return page

    def _show_result(self, page: Page, text: str) -> None:
        if page is self.stack.currentWidget():
            self.status.result.setText(text)

    def _tell_step(self, index: int) -> None:
        if index > self._done:
            self.status.say(past(self.undo.text(index - 1)), undoable=True)
        elif index < self._done:
            self.status.say(f"Undone: {self.undo.text(index)}")
        self._done = index

    def _on_leaving(self) -> None:
        """What is in view is of another profile than changes would concern: nothing takes any."""
        self._focus = self._focus or self.focusWidget()
        self.stack.setEnabled(False)
        self.strip.setEnabled(False)

    def _on_arrived(self) -> None:
        if not self.stack.isEnabled():
            self.stack.setEnabled(True)
            self.strip.setEnabled(True)
            if self._focus is not None and self._focus.isVisible():
                self._focus.setFocus()
            self._focus = None

    def _on_lost(self, profile: str) -> None:
        title = f"The profile {profile} is gone: {self.live.profile} is shown."
        self.show_problem(ToolcribError(title, "The command line may have deleted it."))

    def _tell_known(self) -> None:
        catalog = self.live.catalog
        if catalog is None:
            return
        own = self.live.profile
        shown = own.replace("[*]", "[*][*]")  # Qt's sign of unsaved changes
        self.setWindowTitle("Toolcrib" if own == DEFAULT else f"{shown} – Toolcrib")
        tools = sum(not t.tool.gone for t in catalog.tools)
        servers = plural(len(catalog.servers), "server")
        self.status.known.setText(
            f"{servers} · {plural(tools, 'tool')} · {APPROX} {catalog.encoding}"
        )

    def _tell_sections(self) -> None:
        """What sections have to say also before they were opened."""
        waiting = [item for item in self.live.items if item.state == OPEN]
        tone = "block" if any(item.severity == "block" for item in waiting) else "warn"
        self.nav.set_badge("review", str(len(waiting) or ""), tone)
        word = self.strip.verdict.word
        self.nav.set_badge("budget", word if word != PASS else "", word.lower())
