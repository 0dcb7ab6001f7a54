"""Badges, bars, message bar, elided labels: what is painted, and how wide it gets."""

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QImage, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QLabel, QListView, QStyleOptionViewItem

from app.core.errors import ToolcribError
from store.errors import LockedStoreError
from ui.pages.activity.figures import Figures
from ui.shell.badges import BADGES
from ui.shell.problems import as_problem
from ui.widgets.badge import Badge, BadgeText
from ui.widgets.delegates import TextDelegate, paint_bar
from ui.widgets.elided import ElidedLabel
from ui.widgets.message_bar import DONE, MessageBar


def bar(colors, solid: float, hatched: float) -> QImage:
    image = QImage(200, 20, QImage.Format.Format_RGB32)
    image.fill(colors.base)
    painter = QPainter(image)
    paint_bar(painter, QRectF(0, 4, 200, 12), solid=solid, hatched=hatched, colors=colors)
    painter.end()
    return image


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_bar_is_as_long_as_its_share(theme, share):
    image = bar(theme.colors, share, 0.0)
    blue = sum(image.pixelColor(x, 10) == theme.colors.bar for x in range(200))
    assert blue == pytest.approx(200 * share, abs=3)


def test_what_is_off_is_hatched_not_only_paler(theme):
    image = bar(theme.colors, 0.0, 0.5)
    kinds = {image.pixelColor(x, 10).name() for x in range(100)}
    assert theme.colors.bar.name() not in kinds and len(kinds) >= 2
    assert {image.pixelColor(x, 10).name() for x in range(110, 190)} == {theme.colors.track.name()}


def test_states_differ_without_colour(theme, qtbot):
    pictures = []
    for badge in BADGES.values():
        widget = Badge(theme, badge)
        qtbot.addWidget(widget)
        image = widget.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
        pictures.append(image)
        assert widget.accessibleName() == badge.word
    assert len({(p.width(), bytes(p.constBits())) for p in pictures}) == len(BADGES)


def test_a_badge_grows_with_its_word(theme, qtbot):
    widget = Badge(theme, BadgeText("In"))
    qtbot.addWidget(widget)
    narrow = widget.sizeHint().width()
    widget.show_badge(BadgeText("Could not start", "block", "close-octagon", solid=True))
    assert widget.sizeHint().width() > narrow + 40
    assert widget.badge.word == "Could not start"


def test_the_message_bar_says_what_to_do(theme, qtbot):
    bar = MessageBar(theme)
    qtbot.addWidget(bar)
    assert bar.text == ""
    pressed = []
    bar.show_message(DONE, "Written.", ("Undo", lambda: pressed.append("undo")))
    bar.show()
    shown = [b for b in bar._buttons if not b.isHidden()]
    assert bar.text == "Written." and [b.text() for b in shown] == ["Undo"]
    shown[0].click()
    assert pressed == ["undo"]
    bar.error(ToolcribError("No.", "Try again."))
    assert bar.text == "No. Try again."
    bar.clear()
    assert bar.text == "" and bar.isHidden()


def test_an_elided_label_never_widens_its_window(qtbot):
    label = ElidedLabel("a very long text " * 30)
    qtbot.addWidget(label)
    assert label.minimumSizeHint().width() <= 40
    label.resize(120, 20)
    label.grab()
    assert label.toolTip() == label.text()
    label.setText("short")
    label.grab()
    assert label.toolTip() == ""


def test_every_error_becomes_a_title_and_a_hint():
    locked = as_problem(LockedStoreError("The store is locked.", "Wait."))
    assert (locked.title, locked.hint) == ("The store is locked.", "Wait.")
    known = ToolcribError("No.", "Yes.")
    assert as_problem(known) is known
    assert as_problem(ValueError("secret value")).title == "Something went wrong: ValueError."


@pytest.mark.parametrize("side", [Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight])
def test_a_cells_words_end_where_its_headings_do(theme, qtbot, side):
    view, model = QListView(), QStandardItemModel(1, 1)
    qtbot.addWidget(view)
    item = QStandardItem("| 35 |")
    item.setData(side | Qt.AlignmentFlag.AlignVCenter, Qt.ItemDataRole.TextAlignmentRole)
    model.setItem(0, item)
    image = QImage(120, 28, QImage.Format.Format_RGB32)
    image.fill(theme.colors.base)
    option = QStyleOptionViewItem()
    option.rect, option.widget, option.font = image.rect(), view, view.font()
    painter = QPainter(image)
    TextDelegate(theme, 28).paint(painter, option, model.index(0, 0))
    painter.end()
    base = theme.colors.base.rgb()
    inked = [x for x in range(120) if any(image.pixel(x, y) != base for y in range(28))]
    edge = 120 - 1 - inked[-1] if side == Qt.AlignmentFlag.AlignRight else inked[0]
    assert 5 <= edge <= 9, "5 px as in the heading, and what a letter has around it"


def test_a_figures_caption_is_never_cut(qtbot, theme):
    figures = Figures(theme, [("tools never called", "")] * 2)
    qtbot.addWidget(figures)
    captions = [one for one in figures.findChildren(QLabel) if one.text() == "tools never called"]
    figures.resize(200, 200)
    figures.show()
    for caption in captions:
        assert caption.width() < caption.fontMetrics().horizontalAdvance(caption.text())
        assert caption.height() >= 2 * caption.fontMetrics().lineSpacing()
