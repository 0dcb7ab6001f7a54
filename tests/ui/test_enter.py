"""Enter submits a dialog or presses the focused button; it never shows a secret."""

import ast
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QToolButton,
    QWidget,
)

import ui.widgets.dialog
from app.core.settings import ProfileSettings, RoutingSettings
from app.host_status.splitting import Split
from app.hosts.projects import KnownProject
from app.indexing.request_writer import MissingRequests
from app.indexing.summaries import MADE
from app.policy.budget import Budget
from app.policy.clusters import plan_split
from app.policy.fitting import fit
from store.records import Summary
from ui.pages.budget.split_dialog import SplitDialog
from ui.pages.catalog.add_server import AddServerDialog
from ui.pages.catalog.calling.dialog import CallDialog
from ui.pages.catalog.calling.history import CallHistory
from ui.pages.catalog.condition_dialog import ConditionDialog
from ui.pages.catalog.market.finder import FindServersDialog
from ui.pages.catalog.market.fitting import FitDialog
from ui.pages.catalog.market.stack_dialog import StackDialog
from ui.pages.catalog.market.update_dialog import Known, UpdateDialog
from ui.pages.catalog.project_dialog import ProjectDialog
from ui.pages.catalog.request_editor import RequestsDialog
from ui.pages.catalog.request_offer import RequestOffer
from ui.pages.hosts.reach_row import OtherServers
from ui.pages.playground.weights_dialog import WeightsDialog
from ui.pages.query_set.label_dialog import LabelDialog
from ui.pages.review.checks_dialog import show_checks
from ui.shell.log import show_log
from ui.shell.project_policies import PoliciesDialog
from ui.shell.summaries import SummaryDialog
from ui.widgets.dialog import Dialog
from ui.windows.help import show_about, show_numbers, show_shortcuts
from ui.windows.history import show_history
from ui.windows.profile_file_dialog import ProfileFileDialog
from ui.windows.profile_menu import ProfileDialog
from ui.windows.sections import SECTIONS
from ui.windows.settings_dialog import SettingsDialog
from ui.windows.team_dialog import TeamDialog
from ui.windows.team_draft import DraftDialog
from ui.windows.team_review import TeamReviewDialog

TAB = Qt.FocusPolicy.TabFocus
SHORT = Summary("a/b", "Short", MADE, "")
UI = Path(__file__).parents[2] / "ui"


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def presses(monkeypatch):
    """The buttons that Enter pressed; none of them acts."""
    pressed = []
    monkeypatch.setattr(ui.widgets.dialog, "_press", pressed.append)
    return pressed


def buttons_of(root: QWidget):
    return reachable(root, QPushButton, QToolButton)


def fields_of(root: QWidget):
    return reachable(root, QLineEdit, QComboBox, QAbstractSpinBox)


def reachable(root: QWidget, *kinds: type[QWidget]):
    return [
        widget
        for kind in kinds
        for widget in root.findChildren(kind)
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & TAB
    ]


@pytest.mark.parametrize("kind", ["command", "url"])
def test_enter_in_the_name_of_a_secret_submits_and_shows_no_value(window, qtbot, kind):
    window.catalog.add_server()
    dialog = window.findChild(AddServerDialog)
    qtbot.waitExposed(dialog)
    (dialog.by_url if kind == "url" else dialog.by_command).setChecked(True)
    name, value = dialog.pairs.rows[0]
    name.setText("API_TOKEN")
    value.setText("sup3r-s3cret-value-42")
    for field in (dialog.name, name, value, dialog.pairs.rows[1][0]):
        dialog.problem.hide()
        field.setFocus()
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert value.echoMode() == QLineEdit.EchoMode.Password
        assert dialog.problem.isVisible(), "the form was not submitted"
    dialog.reject()


def test_enter_on_the_focused_eye_is_a_deliberate_press(window, qtbot):
    window.catalog.add_server()
    dialog = window.findChild(AddServerDialog)
    qtbot.waitExposed(dialog)
    value = dialog.pairs.rows[0][1]
    eye = next(b for b in dialog.findChildren(QPushButton) if b.toolTip() == "Show the value")
    eye.setFocus()
    qtbot.keyClick(eye, Qt.Key.Key_Return)
    assert value.echoMode() == QLineEdit.EchoMode.Normal
    dialog.reject()


def note(presses, button, _checked=False):
    presses.append(button)


def call_dialog(window):
    tool = window.live.catalog.tools[0]
    return CallDialog(window.services, tool, CallHistory(), window)


def fit_dialog(window):
    catalog = window.live.catalog
    return FitDialog(window.services, fit(catalog, catalog.tools[0].server.name), "", window)


def split_dialog(window):
    catalog = window.live.catalog
    budget = Budget.from_settings(catalog.settings.budget)
    plan = plan_split("default", catalog.tools, budget, [], ["default"])
    return SplitDialog(Split(plan, ()), window.services.theme, window)


def project_dialog(window):
    known = KnownProject(Path("/work/shop"), ("Claude Code",), (Path("/work/shop/.mcp.json"),))
    return ProjectDialog(window.services, [known], window)


def help_of(show):
    def opened(window):
        show(window)
        return next(d for d in window.findChildren(Dialog) if d.isVisible())

    return opened


