"""What tests of the window get: a theme, services over a store of one's own, nothing left open."""

import importlib.util
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.hosts.places import Places
from app.indexing.indexer import Indexer
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store import tools
from store.connection import transaction
from ui.look.theme import Theme
from ui.shell.advanced import Advanced
from ui.shell.host_in_view import HostInView
from ui.shell.live_catalog import LiveCatalog
from ui.shell.query_session import READY
from ui.shell.services import Services
from ui.shell.tasks import Tasks
from ui.windows.main_window import MainWindow

if TYPE_CHECKING:
    from ui.pages.playground.page import PlaygroundPage

_FAKES = Path(__file__).parents[1] / "fakes"
sys.path.insert(0, str(_FAKES))
STOCK_TOOLS = [
    ("github", "search_code", "Search code across repositories."),
    ("github", "create_pull_request", "Open a pull request with a title and a body."),
    ("github", "merge_pull_request", "Merge a pull request into its base branch."),
    ("github", "list_commits", "List the commits of a branch."),
    ("files", "read_file", "Read the complete contents of a file from disk."),
    ("files", "write_file", "Create a file or overwrite it with new contents."),
    ("time", "get_current_time", "Get the current time in a timezone."),
    ("slack", "post_message", "Post a message to a channel."),
]
STOCK_MANY = [
    ("many", f"watch_{n}", f"Wait until sensor number {n} reports a change.") for n in range(150)
]


SHARED = "sharedByTests"  # property of a window that outlives a test


@pytest.fixture(autouse=True)
def no_window_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that leaves a visible top-level widget."""
    yield
    app = QApplication.instance()
    if isinstance(app, QApplication) and "qtbot" not in request.fixturenames:
        left = [w for w in app.topLevelWidgets() if w.isVisible() and not w.property(SHARED)]
        for widget in left:
            widget.close()
        assert not left, f"the test left these windows open: {left}"


@pytest.fixture(scope="session")
def light_theme(
    qapp: QApplication, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Theme]]:
    """Gives the application's one theme as it is at first; styles and icons are made once."""
    folder = tmp_path_factory.mktemp("theme")
    theme = Theme(qapp, folder, "light")
    sheet = qapp.styleSheet()

    def as_at_first() -> Theme:
        nonlocal theme
        theme.set_zoom(100)
        theme.choose("light")
        theme.set_dense(False)
        if qapp.styleSheet() != sheet:  # a test made one of its own
            theme.deleteLater()
            theme = Theme(qapp, folder, "light")
        return theme

    yield as_at_first
    theme.deleteLater()


@pytest.fixture
def theme(light_theme: Callable[[], Theme]) -> Theme:
    """The light theme."""
    return light_theme()


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
        if not (ctx.paths.home / "window.ini").exists():
            window.resize(1280, 800)  # the offscreen screen is smaller, and the window fits it
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


@pytest.fixture(scope="module")
def window_of_module(
    light_theme: Callable[[], Theme], tmp_path_factory: pytest.TempPathFactory, demo: ModuleType
) -> Iterator[MainWindow]:
    """One window over the demo servers, for all tests of a module that change nothing stored."""
    folder = tmp_path_factory.mktemp("window")
    (folder / "home").mkdir()
    ctx = AppContext(Paths(folder / "toolcrib", Path(os.environ["TOOLCRIB_MODELS"])), Settings())
    ctx.paths.create()
    db = ctx.open_store()
    demo.fill(db, demo.DEMO)
    db.close()
    before = set(threading.enumerate())
    places = Places(folder / "home", {}, "linux", root=folder / "machine")
    window = MainWindow(ctx, places, light_theme())
    window.setProperty(SHARED, True)
    window.resize(1280, 800)
    window.show()
    window.activateWindow()
    wait_until(lambda: window.live.catalog is not None and window.tasks.idle)
    yield window
    window.close()
    window.deleteLater()
    left = [t for t in threading.enumerate() if t not in before and not t.daemon]
    for thread in left:
        thread.join(5)
    assert not [t.name for t in left if t.is_alive()]


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Turn the event loop until it holds; for fixtures that outlive a test and have no qtbot."""
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, "it did not happen in time"
        loop = QEventLoop()
        QTimer.singleShot(10, loop.quit)
        loop.exec()


@pytest.fixture
def shared_window(window_of_module: MainWindow, theme: Theme) -> Iterator[MainWindow]:
    """That window on its first page, in its first size and look."""
    window = window_of_module
    window.resize(1280, 800)
    window.open_page("catalog")
    window.activateWindow()
    wait_until(lambda: window.tasks.idle)
    yield window
    wait_until(lambda: window.tasks.idle)


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store file with 158 indexed and counted tools."""
    spec = importlib.util.spec_from_file_location("routing_fakes", _FAKES / "routing_fakes.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["routing_fakes"] = module
    spec.loader.exec_module(module)
    paths = Paths(tmp_path_factory.mktemp("stock"), Path(os.environ["TOOLCRIB_MODELS"]))
    ctx = AppContext(paths, Settings())
    db = ctx.open_store()
    module.fill(db, [*STOCK_TOOLS, *STOCK_MANY], None)
    Indexer(ctx, db).encoder()  # every vector that a search needs, so that no test makes its own
    with transaction(db):
        count = counter("o200k_base")
        tools.save_token_counts(db, [count_tool(count, tool) for tool in tools.tools(db)])
    db.close()
    return paths.database


@pytest.fixture
def stocked(services: Services, stock: Path) -> Services:
    """Services over a store of their own with those tools."""
    shutil.copy(stock, services.ctx.paths.database)
    return services


@pytest.fixture
def open_playground(stocked: Services, qtbot: QtBot) -> Iterator[Callable[[], "PlaygroundPage"]]:
    """Opens the Playground over the stocked store, not waiting for the encoder."""
    pages = []

    def open_it() -> "PlaygroundPage":
        from ui.pages.playground.page import PlaygroundPage  # pyqtgraph: not for every test

        page = PlaygroundPage(stocked)
        pages.append(page)
        qtbot.addWidget(page)
        page.resize(1092, 700)
        stocked.live.load()
        qtbot.waitUntil(
            lambda: stocked.live.catalog is not None and page.queries.loaded, timeout=20_000
        )
        page.show()
        qtbot.waitExposed(page)
        return page

    yield open_it
    pages.clear()


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
    """The window's shared parts without the window, with everything shown."""
    ctx.paths.create()
    ctx.keep(advanced=True)
    tasks = Tasks(ctx)
    window = FakeWindow()
    live = LiveCatalog(tasks)
    yield Services(
        ctx,
        places,
        tasks,
        theme,
        QUndoStack(),
        live,
        HostInView(live),
        Advanced(ctx),
        window.show_status,
        window.open_page,
        window.open_settings,
    )
    tasks.close()


class FakeWindow:
    """Keeps the sentences of the status bar and the sections that were opened."""

    def __init__(self) -> None:
        self.statuses: list[str] = []
        self.opened: list[str] = []

    def show_status(self, text: str) -> None:
        self.statuses.append(text)

    def open_settings(self, tab: str) -> None:
        self.opened.append(f"settings {tab}")

    def open_page(self, key: str) -> None:
        self.opened.append(key)


@pytest.fixture
def open_set(stocked, open_playground, qtbot):
    """Opens the second tab over that many labels, with the encoder loaded."""

    def open_it(number: int, seen=()):
        from query_set_kit import labelled, put

        put(stocked, labelled(number), seen)
        page = open_playground()
        qtbot.waitUntil(lambda: page.tried.session.state == READY, timeout=30_000)
        page.open_tab(1)
        return page.query_set

    return open_it
