"""What a screen reader finds: names, words in every cell, rings around the focus, contrast."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLabel,
    QListView,
    QWidget,
)

from ui.look.colors import DARK, LIGHT, contrast
from ui.look.theme import DARK_ONLY, LIGHT_ONLY
from ui.windows.sections import SECTIONS
from ui.windows.settings_dialog import SettingsDialog

PAGES = [section.key for section in SECTIONS]
_ROLE = Qt.ItemDataRole
_SILENT = ("qt_spinbox_lineedit",)  # Qt's own, inside fields that have a name


@pytest.fixture
def window(shared_window):
    return shared_window


def columns_of(view: QAbstractItemView) -> int:
    return 1 if isinstance(view, QListView) else view.model().columnCount()


def settle(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)


def takes_focus(root: QWidget) -> list[QWidget]:
    """Every visible widget below that Tab or a click can reach."""
    return [
        widget
        for widget in root.findChildren(QWidget)
        if widget.isVisible()
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus == Qt.FocusPolicy.TabFocus
        and widget.objectName() not in _SILENT
        and not isinstance(widget, QLabel)
    ]


def name_of(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name) if interface else ""


@pytest.mark.parametrize("key", PAGES)
def test_whatever_takes_the_focus_has_a_name(window, qtbot, key):
    window.open_page(key)
    settle(window, qtbot)
    silent = [w for w in takes_focus(window) if not name_of(w).strip()]
    assert not silent, [(type(w).__name__, w.objectName()) for w in silent]


@pytest.mark.parametrize("key", PAGES)
def test_a_button_of_icons_only_says_what_it_does(window, qtbot, key):
    window.open_page(key)
    settle(window, qtbot)
    buttons = [b for b in window.findChildren(QAbstractButton) if b.isVisible()]
    bare = [b for b in buttons if not b.text() and not b.toolTip()]
    assert not bare, [(type(b).__name__, b.parent().objectName()) for b in bare]


@pytest.mark.parametrize("key", PAGES)
def test_no_cell_is_silent_where_it_paints(window, qtbot, key):
    window.open_page(key)
    settle(window, qtbot)
    for view in window.page.findChildren(QAbstractItemView):
        model = view.model()
        if not view.isVisible() or model is None:
            continue
        for row in range(min(model.rowCount(), 20)):
            for column in range(columns_of(view)):
                index = model.index(row, column)
                painted = [index.data(role) for role in (_ROLE.DecorationRole, _ROLE.UserRole + 1)]
                if any(value for value in painted if not isinstance(value, int)):
                    words = index.data(_ROLE.AccessibleTextRole) or index.data(_ROLE.DisplayRole)
                    assert words or index.data(_ROLE.UserRole + 1) is None, (
                        view.objectName(),
                        row,
                        column,
                    )


@pytest.mark.parametrize("look", [LIGHT_ONLY, DARK_ONLY])
@pytest.mark.parametrize("key", PAGES)
def test_the_focus_is_seen_on_every_widget(window, qtbot, theme, key, look):
    theme.choose(look)
    window.open_page(key)
    settle(window, qtbot)
    elsewhere = window.nav
    for widget in takes_focus(window.page):
        if not widget.isEnabled() or widget.width() < 8:
            continue
        elsewhere.setFocus()
        QApplication.processEvents()
        top_left = widget.mapTo(window, widget.rect().topLeft())
        area = widget.rect().translated(top_left).adjusted(-3, -3, 3, 3)
        before = window.grab(area).toImage()
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        if not widget.hasFocus():
            continue
        after = window.grab(area).toImage()
        moved = sum(
            before.pixel(x, y) != after.pixel(x, y)
            for y in range(after.height())
            for x in range(after.width())
        )
        assert moved >= 20, (type(widget).__name__, widget.objectName(), moved)


def test_the_settings_have_names_and_every_tab_is_reached(window, qtbot):
    dialog = SettingsDialog(window.services, window)
    qtbot.addWidget(dialog)
    dialog.show()
    for number in range(dialog.tabs.count()):
        dialog.tabs.setCurrentIndex(number)
        silent = [w for w in takes_focus(dialog) if not name_of(w).strip()]
        assert not silent, [(type(w).__name__, w.objectName()) for w in silent]
    dialog.close()


@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_every_text_has_a_contrast_of_four_and_a_half(colors):
    from ui.look.theme import palette

    made, role = palette(colors), QPalette.ColorRole
    pairs = [
        (role.WindowText, role.Window),
        (role.Text, role.Base),
        (role.Text, role.AlternateBase),
        (role.ButtonText, role.Button),
        (role.HighlightedText, role.Highlight),
        (role.PlaceholderText, role.Base),
        (role.ToolTipText, role.ToolTipBase),
        (role.Link, role.Window),
    ]
    for ink, paper in pairs:
        assert contrast(made.color(ink), made.color(paper)) >= 4.5, (ink, paper)


def test_tab_goes_round_every_page_and_is_never_trapped(window, qtbot):
    for key in PAGES:
        window.open_page(key)
        settle(window, qtbot)
        seen = []
        for _ in range(80):
            qtbot.keyClick(window.focusWidget() or window, Qt.Key.Key_Tab)
            widget = window.focusWidget()
            if widget in seen[:1] and len(seen) > 3:
                break
            seen.append(widget)
        assert len(set(seen)) > 3, key
        assert seen[-1] is not seen[-2], (key, seen[-1])
