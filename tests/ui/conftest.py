"""What tests of the window get: a theme, services over a store of one's own, nothing left open."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QApplication

from app.context import AppContext
from app.hosts.places import Places
from ui.models.live_catalog import LiveCatalog
from ui.services import Services
from ui.tasks import Tasks
from ui.theme import Theme


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
def theme(qapp: QApplication, tmp_path: Path) -> Theme:
    """The light theme."""
    return Theme(qapp, tmp_path / "cache", "light")


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
