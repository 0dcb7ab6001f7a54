"""Fields with icons: as large as the text, never over it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from ui.widgets.icon_field import IconField


@pytest.fixture
def field(theme, qtbot):
    field = IconField(theme)
    field.resize(300, 30)
    qtbot.addWidget(field)
    field.show()
    return field


def clear_button(field):
    buttons = field.findChildren(QToolButton)
    return next(b for b in buttons if b.defaultAction() is field.clear_action)


def test_what_was_typed_is_cleared_by_its_icon(field, qtbot):
    assert not clear_button(field).isVisible()
    qtbot.keyClicks(field, "mail")
    assert clear_button(field).isVisible()
    qtbot.mouseClick(clear_button(field), Qt.MouseButton.LeftButton)
    assert field.text() == ""
    assert not clear_button(field).isVisible()


@pytest.mark.parametrize(("zoom", "size"), [(100, 16), (150, 24), (200, 32)])
def test_icons_are_as_large_as_the_text_and_beside_it(field, theme, qtbot, zoom, size):
    pressed = []
    field.add_icon("filter-outline", "Filter", first=True)
    field.add_icon("bookmark-outline", "Saved").triggered.connect(lambda: pressed.append(1))
    field.setText("a line")
    try:
        theme.set_zoom(zoom)
        field.resize(300, field.sizeHint().height())
        clear, first, saved = field.findChildren(QToolButton)
        qtbot.waitUntil(lambda: saved.geometry().right() < field.width())
        for button in (clear, first, saved):
            assert button.iconSize().width() == size
            assert button.height() <= field.height()
        qtbot.waitUntil(lambda: field.textMargins().right() >= clear.width() + saved.width())
        assert field.cursorRect().left() < clear.x()
        field.home(False)
        assert field.cursorRect().center().x() >= first.geometry().right()
        qtbot.mouseClick(saved, Qt.MouseButton.LeftButton)
        assert pressed
        assert saved.accessibleName() == "Saved"
    finally:
        theme.set_zoom(100)
