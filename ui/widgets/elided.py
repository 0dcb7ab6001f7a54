"""A label that never makes its window wider: what does not fit ends in an ellipsis."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy, QWidget

from ui.look.text import plain_tip


class ElidedLabel(QLabel):
    """One line of text, cut at the right, in the middle for paths."""

    def __init__(self, *args: object, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__(*args)  # type: ignore[call-overload]
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        """Narrow."""
        return QSize(40, super().minimumSizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw what fits; the tooltip has the rest."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        room = self.contentsRect()
        text = self.fontMetrics().elidedText(self.text(), self._mode, room.width())
        self.setToolTip(plain_tip(self.text()) if text != self.text() else "")
        painter.drawText(room, int(self.alignment()), text)
        painter.end()


class ElidedChoice(QComboBox):
    """A box at least so many letters wide; its list is as wide as its longest row."""

    def __init__(self, letters: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(letters)

    def showPopup(self) -> None:
        """Rows are shown whole, as far as the screen goes."""
        view = self.view()
        bar = view.verticalScrollBar().sizeHint().width()
        view.setMinimumWidth(min(view.sizeHintForColumn(0) + bar, self.screen().size().width()))
        super().showPopup()
