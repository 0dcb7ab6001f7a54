"""The line above the treemap, and the map as a picture."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest

from app.core.errors import ToolcribError


@pytest.fixture
def panel(fill, open_window):
    fill()
    return open_window().pages["catalog"].content.map_panel


def cell_at(panel, name: str) -> QPoint:
    cells = (c for f in panel.map.fields for c in f.cells)
    box = next(c.box for c in cells if c.items[0].name == name)
    return QPointF(box.x + box.width / 2, box.y + box.height / 2).toPoint()


def test_the_caption_says_what_is_under_the_mouse_and_what_the_arrows_choose(panel):
    panel.map.setFocus()
    QTest.keyClick(panel.map, Qt.Key.Key_Right)
    assert panel.caption.text() == "github/search_code: 1,412 tokens ≈, on"
    QTest.mouseMove(panel.map, cell_at(panel, "deploy"))
    assert panel.caption.text() == "team/deploy: 300 tokens ≈, held back"


def test_the_breadcrumb_says_where_one_is_and_leads_back(panel):
    assert not panel.all.isEnabled()
    panel.map.setFocus()
    QTest.keyClick(panel.map, Qt.Key.Key_Right)
    QTest.keyClick(panel.map, Qt.Key.Key_Return)
    assert panel.here.text() == "› github"
    assert panel.all.isEnabled()
    panel.all.click()
    assert panel.map.zoomed == ""
    assert not panel.here.isVisible()


def test_the_map_is_saved_and_copied_as_a_picture(panel, tmp_path):
    file = tmp_path / "map.png"
    panel.save_picture(file)
    image = QImage(str(file))
    assert image.width() == 2 * panel.map.width()
    assert len({image.pixelColor(x, image.height() // 2).rgb() for x in range(image.width())}) > 3
    panel.copy_picture()
    assert QGuiApplication.clipboard().pixmap().width() == image.width()
    with pytest.raises(ToolcribError, match="was not written"):
        panel.save_picture(tmp_path / "none" / "map.png")


def test_a_tool_that_is_off_has_its_name_in_the_map_too(panel):
    lit = panel.map.grab().toImage()
    where = cell_at(panel, "deploy")
    text = panel._services.theme.colors.text2.rgb()
    box = next(c.box for f in panel.map.fields for c in f.cells if c.items[0].name == "deploy")
    label = [
        lit.pixelColor(x, y).rgb()
        for x in range(int(box.x) + 5, min(int(box.x) + 40, where.x() + 60))
        for y in range(int(box.y) + 5, int(box.y) + 14)
    ]
    assert text in label
    assert panel._services.theme.colors.base.rgb() in label
