"""What the window draws: no text, tooltip or accessible word of any page holds a server's secret.

A picture is drawn from these texts. Servers over stdio and HTTP that repeat what they were given,
one that crashes and one that refuses, after scans and calls through a gateway.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QAbstractTableModel,
    QModelIndex,
    Qt,
)
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QApplication, QComboBox, QTabWidget, QWidget

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fakes"))

import raw_host  # noqa: E402
from echo_kit import FLAG, LOCAL, PATH, REMOTE, config, leaks  # noqa: E402

from app.core.context import AppContext  # noqa: E402
from app.core.paths import Paths  # noqa: E402
from app.core.settings import Settings  # noqa: E402
from app.hosts.places import Places  # noqa: E402
from ui.look.theme import Theme  # noqa: E402
from ui.windows.main_window import MainWindow  # noqa: E402
from ui.windows.sections import SECTIONS  # noqa: E402

_ROLE = Qt.ItemDataRole
SHOWN = (
    _ROLE.DisplayRole,
    _ROLE.EditRole,
    _ROLE.ToolTipRole,
    _ROLE.StatusTipRole,
    _ROLE.WhatsThisRole,
    _ROLE.AccessibleTextRole,
    _ROLE.AccessibleDescriptionRole,
)
NAMES = (
    "text",
    "toPlainText",
    "title",
    "windowTitle",
    "placeholderText",
    "toolTip",
    "statusTip",
    "whatsThis",
    "accessibleName",
    "accessibleDescription",
    "currentText",
    "informativeText",
)
MODES = ("ok", "crash", "refuse")


def texts_of(root: QWidget) -> Iterator[str]:
    """Everything that this widget and those in it show, hidden ones too."""
    for one in [root, *root.findChildren(QWidget), *root.findChildren(QAction)]:
        for name in NAMES:
            given = getattr(one, name, None)
            with contextlib.suppress(TypeError, RuntimeError):
                yield str(given() if callable(given) else "")
        if isinstance(one, QAbstractItemView) and one.model() is not None:
            yield from cells(one.model(), QModelIndex())
        if isinstance(one, QComboBox):
            yield from (one.itemText(i) for i in range(one.count()))
        if isinstance(one, QTabWidget):
            yield from (one.tabText(i) + one.tabToolTip(i) for i in range(one.count()))


def cells(model: QAbstractItemModel, parent: QModelIndex) -> Iterator[str]:
    while model.canFetchMore(parent):
        model.fetchMore(parent)
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)
    for column in range(columns):
        yield str(model.headerData(column, Qt.Orientation.Horizontal))
    for row in range(model.rowCount(parent)):
        for column in range(columns):
            index = model.index(row, column, parent)
            yield from (str(index.data(role)) for role in SHOWN)
        if not isinstance(model, QAbstractListModel | QAbstractTableModel):
            yield from cells(model, model.index(row, 0, parent))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of Toolcrib in which all this has happened."""
    person = tmp_path / "person"
    file = person / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    env = {**os.environ, "TOOLCRIB_HOME": str(tmp_path / "toolcrib"), "HOME": str(person)}
    env["PYTHONPATH"] = str(ROOT)

    def toolcrib(*words: str) -> None:
        command = [sys.executable, "-m", "ui.main", *words]
        done = subprocess.run(command, env=env, capture_output=True, timeout=120, check=False)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        assert done.returncode in (0, 5), done.stderr.decode()

    with contextlib.ExitStack() as open_servers:
        servers = {
            f"{kind}-{mode}": open_servers.enter_context(config(kind, mode))
            for kind in ("stdio", "http")
            for mode in MODES
        }
        file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        toolcrib("scan", "--yes")
        toolcrib("export", "cursor", "--mode", "through", "--yes")
        called(env)
    return tmp_path / "toolcrib"


def called(env: dict[str, str]) -> None:
    """Calls that go wrong in every way, for the journal."""
    host = raw_host.RawHost(raw_host.gateway_command("--profile", "default"), env)
    try:
        host.initialize()
        for query in ("plain thing", LOCAL[0], "stdio-ok/tainted"):
            host.search(query)
        for server in ("stdio-ok", "http-ok", "stdio-crash"):
            for tool in ("add", "fail", "protocol", "tainted"):
                named = {"name": f"{server}/{tool}", "arguments": {}}
                params = {"name": "call_tool", "arguments": named}
                host.wait(host.ask("tools/call", params), 60)
        named = {"name": "stdio-ok/crash", "arguments": {}}
        host.wait(host.ask("tools/call", {"name": "call_tool", "arguments": named}), 60)
    finally:
        host.close()


@pytest.fixture
def window(home, qapp: QApplication, qtbot, tmp_path) -> Iterator[MainWindow]:
    ctx = AppContext(Paths(home, Path(os.environ["TOOLCRIB_MODELS"])), Settings())
    theme = Theme(qapp, tmp_path / "cache", "light")
    window = MainWindow(ctx, Places(tmp_path / "person", {}, "linux"), theme)
    window.show()
    qtbot.waitUntil(lambda: window.live.catalog is not None, timeout=60_000)
    yield window
    window.undo.setClean()
    window.close()
    window.deleteLater()
    theme.deleteLater()
    qapp.setStyleSheet("")  # which names pictures in the folder of this test


def test_no_page_shows_a_secret_that_a_server_repeats(window, qtbot):
    # arguments that nothing names a credential are shown to the person who agrees to the command
    secrets = tuple({*LOCAL, *REMOTE} - {FLAG, PATH})
    seen: dict[str, str] = {}

    def look(place: str, *parts: QWidget) -> None:
        qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)
        QApplication.processEvents()
        for text in {text for part in parts for text in texts_of(part)}:
            seen.setdefault(text, place)

    frame = (window.nav, window.strip, window.approvals, window.policies, window.status)

    for section in SECTIONS:
        window.open_page(section.key)
        look(section.key, window)
    for tool in window.live.catalog.tools:
        for signal, page in ((window.live.sought, "catalog"), (window.live.review, "review")):
            window.open_page(page)
            signal.emit(tool.tool.id)
            look(f"{page}: {tool.tool.name[:40]}", window.page, *frame)
    window.open_page("hosts")
    assert window.live.catalog.tools and window.pages["hosts"].model.rows
    for status in window.pages["hosts"].model.rows:
        window.pages["hosts"].choose(status.host.id)
        look(f"hosts: {status.host.id}", window.page, *frame)
    look("everything at the end", window)
    assert len(seen) > 500
    for place in ("activity", "catalog: tainted"):  # the secrets were there
        assert any("••••" in text for text, at in seen.items() if at == place), place
    lost = [(place, leaks(text.encode(), secrets)) for text, place in seen.items()]
    assert not [(place, found) for place, found in lost if found]
