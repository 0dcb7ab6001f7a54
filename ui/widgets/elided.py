"""A label that never makes its window wider: what does not fit ends in an ellipsis."""

from collections.abc import Iterable

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from ui.look.text import plain_tip
from ui.widgets.label import Look, PlainLabel

_INSET = 2  # px that a style keeps on both sides of a box's text


class ElidedLabel(PlainLabel):
    """One line of text, cut at the right, in the middle for paths.

    `brief` has other words for a room in which the whole text would be cut.
    """

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        look: Look = "",
        name: str = "",
    ) -> None:
        super().__init__(text, parent, look=look, name=name)
        self._mode = mode
        self.brief = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        """Narrow."""
        return QSize(40, super().minimumSizeHint().height())

    @property
    def shown(self) -> str:
        """Text as it is drawn."""
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        fits = not self.brief or metrics.horizontalAdvance(self.text()) <= room
        return metrics.elidedText(self.text() if fits else self.brief, self._mode, room)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw what fits; the tooltip has the rest."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        room, text = self.contentsRect(), self.shown
        self.setToolTip(plain_tip(self.text()) if text != self.text() else "")
        painter.drawText(room, int(self.alignment()), text)
        painter.end()


class Choice(QComboBox):
    """A box whose list shows its rows whole.

    Qt measures the list from the box, and one with the focus has another border.
    """

    def __init__(
        self, parent: QWidget | None = None, *, rows: Iterable[tuple[str, object]] = ()
    ) -> None:
        """Make one; each row has its words and its value."""
        super().__init__(parent)
        for words, value in rows:
            self.addItem(words, value)

    def showPopup(self) -> None:
        """Give the list the height of its rows before Qt measures it."""
        view, rows = self.view(), min(self.count(), self.maxVisibleItems())
        room = self.screen().availableGeometry().height() // 2
        height = sum(map(view.sizeHintForRow, range(rows))) + 2 * view.frameWidth()
        view.setMinimumHeight(min(height, room))
        super().showPopup()


class ElidedChoice(Choice):
    """A box at least so many letters wide, "…" beyond; its list is as wide as its longest row."""

    def __init__(self, letters: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(letters)

    @property
    def shown(self) -> str:
        """The current text, as far as there is room."""
        room = self.field().width() - 2 * _INSET
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)

    def field(self) -> QRect:
        """Area of its text, beside the arrow."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        return self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint it as usual, with the text that fits."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.shown
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def showPopup(self) -> None:
        """Rows are shown whole, as far as the screen goes."""
        view = self.view()
        bar = view.verticalScrollBar().sizeHint().width()
        view.setMinimumWidth(min(view.sizeHintForColumn(0) + bar, self.screen().size().width()))
        super().showPopup()


class YieldingChoice(ElidedChoice):
    """As wide as its longest row, down to so many letters where there is no room."""

    def __init__(self, letters: int) -> None:
        super().__init__(letters)
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToContents)

    def sizeHint(self) -> QSize:
        """Room for the longest row, which the style measures without what it keeps off the edge."""
        return super().sizeHint() + QSize(2 * _INSET, 0)

    def minimumSizeHint(self) -> QSize:
        """The letters that it keeps, and its arrow."""
        whole, rows = self.sizeHint(), range(self.count())
        width = self.fontMetrics().horizontalAdvance
        longest = max((width(self.itemText(row)) for row in rows), default=0)
        kept = min(longest, self.minimumContentsLength() * self.fontMetrics().averageCharWidth())
        return QSize(whole.width() - longest + kept, whole.height())
