"""Builds the window's parts and runs the event loop."""

import gc
import sys
from collections.abc import Sequence
from types import TracebackType

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.logs import configure
from app.export.recovery import recover
from app.hosts.places import Places
from ui.look.icons import app_icon
from ui.look.theme import Theme
from ui.shell.problems import as_problem
from ui.signals import QuitOnSignal
from ui.windows.main_window import MainWindow
from ui.windows.preload import preload


def make_application(argv: Sequence[str]) -> QApplication:
    """The application object with Toolcrib's name and icon."""
    app = QApplication(list(argv))
    app.setApplicationName("toolcrib")
    app.setApplicationDisplayName("Toolcrib")
    app.setDesktopFileName("toolcrib")
    app.setWindowIcon(app_icon())
    return app


def make_window(app: QApplication, ctx: AppContext, places: Places | None = None) -> MainWindow:
    """The main window over that context, not yet shown."""
    ctx.paths.create()
    own = ctx.settings
    cache = ctx.paths.home / "cache"
    theme = Theme(app, cache, own.appearance, zoom=own.zoom, dense=own.dense)
    return MainWindow(ctx, places or Places.here(), theme)


def preload_once_filled(window: MainWindow) -> None:
    """Import the pages off the GUI thread as soon as the first one shows the store.

    What goes wrong there goes wrong again, and is shown, where the page is opened.
    """
    tasks, loaded = window.tasks, window.live.loaded

    def start() -> None:
        loaded.disconnect(start)
        tasks.work(preload, lambda _none: _collect_unseen(), failed=lambda _error: None)

    loaded.connect(start)


def _collect_unseen() -> None:
    """Let the collector walk over a large catalogue while the window is not in use.

    Over 10,000 tools that takes a fifth of a second, and a step of the threshold makes 30,000
    objects: every third step was that long. What is there by now is never walked over again, and
    what comes after when the window is left, or after some two hundred such steps.
    """
    gc.freeze()
    young, middle, _old = gc.get_threshold()
    gc.set_threshold(young, middle, 1000)
    app = QApplication.instance()
    if isinstance(app, QApplication):
        app.applicationStateChanged.connect(_collect_when_left)


def _collect_when_left(state: Qt.ApplicationState) -> None:
    if state != Qt.ApplicationState.ApplicationActive:
        gc.collect()


def run_window() -> int:
    """Open the window and run until it closes; returns the exit code."""
    app = make_application(["toolcrib"])
    signals = QuitOnSignal(app)  # first: the window starts threads while it is being built
    try:
        return _run(app)
    finally:
        signals.close()


def _run(app: QApplication) -> int:
    try:
        ctx = AppContext.default()
        recover(ctx)
        ctx.paths.create()
    except ToolcribError as error:
        sys.stderr.write(f"{error.title}\n{error.hint}".rstrip() + "\n")
        return 1
    configure(ctx.paths.logs)
    window = make_window(app, ctx)

    def show_error(
        kind: type[BaseException], error: BaseException, _trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            app.quit()
            return
        window.show_problem(as_problem(error))

    sys.excepthook = show_error
    preload_once_filled(window)
    window.show()
    try:
        return app.exec()
    finally:
        window.close()
