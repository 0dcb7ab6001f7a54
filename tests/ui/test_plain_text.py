"""What a server or a file wrote is shown as text: no label, tooltip or cell takes it for markup."""

import ast
import time
from pathlib import Path

import pytest
from demo_store import DemoServer, DemoTool
from hosts_kit import CURSOR, open_host, open_page, put
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QAction, QUndoCommand
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QAbstractItemView, QLabel, QPlainTextEdit, QTextEdit, QWidget

from app.catalog.catalog import set_on
from app.registry.calling import CallResult
from store import events, findings, tools
from store.connection import transaction
from store.records import EventRecord, Finding
from ui.look.text import plain_tip
from ui.pages.catalog.calling.dialog import CallDialog
from ui.pages.catalog.calling.history import CallHistory
from ui.pages.catalog.calling.result_view import ResultView
from ui.windows.sections import SECTIONS

UI = Path(__file__).parents[2] / "ui"
MARK = "<b>B</b><img src='x'>"
COUNTS_ONLY = ("budget", "hosts")  # hosts: no file names these servers
ROLE = Qt.ItemDataRole
HOSTILE = (
    DemoServer(
        f"evil{MARK}",
        (
            DemoTool(f"tool{MARK}", 1412, f"Text {MARK}", {"destructiveHint": True}),
            DemoTool(f"big{MARK}", 25_000, MARK),  # over the budget
            DemoTool("held", 300, f"Text {MARK}", problem=f"Problem {MARK}"),
        ),
        ("claude-desktop", "cursor"),
    ),
    DemoServer(f"broken{MARK}", (), status="could not start", problem=f"exit 1: {MARK}"),
    DemoServer(f"team{MARK}", (DemoTool("deploy", 300, MARK),), trusted=False),
)


@pytest.fixture
def window(fill, open_window, ctx):
    """The window over servers, findings and a journal that are all hostile."""
    fill(HOSTILE)
    db = ctx.open_store()
    with transaction(db):
        (tool,) = (tool for tool in tools.tools(db) if tool.name == f"tool{MARK}")
        quote = f"description: “{MARK}”"
        findings.save(db, tool.id, [Finding(0, tool.id, "PI-01", "block", quote, tool.hash)], 1.0)
        named = {"profile": "default", "host": f"host{MARK}", "session": "s", "ms": 1.0}
        called = {**named, "tool": f"evil{MARK}/tool{MARK}", "problem": f"It failed: {MARK}"}
        found = {**named, "query": f"find {MARK}"}
        now = time.time()
        days = [now - 9 * 86_400, now]  # enough evidence for proposals
        events.add(db, [EventRecord(at, "call", **called) for at in days])
        events.add(db, [EventRecord(now, "search", **found)])
    db.close()
    return open_window()


def markup(text: object) -> bool:
    """True where Qt would read a server's markup as its own."""
    shown = str(text or "")
    return GuiQt.mightBeRichText(shown) and "<img" in shown


def cells(model: QAbstractItemModel, parent: QModelIndex):
    """(text, tooltip) of every cell."""
    for row in range(model.rowCount(parent)):
        columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)
        for column in range(columns):
            index = model.index(row, column, parent)
            yield str(index.data(ROLE.DisplayRole)), index.data(ROLE.ToolTipRole)
            if column == 0:
                yield from cells(model, index)


def check(root: QWidget) -> list[str]:
    """Fail for markup; the visible texts that a server or a file wrote."""
    written = []
    for one in [root, *root.findChildren(QWidget), *root.findChildren(QAction)]:
        assert not markup(one.toolTip()), (
            f"{type(one).__name__} {one.objectName()}: {one.toolTip()}"
        )
        if isinstance(one, QLabel) and one.textFormat() != Qt.TextFormat.PlainText:
            assert not markup(one.text()), f"label: {one.text()}"
        if isinstance(one, QTextEdit):
            assert "<img" not in one.toHtml(), one.toPlainText()
        if isinstance(one, QAbstractItemView) and one.model() is not None:
            for text, tip in cells(one.model(), QModelIndex()):
                assert not markup(tip), f"{type(one.model()).__name__}: {tip}"
                written += [text] if one.isVisible() else []
        if isinstance(one, QLabel) and one.isVisible():
            written.append(one.text())
        if isinstance(one, QTextEdit | QPlainTextEdit) and one.isVisible():
            written.append(one.toPlainText())
    return [text for text in written if MARK in text]


