"""The main window: toolbar, sections, budget strip, pages, status bar."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSettings, QSize, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QGuiApplication,
    QKeyEvent,
    QResizeEvent,
    QShowEvent,
    QUndoStack,
)
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.doctor.damage import damage_problem
from app.gateway.journal_tail import take_left
from app.hosts.places import Places
from app.policy.budget import PASS
from app.policy.profiles import DEFAULT
from app.safety.review import OPEN
from ui.look.text import APPROX
from ui.look.theme import GAP, MARGIN, Theme
from ui.pages.catalog.page import CatalogPage
from ui.shell.actions import LateCommand, past
from ui.shell.advanced import Advanced
from ui.shell.host_in_view import WORST, HostInView
from ui.shell.live_catalog import LiveCatalog
from ui.shell.log import show_log
from ui.shell.page import Page
from ui.shell.problems import UnforeseenError
from ui.shell.services import Services
from ui.shell.tasks import Tasks
from ui.widgets.boxes import boxed, hbox, vbox
from ui.widgets.dialog import is_enter, press_focused
from ui.widgets.elided import ElidedLabel
from ui.windows.approval_bar import ApprovalBar
from ui.windows.budget_strip import BudgetStrip
from ui.windows.commands import Commands
from ui.windows.export_state import ExportState
from ui.windows.kept_writes import KeptWrites
from ui.windows.offers import offers
from ui.windows.palette import CommandPalette
from ui.windows.policy_bar import PolicyBar
from ui.windows.screen import bring_into_view, fit_screen
from ui.windows.sections import PURPOSES, SECTIONS, make_page
from ui.windows.sidebar import Sidebar
from ui.windows.status_line import StatusLine
from ui.windows.window_actions import WindowActions

if TYPE_CHECKING:
    from ui.pages.hosts.page import HostsPage

FIRST_SIZE = QSize(1280, 800)
NARROW_BELOW = 1100  # pixels; below it the sidebar shows icons only
LOW_BELOW = 700  # pixels; below it a page's purpose is in the sidebar's tooltip only


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
            ctx,
            places,
            self.tasks,
            theme,
            self.undo,
            self.live,
            HostInView(self.live, str(self._settings.value("host", WORST))),
            Advanced(ctx, self),
            self.show_status,
            self.open_page,
            self.open_settings,
        )
        self.pages: dict[str, Page] = {}
        self._trail = _Visited()
        self._focus: QWidget | None = None  # to go back to when another profile is in view
        self._done = 0  # index of the undo stack before the last step
        self._build(theme)
        self._connect()
        self._restore()
        self.live.load()
        self.tasks.request(damage_problem, self._show_damage)
        home = str(ctx.paths.home)
        self.tasks.change(lambda db: Changes(events=take_left(db, home) > 0))
        self.kept_writes.read()
        self.live.follow()

    @property
    def page(self) -> Page:
        """The page in view."""
        page = self.stack.currentWidget()
        assert isinstance(page, Page)  # nothing else is ever added
        return page

    def show_status(self, text: str) -> None:
        """One sentence in the status bar."""
        self.status.show_text(text)

    def show_problem(self, error: ToolcribError) -> None:
        """An error that no page took: in the page in view."""
        if isinstance(error, UnforeseenError):
            self.page.messages.error(error, ("Show log", self._show_log))
        else:
            self.page.messages.error(error)

    def _show_damage(self, damage: ToolcribError | None) -> None:
        if damage is not None:
            self.show_problem(damage)

    def _show_log(self) -> None:
        show_log(self, self.services)

    def open_settings(self, tab: str) -> None:
        """The settings, with that tab in view."""
        self.commands.open_settings(tab)

    def open_page(self, key: str) -> None:
        """Open a section."""
        if key not in self.pages:
            page = make_page(key, self.services)
            page.badge.connect(lambda text, tone: self.nav.set_badge(key, text, tone))
            page.result.connect(lambda text: self._show_result(page, text))
            page.restore(self._settings, key)
            self.pages[key] = page
            self.stack.addWidget(page)
            self._grow_in_view()
        page = self.pages[key]
        self.stack.setCurrentWidget(page)
        self.purpose.setText(PURPOSES[key])
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
            self.open_page(key)

    def import_queries(self) -> None:
        """Let the user choose a file of labelled queries."""
        self.open_page("playground")
        self.page.import_queries()

    def cycle(self, step: int) -> None:
        """F6: the next pane among sections, budget strip and the page's own."""
        panes = [
            self.nav,
            self.strip.bar,
            self.approvals.buttons[0],
            self.policies.show_it,
            *self.page.panes(),
        ]
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

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter that no widget took presses the button with the focus, as Space does."""
        if not (is_enter(event) and press_focused(self.focusWidget())):
            super().keyPressEvent(event)

    def _fit_sidebar(self) -> None:
        scaled = self.services.theme.scaled
        self.nav.set_narrow(self.width() < scaled(NARROW_BELOW))
        self.purpose.setVisible(self.height() >= scaled(LOW_BELOW))

    def _grow_in_view(self) -> None:
        """A page or larger text may want more height than there was: once it is laid out."""
        QTimer.singleShot(0, self, lambda: bring_into_view(self))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the geometry, end the threads."""
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("profile", self.live.profile)
        self._settings.setValue("host", self.services.hosts.choice)
        for key, page in self.pages.items():
            page.save(self._settings, key)
        self._settings.sync()
        self.tasks.close()
        super().closeEvent(event)

    def _build(self, theme: Theme) -> None:
        self.nav = Sidebar(theme, SECTIONS)
        self.strip = BudgetStrip(theme, self.live, self.services.hosts)
        self.approvals = ApprovalBar(theme, self.tasks)
        self.policies = PolicyBar(self.services)
        self.purpose = ElidedLabel(look="faint")
        self.purpose.setContentsMargins(MARGIN, GAP, MARGIN, 0)
        self.purpose.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.purpose.setMinimumHeight(1)  # it must not keep the window from becoming low
        self.stack = QStackedWidget()
        self.status = StatusLine()
        as_page = (MARGIN, GAP, GAP, 0)  # as wide as the page below
        beside = vbox(self.approvals, self.policies, margins=as_page)
        right = vbox(self.strip, self.purpose, beside, (self.stack, 1), gap=0)
        row = hbox(self.nav, (right, 1), gap=0)
        self.setCentralWidget(boxed(vbox((row, 1), self.status, gap=0)))
        actions = self._actions()
        self.commands = Commands(self, self.services, actions)
        self.strip.profile.setMenu(self.commands.profiles)
        self.finder = CommandPalette(
            theme, self, lambda: offers(self.services, actions, self.commands.entries(), self)
        )
        self.export_state = ExportState(self.services, self)
        self.kept_writes = KeptWrites(self.services, lambda: self.hosts_page, self)

    def _actions(self) -> WindowActions:
        return WindowActions(
            open_page=self.open_page,
            page=lambda: self.page,
            catalog=lambda: self.catalog,
            import_queries=self.import_queries,
            restore_hosts=self.restore_hosts,
            travel=self.travel,
            cycle=self.cycle,
            find=lambda: self.finder.open(),
            close=self.close,
        )

    def _connect(self) -> None:
        self.nav.chosen.connect(self.open_page)
        self.services.theme.changed.connect(self._fit_sidebar)
        self.services.theme.changed.connect(self._grow_in_view)
        self.strip.server_chosen.connect(lambda name: self.catalog.show_server(name))
        self.status.undo.clicked.connect(self.undo.undo)
        self.undo.indexChanged.connect(self._show_step)
        self.export_state.described.connect(self.commands.show_export)
        self.export_state.waiting.connect(
            lambda text, tone: self.nav.set_badge("hosts", text, tone)
        )
        self.export_state.surveyed.connect(self.services.hosts.take)
        self.services.hosts.changed.connect(self._show_badges)
        self.finder.ran.connect(self._leave_text)
        self.tasks.failed.connect(self.show_problem)
        self.approvals.failed.connect(self.show_problem)
        self.live.failed.connect(self.show_problem)
        self.live.lost.connect(self._on_lost)
        self.live.strayed.connect(self._forget_steps)
        self.live.leaving.connect(self._on_leaving)
        self.live.loaded.connect(self._on_arrived)
        self.live.loaded.connect(self._show_catalog)
        QApplication.instance().aboutToQuit.connect(self.tasks.close)  # type: ignore[union-attr]

    def _restore(self) -> None:
        geometry = self._settings.value("geometry")
        if geometry is None or not self.restoreGeometry(geometry):
            self.resize(FIRST_SIZE)
        fit_screen(self)
        QGuiApplication.instance().screenRemoved.connect(lambda _screen: fit_screen(self))  # type: ignore[union-attr]
        self.open_page("catalog")

    @property
    def catalog(self) -> CatalogPage:
        """The Catalog page, opened."""
        self.open_page("catalog")
        page = self.page
        assert isinstance(page, CatalogPage)
        return page

    @property
    def hosts_page(self) -> "HostsPage":
        """The Hosts page, opened."""
        from ui.pages.hosts.page import HostsPage  # as all of export, not needed at the start

        self.open_page("hosts")
        page = self.page
        assert isinstance(page, HostsPage)
        return page

    def restore_hosts(self) -> None:
        """Put every host's files back, once that is agreed to."""
        self.hosts_page.restore_all()

    def _forget_steps(self) -> None:
        """Steps are of a profile that is not in view; those that wrote hosts' files are not."""
        self.undo.clear()
        self.kept_writes.read()

    def _show_result(self, page: Page, text: str) -> None:
        if page is self.stack.currentWidget():
            self.status.result.setText(text)

    def _leave_text(self) -> None:
        """Before a command of the palette: Ctrl+Z is to take back the command, not typed text."""
        if isinstance(self.focusWidget(), QLineEdit | QPlainTextEdit | QAbstractSpinBox):
            self.page.main_view().setFocus()

    def _show_step(self, index: int) -> None:
        step = self.undo.command(min(index, self._done))
        if isinstance(step, LateCommand) and step.quiet:
            pass
        elif index > self._done:
            self.status.show_text(past(self.undo.text(index - 1)), undoable=True)
        elif index < self._done:
            self.status.show_text(f"Undone: {self.undo.text(index)}")
        self._done = index

    def _on_leaving(self) -> None:
        """Disable the pages while the profile in view is not the one that changes concern."""
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

    def _show_catalog(self) -> None:
        catalog = self.live.catalog
        if catalog is None:
            return
        own = self.live.profile
        shown = own.replace("[*]", "[*][*]")  # Qt's sign of unsaved changes
        self.setWindowTitle("Toolcrib" if own == DEFAULT else f"{shown} – Toolcrib")
        tools = sum(not t.tool.gone for t in catalog.tools)
        servers = plural(len(catalog.servers), "server")
        self.status.catalog.setText(
            f"{servers} · {plural(tools, 'tool')} · {APPROX} {catalog.encoding}"
        )

    def _show_badges(self) -> None:
        """Show counts on the sections, also before they were opened."""
        waiting = [item for item in self.live.items if item.state == OPEN]
        tone = "block" if any(item.severity == "block" for item in waiting) else "warn"
        self.nav.set_badge("review", str(len(waiting) or ""), tone)
        word = self.services.hosts.lasting_verdict.word
        shown = word != PASS and not self.services.hosts.partial
        self.nav.set_badge("budget", word if shown else "", word.lower())


class _Visited:
    """Keys of the sections that were opened, to go back to and forward again."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._at = -1

    def visit(self, key: str) -> None:
        """A section was opened; what lay ahead is forgotten."""
        if self._at < 0 or self._keys[self._at] != key:
            self._keys[self._at + 1 :] = [key]
            self._at += 1

    def step(self, step: int) -> str:
        """The section `step` places on, -1 for back; "" where there is none."""
        if not 0 <= self._at + step < len(self._keys):
            return ""
        self._at += step
        return self._keys[self._at]
