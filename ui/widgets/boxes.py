"""Rows and columns of widgets, each written as the list of its parts."""

from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from ui.look.theme import GAP, MARGIN
from ui.widgets.label import PlainLabel

Item = QWidget | QLayout
Align = Qt.AlignmentFlag
# a number is room in pixels; a pair has the weight by which the room left is divided, or a side
Part = Item | int | tuple[Item | None, int] | tuple[Item, Align]
STRETCH: Part = (None, 1)  # empty room
SPARE: Part = (None, 0)  # empty room where no part takes what is left
STYLE = None  # margins or gap as the style has them
Margins = int | tuple[int, int, int, int]  # the same on all sides, or left, top, right, bottom

Box = TypeVar("Box", bound=QBoxLayout)


def hbox(
    *parts: Part,
    inside: QWidget | None = None,
    margins: Margins | None = 0,
    gap: int | None = GAP,
) -> QHBoxLayout:
    """Return a row of these parts, which is the layout of `inside` if that is given."""
    return _fill(QHBoxLayout(), parts, inside, margins, gap)


def vbox(
    *parts: Part,
    inside: QWidget | None = None,
    margins: Margins | None = 0,
    gap: int | None = GAP,
) -> QVBoxLayout:
    """Return a column of these parts, which is the layout of `inside` if that is given."""
    return _fill(QVBoxLayout(), parts, inside, margins, gap)


def form(
    *rows: tuple[str, QWidget], inside: QWidget | None = None, gap: int | None = STYLE
) -> QFormLayout:
    """Return names with their fields; the letter behind an & leads to the field."""
    layout = QFormLayout(labelAlignment=Align.AlignLeft | Align.AlignVCenter)
    if inside is not None:
        inside.setLayout(layout)
    if gap is not STYLE:
        layout.setSpacing(gap)
    for name, field in rows:
        add_row(layout, name, field)
    return layout


def add_row(
    layout: QFormLayout, name: str, field: QWidget, *, buddy: QWidget | None = None
) -> PlainLabel | None:
    """Add a field with its name beside the middle of it; returns the name's label."""
    if not name:
        layout.addRow("", field)
        return None
    label = PlainLabel(name, buddy=buddy or field)
    label.setMinimumHeight(min(field.sizeHint().height(), field.maximumHeight()))
    layout.addRow(label, field)
    return label


def boxed(box: QLayout) -> QWidget:
    """Return a widget with this layout."""
    widget = QWidget()
    widget.setLayout(box)
    return widget


def stacked(*widgets: QWidget) -> QStackedWidget:
    """Return these widgets in one place, the first in view."""
    stack = QStackedWidget()
    for widget in widgets:
        stack.addWidget(widget)
    return stack


def splitter(
    way: Qt.Orientation,
    *parts: QWidget | tuple[QWidget, int],
    name: str = "",
    gap: int | None = MARGIN,
    sizes: tuple[int, ...] = (),
) -> QSplitter:
    """Return parts with a handle between them that hides none; a pair has its weight."""
    split = QSplitter(way)
    split.setObjectName(name)
    if gap is not STYLE:
        split.setHandleWidth(gap)
    for number, part in enumerate(parts):
        widget, weight = part if isinstance(part, tuple) else (part, None)
        split.addWidget(widget)
        if weight is not None:
            split.setStretchFactor(number, weight)
    if sizes:
        split.setSizes(sizes)
    split.setChildrenCollapsible(False)
    return split


def scrolled(inside: QWidget, *, sideways: bool = True, focus: bool = True) -> QScrollArea:
    """Return an area without a frame in which a widget scrolls.

    Without `sideways` it has no bar for that; without `focus` only what is inside takes it.
    """
    area = QScrollArea(widgetResizable=True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    if not sideways:
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    if not focus:
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(inside)
    return area


def _fill(
    box: Box,
    parts: tuple[Part, ...],
    inside: QWidget | None,
    margins: Margins | None,
    gap: int | None,
) -> Box:
    if inside is not None:
        inside.setLayout(box)  # first: a part gets its parent when it is added
    if margins is not STYLE:
        sides = (margins,) * 4 if isinstance(margins, int) else margins
        box.setContentsMargins(*sides)
    if gap is not STYLE:
        box.setSpacing(gap)
    for part in parts:
        _add(box, part)
    return box


def _add(box: QBoxLayout, part: Part) -> None:
    if isinstance(part, int):
        box.addSpacing(part)
        return
    item, how = part if isinstance(part, tuple) else (part, 0)
    weight, side = (0, how) if isinstance(how, Align) else (how, Align(0))
    if isinstance(item, QWidget):
        box.addWidget(item, weight, side)
    elif isinstance(item, QLayout):
        box.addLayout(item, weight)
    else:
        box.addStretch(weight)