@pytest.mark.parametrize("key", [section.key for section in SECTIONS])
def test_a_servers_markup_is_text_on_every_page(window, qtbot, key):
    catalog = window.live.catalog
    window.tasks.change(lambda db: set_on(db, "default", [catalog.tools[-1].tool.id], False))
    window.catalog.show_server(HOSTILE[0].name)
    window.open_page(key)
    if key == "playground":
        window.page.tried.query.submit_query(f"text {MARK}")
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)
    if key not in COUNTS_ONLY:
        qtbot.waitUntil(lambda: check(window.page) != [], timeout=20_000)
    check(window)


def test_a_hosts_file_is_text_on_its_page(services, qtbot):
    put(services.places.home / CURSOR, {"mcpServers": {f"own{MARK}": {"command": f"run{MARK}"}}})
    page = open_page(services, qtbot)
    open_host(page, qtbot, "cursor", "through")
    assert check(page)


def test_a_step_that_names_a_server_is_text_in_the_undo_button(window):
    window.undo.push(QUndoCommand(f"Edit {MARK} & Co"))
    check(window)
    assert window.commands.undo.text().startswith("&Undo Edit")
    assert window.commands.undo.text().endswith("&& Co"), "& would underline the next letter"


def test_a_tool_called_by_hand_and_its_result_are_text(window, theme, qtbot):
    dialog = CallDialog(window.services, window.live.catalog.tools[0], CallHistory(), window)
    check(dialog)
    dialog.close()
    view = ResultView(theme)
    qtbot.addWidget(view)
    picture = {"type": "image", "data": "no picture", "mimeType": MARK}
    view.show_call(CallResult({"content": [picture]}, "", 0.1, 0.0, (), ""))
    assert any(MARK in label.text() for label in view.pictures)
    check(view)


def test_a_tooltip_shows_every_character_as_it_was_written():
    for text in (MARK, "a &lt;b&gt; c", "x < y", "plain"):
        label = QLabel(plain_tip(text))
        if GuiQt.mightBeRichText(label.text()):
            edit = QTextEdit()
            edit.setHtml(label.text())
            assert edit.toPlainText() == text
        else:
            assert label.text() == text


def calls(name: str):
    for path in UI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            if getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
                yield path, node


def test_a_label_of_qt_is_made_only_for_markup_of_toolcribs_own():
    made = {path.relative_to(UI).as_posix() for path, _call in calls("QLabel")}
    assert made == {
        "pages/catalog/tree.py",  # a link
        "pages/playground/explain_card.py",  # matched words, the rest escaped
        "widgets/dialog.py",  # rules of Toolcrib, escaped, and fixed words
    }


def fixed(node: ast.expr) -> bool:
    """True for a text that holds nothing but this program's own words."""
    if isinstance(node, ast.Name):
        return node.id.isupper() or node.id == "tip"
    if isinstance(node, ast.Attribute):
        return node.attr == "tip"  # of a setting, a column
    if isinstance(node, ast.IfExp):
        return fixed(node.body) and fixed(node.orelse)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "plain_tip"
    return isinstance(node, ast.Constant)


def test_a_tooltip_is_fixed_words_or_made_plain():
    loose = [
        f"{path.relative_to(UI)}:{call.lineno}"
        for path, call in calls("setToolTip")
        if not fixed(call.args[0])
    ]
    assert not loose