DIALOGS = {
    "add": (lambda w: AddServerDialog(w.services, w), "Add"),
    "call": (call_dialog, "&Call"),
    "conditions": (lambda w: ConditionDialog("a/b", ProfileSettings(), w), "Save"),
    "fit": (fit_dialog, "Apply"),
    "split": (split_dialog, ""),
    "project": (project_dialog, "Open"),
    "stack": (lambda w: StackDialog(w.services, w), "Look"),
    "update": (lambda w: UpdateDialog(w.services, Known("git", None, "It is the newest."), w), ""),
    "find": (lambda w: FindServersDialog(w.services, w), ""),
    "history": (help_of(lambda w: show_history(w, w.undo)), "Close"),
    "label": (lambda w: LabelDialog(["a/b"], w), "Save"),
    "log": (lambda w: show_log(w, w.services), ""),
    "policy file": (lambda w: ProfileFileDialog(w.services, w), ""),
    "team": (lambda w: TeamDialog(w.services, w), "Join"),
    "draft": (lambda w: DraftDialog(w.services, "everyday draft", w), ""),
    "team review": (lambda w: TeamReviewDialog(w.services, w), ""),
    "policies": (lambda w: PoliciesDialog(w.services, w), ""),
    "reach": (lambda w: OtherServers("Cursor", ["git"], [], w), "OK"),
    "profile": (lambda w: ProfileDialog("New profile", "A hint", [], parent=w), "New profile"),
    "offer": (
        lambda w: RequestOffer(w.services, MissingRequests((), 0, 0), None, w),
        "Send and write",
    ),
    "requests": (lambda w: RequestsDialog(w.live.catalog.tools[0].tool, (), w), "Save"),
    "checks": (show_checks, "Close"),
    "settings": (lambda w: SettingsDialog(w.services, w), ""),
    "shortcuts": (help_of(show_shortcuts), "Close"),
    "numbers": (help_of(show_numbers), "Close"),
    "about": (help_of(show_about), "Close"),
    "summary": (
        lambda w: SummaryDialog("a/b", "A text", Summary("a/b", "Short", MADE, ""), w),
        "Save",
    ),
    "weights": (lambda w: WeightsDialog(RoutingSettings(), w), "Close"),
}


@pytest.mark.parametrize("name", DIALOGS)
def test_in_every_dialog_enter_submits_or_presses_the_focused_button(
    shared_window, qtbot, presses, name
):
    opener, words = DIALOGS[name]
    dialog = opener(shared_window)
    dialog.show()
    qtbot.waitExposed(dialog)
    for button in dialog.findChildren(QPushButton):
        if not button.isCheckable():  # those have nothing on `clicked`
            button.clicked.disconnect()
        button.clicked.connect(partial(note, presses, button))
    for button in buttons_of(dialog):
        button.setFocus()
        presses.clear()
        qtbot.keyClick(button, Qt.Key.Key_Return)
        assert presses == [button], f"{button.text() or button.accessibleName()}: {presses}"
    for field in fields_of(dialog):
        field.setFocus()
        presses.clear()
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert {button.text() for button in presses} <= {words}, field.accessibleName()
        assert presses or not words, f"Enter in {field.accessibleName()} submitted nothing"
        assert dialog.isVisible()
    dialog.close()
    dialog.deleteLater()


@pytest.mark.parametrize("name", DIALOGS)
def test_in_every_dialog_what_takes_the_focus_has_a_name_and_a_place(shared_window, qtbot, name):
    dialog = DIALOGS[name][0](shared_window)
    dialog.show()
    qtbot.waitExposed(dialog)
    for widget in reachable(dialog, QWidget):
        interface = QAccessible.queryAccessibleInterface(widget)
        silent = isinstance(widget, QLabel) or widget.objectName() == "qt_spinbox_lineedit"
        assert silent or interface.text(QAccessible.Text.Name).strip(), type(widget).__name__
        if isinstance(widget, QAbstractButton):
            assert widget.text() or widget.toolTip()
        if isinstance(widget, QListView) and widget.model().rowCount():
            row = widget.visualRect(widget.model().index(0, 0))
            assert row.height() >= widget.fontMetrics().height() + 8  # not cut at its tick
    for label in dialog.findChildren(QLabel):
        field = label.buddy()
        if isinstance(field, QLineEdit | QComboBox) and label.isVisible() and field.isVisible():
            middles = [one.mapTo(dialog, one.rect().center()).y() for one in (label, field)]
            assert abs(middles[0] - middles[1]) <= 1 or label.y() < field.y(), label.text()
    dialog.close()
    dialog.deleteLater()


def test_every_dialog_is_one_that_knows_enter_and_is_walked_above():
    walked = (UI.parent / "tests/ui/test_enter.py").read_text()
    for path in UI.rglob("*.py"):
        if path == UI / "widgets/dialog.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "QDialog", path
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                assert "QDialog" not in bases, path
                if bases & {"Dialog", "FormDialog"} and node.name != "FormDialog":
                    assert f"{node.name}(" in walked or node.name == "LogDialog", node.name


@pytest.mark.parametrize("key", [section.key for section in SECTIONS])
def test_enter_presses_each_focused_button_of_a_page(window, qtbot, presses, key):
    window.open_page(key)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)
    buttons = buttons_of(window)
    assert buttons
    for button in buttons:
        button.setFocus()
        presses.clear()
        qtbot.keyClick(button, Qt.Key.Key_Return)
        assert presses == [button], f"{button.text() or button.accessibleName()}: {presses}"
