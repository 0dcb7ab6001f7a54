"""A row of widgets that goes on in another row where there is no room for one."""

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

from ui.look.theme import GAP


class Flow(QLayout):
    """Widgets from the left, as wide as they like to be; `at_end` are rows from the right.

    What is added with a least width takes the rest of its row, and a row to itself below that.
    """

    def __init__(
        self, parent: QWidget | None = None, *, spacing: int = GAP, at_end: bool = False
    ) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._least: dict[QWidget, int] = {}  # 0: as wide as it likes to be
        self._at_end = at_end
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def add_wide(self, widget: QWidget, least: int = 0) -> None:
        """A widget that takes what its row leaves, of this many pixels at least; without them as
        wide as it likes to be."""
        self._least[widget] = least
        self.addWidget(widget)

    def set_least(self, widget: QWidget, least: int) -> None:
        """Another least width, as at another text size."""
        self._least[widget] = least
        self.invalidate()

    def addItem(self, item: QLayoutItem) -> None:
        """Called by addWidget."""
        self._items.append(item)

    def count(self) -> int:
        """Number of widgets."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """One of them, None beyond the last."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Take one out."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """It asks for no more than it needs."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Narrower is higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """The height of all rows."""
        around = self.contentsMargins()
        inside = QRect(0, 0, width - around.left() - around.right(), 0)
        return self._place(inside, moves=False) + around.top() + around.bottom()

    def sizeHint(self) -> QSize:
        """All in one row."""
        sizes = [self._wanted(item) for item in self._seen()]
        between = self.spacing() * max(0, len(sizes) - 1)
        width = sum(size.width() for size in sizes) + between
        height = max((size.height() for size in sizes), default=0)
        return QSize(width, height).grownBy(self.contentsMargins())

    def minimumSize(self) -> QSize:
        """One widget a row."""
        least = QSize()
        for item in self._seen():
            least = least.expandedTo(item.minimumSize())
        return least.grownBy(self.contentsMargins())

    def setGeometry(self, area: QRect) -> None:
        """Place the widgets."""
        super().setGeometry(area)
        self._place(area.marginsRemoved(self.contentsMargins()), moves=True)

    def _seen(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _is_wide(self, item: QLayoutItem) -> bool:
        return item.widget() in self._least

    def _wanted(self, item: QLayoutItem) -> QSize:
        size, widget = item.sizeHint(), item.widget()
        least = self._least.get(widget, 0) if widget is not None else 0
        return QSize(least, size.height()) if least else size

    def _rows(self, width: int) -> Iterator[list[QLayoutItem]]:
        row: list[QLayoutItem] = []
        taken = 0
        for item in self._seen():
            wanted = self._wanted(item).width()
            if row and taken + self.spacing() + wanted > width:
                yield row
                row, taken = [], 0
            taken += wanted + (self.spacing() if row else 0)
            row.append(item)
        if row:
            yield row

    def _place(self, area: QRect, *, moves: bool) -> int:
        """Place all rows, or only count their height."""
        top = area.top()
        for number, row in enumerate(self._rows(area.width())):
            top += self.spacing() if number else 0
            widths = self._widths(row, area.width())
            height = max(map(_height, row, widths))
            if moves:
                self._move(row, widths, QRect(area.left(), top, area.width(), height))
            top += height
        return top - area.top()

    def _widths(self, row: list[QLayoutItem], room: int) -> list[int]:
        widths = [min(self._wanted(item).width(), room) for item in row]
        wide = [number for number, item in enumerate(row) if self._is_wide(item)]
        spare = room - sum(widths) - self.spacing() * (len(row) - 1)
        for number in wide[:1]:
            widths[number] += max(0, spare)
        return widths

    def _move(self, row: list[QLayoutItem], widths: list[int], area: QRect) -> None:
        taken = sum(widths) + self.spacing() * (len(row) - 1)
        left = area.left() + (area.width() - taken if self._at_end else 0)
        for item, width in zip(row, widths, strict=True):
            size = QSize(width, _height(item, width))
            top = area.top() + (area.height() - size.height()) // 2
            item.setGeometry(QRect(QPoint(left, top), size))
            left += width + self.spacing()


def _height(item: QLayoutItem, width: int) -> int:
    return item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()
