"""Longest turns of the event loop, large catalogue: `python -m tests.bench.window.turns HOME`."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.core.context import AppContext
from app.hosts.places import Places
from tests.bench.window.opening import LINES
from ui.application import make_application, make_window, preload_once_filled
from ui.pages.catalog.page import CatalogPage
from ui.pages.playground.page import PlaygroundPage
from ui.shell.query_session import LOADING
from ui.windows.main_window import MainWindow
from ui.windows.sections import SECTIONS

_PATIENCE_SECONDS = 900  # 10,000 tools are embedded when the Playground opens first
_QUERY = "merge the release branch"
_STEPS = [0.30 + 0.02 * step for step in range(20)]


class Turns:
    """How long the GUI thread computes between two turns of the event loop, in ms of CPU.

    CPU and not wall time: what else the machine does is not the window's.
    """

    def __init__(self, window: MainWindow) -> None:
        self.longest: dict[str, float] = {}
        self._window = window
        self._last = 0.0
        self._most = 0.0
        self._timer = QTimer(window, interval=0)
        self._timer.timeout.connect(self._turn)

    def measure(self, name: str, act: Callable[[], object]) -> None:
        """Do it, wait until nothing runs any more, and keep the longest turn under that name."""
        with self._watched():
            act()
            self._turn()
            self.settle()
        self.longest[name] = max(self.longest.get(name, 0.0), self._most)

    def settle(self) -> None:
        """Turn until no task runs and nothing is left to paint."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self._window.tasks.idle and time.monotonic() < end:
            _turn_for(5)
        _turn_for(50)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        self._most, self._last = 0.0, time.thread_time()
        self._timer.start()
        yield
        self._timer.stop()

    def _turn(self) -> None:
        now = time.thread_time()
        self._most = max(self._most, (now - self._last) * 1000)
        self._last = now


def _turn_for(ms: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()


def _catalogue(turns: Turns, page: CatalogPage) -> None:
    content = page.content
    field = content.filter.edit
    for line in LINES:
        field.blockSignals(True)
        field.setText(line)
        field.blockSignals(False)
        turns.measure("filter key", content.filter.apply)
    server = content.model.index(0, 0)
    for name, index in (("tool", content.model.index(0, 0, server)), ("server", server)):
        content.tree.setCurrentIndex(index)
        for _ in range(2):
            turns.measure(f"tick of a {name}", partial(_press_space, content.tree))


def _press_space(widget: QWidget) -> None:
    QTest.keyClick(widget, Qt.Key.Key_Space)


def _threshold(turns: Turns, page: PlaygroundPage) -> None:
    tab = page.tried
    end = time.monotonic() + _PATIENCE_SECONDS
    while tab.session.state == LOADING and time.monotonic() < end:
        _turn_for(50)
    turns.measure("a query's answer", partial(tab.query.submit_query, _QUERY))
    for value in _STEPS:
        turns.measure("threshold step", partial(tab.controls.threshold.setValue, value))


def main(home: Path) -> None:
    """Open the window on TOOLCRIB_HOME's store, use it, print each longest turn in ms as JSON."""
    app = make_application(["toolcrib"])
    window = make_window(app, AppContext.default(), Places(home, {}, "linux", root=home))
    preload_once_filled(window)
    turns = Turns(window)
    loop = QEventLoop()
    window.live.loaded.connect(loop.quit)
    window.show()
    loop.exec()
    turns.settle()
    catalog = window.pages["catalog"]
    assert isinstance(catalog, CatalogPage)
    _catalogue(turns, catalog)
    for section in SECTIONS[1:]:
        opening = f"first opening of {section.title}"
        turns.measure(opening, partial(window.open_page, section.key))
    window.open_page("playground")
    playground = window.page
    assert isinstance(playground, PlaygroundPage)
    _threshold(turns, playground)
    window.close()
    sys.stdout.write(json.dumps(turns.longest) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
