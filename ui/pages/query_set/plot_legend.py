"""The legend of the calibration plot: a line or an area as it is drawn, and its words."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.look.theme import Theme

_SAMPLE, _SPACE = 22, 14  # px of a line, and between entries
_SHADE = 46  # of 255: bands, and the area below a line
_SOLID, _DASHED = Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine
_DOTTED = Qt.PenStyle.DotLine


@dataclass(frozen=True, slots=True)
class Entry:
    """A curve of the plot; `more` says what its name means."""

    name: str
    more: str
    ink: str
    line: Qt.PenStyle
    area: bool = False  # drawn down to the axis


ENTRIES = (  # a low plot has no room for the words beside its axes: they are all here
    Entry("Recall", ": expected tools found", "bar", _SOLID),
    Entry("Precision", ": shown tools expected", "unused", _DASHED),
    Entry("Tools in", "", "passed", _SOLID, area=True),
    Entry("Recommended", "", "passed", _DOTTED),
    Entry("Threshold", "", "text", _SOLID),
)


def shade(color: QColor) -> QColor:
    """The faint colour of an area that others may lie over."""
    faint = QColor(color)
    faint.setAlpha(_SHADE)
    return faint


class PlotLegend(QWidget):
    """One line of entries; never wider than its words. A brief one has the names alone."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._brief = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Legend")
        self.setAccessibleDescription(", ".join(_words(entry, brief=False) for entry in ENTRIES))
        self.setToolTip("Shaded: where the true value lies with 95 % certainty (bootstrap).")
        theme.changed.connect(self.update)

    def fit(self, room: int) -> None:
        """Be brief where the whole legend is wider than that."""
        brief = self._width(brief=False) > room
        if brief != self._brief:
            self._brief = brief
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """As wide as its entries."""
        return QSize(self._width(brief=self._brief), self.fontMetrics().height() + 4)

    def _width(self, *, brief: bool) -> int:
        width = self.fontMetrics().horizontalAdvance
        words = sum(width(_words(entry, brief=brief)) for entry in ENTRIES)
        samples = len(ENTRIES) * (_SAMPLE + 6) + (len(ENTRIES) - 1) * _SPACE
        return samples + words + width(" ")  # the threshold's value goes on beside it

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the samples and the words."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left, height = 0, self.height()
        for entry in ENTRIES:
            words = _words(entry, brief=self._brief)
            self._draw_sample(painter, QRectF(left, 0, _SAMPLE, height), entry)
            left += _SAMPLE + 6
            painter.setPen(self._theme.colors.text2)
            width = painter.fontMetrics().horizontalAdvance(words)
            # as labels do it: the words that go on beside it are on the same line
            painter.drawText(QRect(left, 0, width, height), Qt.AlignmentFlag.AlignVCenter, words)
            left += width + _SPACE
        painter.end()

    def _draw_sample(self, painter: QPainter, place: QRectF, entry: Entry) -> None:
        ink, middle = self._ink(entry.ink), place.center().y()
        if entry.area:
            middle -= _SAMPLE / 4
            painter.fillRect(QRectF(place.left(), middle, _SAMPLE, _SAMPLE / 2), shade(ink))
        painter.setPen(QPen(ink, 2, entry.line))
        painter.drawLine(QPointF(place.left(), middle), QPointF(place.right(), middle))

    def _ink(self, role: str) -> QColor:
        colors = self._theme.colors
        inks = {"bar": colors.bar, "unused": colors.unused, "text": colors.text}
        return inks.get(role, colors.passed.ink)


def _words(entry: Entry, *, brief: bool) -> str:
    return entry.name if brief else entry.name + entry.more
