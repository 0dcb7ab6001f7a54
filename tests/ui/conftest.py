"""What tests of the window get: a theme, services over a store of one's own, nothing left open."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.context import AppContext
from app.hosts.places import Places
from ui.models.live_catalog import LiveCatalog
from ui.services import Services
from ui.tasks import Tasks
from ui.theme import Theme
from ui.windows.main_window import MainWindow


@pytest.fixture(autouse=True)
def no_window_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that leaves a visible top-level widget."""
    yield
    app = QApplication.instance()
    if isinstance(app, QApplication) and "qtbot" not in request.fixturenames:
        left = [w for w in app.topLevelWidgets() if w.isVisible()]
        for widget in left:
            widget.close()
        assert not left, f"the test left these windows open: {left}"


@pytest.fixture
def theme(qapp: QApplication, tmp_path: Path) -> Iterator[Theme]:
    """The light theme."""
    theme = Theme(qapp, tmp_path / "cache", "light")
    yield theme
    theme.deleteLater()


@pytest.fixture(scope="session")
def demo() -> ModuleType:
    """tests/fakes/demo_store.py."""
    path = Path(__file__).parents[1] / "fakes" / "demo_store.py"
    spec = importlib.util.spec_from_file_location("demo_store", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo_store"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fill(ctx: AppContext, demo: ModuleType) -> Callable:
    """Fills the context's store: fill() with four servers, fill(servers) with those."""

    def into_store(servers=demo.DEMO) -> None:
        ctx.paths.create()
        db = ctx.open_store()
        demo.fill(db, servers)
        db.close()

    return into_store


@pytest.fixture
def open_window(
    qapp: QApplication, qtbot: QtBot, ctx: AppContext, places: Places, theme: Theme
) -> Iterator[Callable[[], MainWindow]]:
    """Opens the main window and waits until it shows the store; closes it at the end."""
    opened: list[MainWindow] = []

    def open_it() -> MainWindow:
        ctx.paths.create()
        window = MainWindow(ctx, places, theme)
        opened.append(window)
        window.show()
        window.activateWindow()
        qtbot.waitExposed(window)
        qtbot.waitUntil(
            lambda: window.live.catalog is not None and window.tasks.idle, timeout=20_000
        )
        return window

    yield open_it
    for window in opened:
        window.close()
        window.deleteLater()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """An empty home folder on Linux."""
    home = tmp_path / "home"
    home.mkdir()
    return Places(home, {}, "linux", root=tmp_path / "machine")


@pytest.fixture
def services(
    qapp: QApplication, ctx: AppContext, places: Places, theme: Theme
) -> Iterator[Services]:
    """The window's shared parts without the window."""
    ctx.paths.create()
    tasks = Tasks(ctx)
    heard = Heard()
    yield Services(ctx, places, tasks, theme, QUndoStack(), LiveCatalog(tasks), heard.say, heard.go)
    tasks.close()


class Heard:
    """Keeps what was said and which sections were asked for."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.gone: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def go(self, key: str) -> None:
        self.gone.append(key)
