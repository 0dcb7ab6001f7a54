"""The score strip: one mark per tool at its score, and the threshold as a line to drag."""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from ui.look.colors import Colors
from ui.look.text import plain_tip
from ui.shell.strip_marks import HELD, IN, OUT, WANTED, Mark, spread

STEP, BIG_STEP = 0.01, 0.05
LABEL_GAP = 6  # px between the line and its label


class ScoreStrip(pg.PlotWidget):  # type: ignore[misc]
    """Marks of all tools over the score axis.

    Signals: moved(value) while the line is dragged; settled(old, new) once at the end of a drag
    and at each key step; picked(tool id) on a click on a mark.
    """

    moved = Signal(float)
    settled = Signal(float, float)
    picked = Signal(str)

    def __init__(self, colors: Colors, parent: QWidget | None = None) -> None:
        # Qt compresses mouse moves itself; pyqtgraph's limit would swallow the last ones of a drag
        pg.setConfigOptions(mouseRateLimit=0, antialias=True)
        super().__init__(parent, enableMenu=False)
        self.plotItem.ctrlMenu = None  # would outlive it: seven windows of no parent
        self.setObjectName("scoreStrip")
        self.setAccessibleName("Score strip: threshold")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseEnabled(x=False, y=False)
        self.hideButtons()
        self.hideAxis("left")
        self.setYRange(0.0, 1.0, padding=0)
        self.setXRange(0.0, 1.0, padding=0.02)
        self._marks: Sequence[Mark] = ()
        self._counts = ""
        self._end = 1.0  # of the scale: 1, or the score of a better tool that is off
        self._rest = 0.0  # the line's place outside of a drag
        self._reported = -1.0  # the last value of this drag that was emitted
        self._from: float | None = None  # where the drag began, None when there is none
        self._region = pg.LinearRegionItem((0.0, 2.0), movable=False, pen=pg.mkPen(None))
        self._region.setZValue(-10)
        self._line = pg.InfiniteLine(0.0, angle=90, movable=True, bounds=(0.0, 1.0))
        self._label = pg.TextItem(anchor=(1, 0))
        self._dots = {kind: pg.ScatterPlotItem(hoverable=True, tip=None) for kind in _SHAPES}
        for item in (self._region, *self._dots.values(), self._line, self._label):
            self.addItem(item, ignoreBounds=True)
        for dots in self._dots.values():
            dots.sigClicked.connect(self._on_clicked)
            dots.sigHovered.connect(self._on_hovered)
        self._line.sigDragged.connect(self._on_dragged)
        self._line.sigPositionChangeFinished.connect(self._on_released)
        self.set_colors(colors)

    @property
    def threshold(self) -> float:
        """Position of the line, in score units."""
        return float(self._line.value())

    @property
    def marks(self) -> Sequence[Mark]:
        """The marks shown."""
        return self._marks

    @property
    def label(self) -> str:
        """The text beside the line."""
        return self._counts

    def show_marks(self, marks: Sequence[Mark], threshold: float, counts: str) -> None:
        """Replace the marks and the line; emits nothing."""
        if marks != self._marks:  # most steps of a drag move the line past no mark
            self._marks = marks
            self._draw(marks)
        self._place(threshold, counts)

    def set_colors(self, colors: Colors) -> None:
        """Recolour everything, for a theme change."""
        self.setBackground(colors.base)
        axis = self.getAxis("bottom")
        axis.setPen(pg.mkPen(colors.border))
        axis.setTextPen(pg.mkPen(colors.text))
        self._line.setPen(pg.mkPen(colors.text, width=2))
        self._line.setHoverPen(pg.mkPen(colors.bar, width=4))
        self._region.setBrush(pg.mkBrush(colors.accent.tint))
        self._label.setColor(colors.text)
        self._label.fill = pg.mkBrush(colors.base)
        inks = {IN: colors.bar, OUT: colors.border, HELD: colors.block.ink, WANTED: colors.unused}
        for kind, (symbol, size, filled) in _SHAPES.items():
            dots, ink = self._dots[kind], inks[kind]
            dots.setSymbol(symbol)
            dots.setSize(size)
            dots.setPen(pg.mkPen(ink, width=1 if kind == OUT else 1.5))
            dots.setBrush(pg.mkBrush(ink) if filled else pg.mkBrush(None))

    def set_font(self, font: QFont) -> None:
        """The font of the figures, for another text size."""
        axis = self.getAxis("bottom")
        axis.setTickFont(font)
        axis.setHeight(QFontMetrics(font).height() + 8)
        self._label.setFont(font)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The strip takes the focus: Ctrl+Z after a drag concerns the drag, not a text field."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move the threshold, with Shift by five steps."""
        sign = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if sign is None:
            super().keyPressEvent(event)
            return
        big = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        old = self.threshold
        new = round(min(self._end, max(0.0, old + sign * (BIG_STEP if big else STEP))), 2)
        if new != old:
            self._place(new, self._counts)
            self.moved.emit(new)
            self.settled.emit(old, new)
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the label on its side of the line."""
        super().resizeEvent(event)
        if getattr(self, "_label", None) is not None:
            self._place(self.threshold, self._counts)

    def point_of(self, score: float) -> QPointF:
        """The place of a score at mid height, in viewport pixels."""
        box = self.getViewBox()
        return QPointF(self.mapFromScene(box.mapViewToScene(QPointF(score, 0.5))))

    def _draw(self, marks: Sequence[Mark]) -> None:
        end = max([1.0, *(mark.score for mark in marks)])
        if end != self._end:
            self._end = end
            self.setXRange(0.0, end, padding=0.02)
            self._line.setBounds((0.0, end))
        for kind, dots in self._dots.items():
            chosen = [(n, mark) for n, mark in enumerate(marks) if mark.kind == kind]
            dots.setData(
                x=[mark.score for _, mark in chosen],
                y=[spread(n) for n, _ in chosen],
                data=[mark for _, mark in chosen],
            )

    def _place(self, threshold: float, counts: str) -> None:
        self._counts = counts
        if self._from is None:
            self._rest = threshold
            self._line.setValue(threshold)
        self._label.setText(counts)
        self.setAccessibleDescription(f"Threshold {counts}")
        self._follow_line()

    def _follow_line(self) -> None:
        """Region and label stay at the line."""
        place = self.threshold
        self._region.setRegion((place, 2.0))
        width = self._label.boundingRect().width() + 2 * LABEL_GAP
        self._label.setAnchor((1, 0) if self.point_of(place).x() > width else (0, 0))
        self._label.setPos(place, 1.0)

    def _on_dragged(self) -> None:
        if self._from is None:
            self._from = self._rest
        self._follow_line()
        value = round(self.threshold, 2)
        if value != self._reported:  # within a hundredth only the line moves: 3 ms, not 60
            self._reported = value
            self.moved.emit(value)

    def _on_released(self) -> None:
        old, self._from, self._reported = self._from, None, -1.0
        if old is not None:
            self.settled.emit(old, round(self.threshold, 2))

    def _on_clicked(self, _dots: object, points: Sequence[pg.SpotItem]) -> None:
        if len(points):
            self.picked.emit(points[0].data().tool_id)

    def _on_hovered(self, _dots: object, points: Sequence[pg.SpotItem]) -> None:
        names = [f"{p.data().tool_id}  {p.data().score:.2f}" for p in list(points)[:6]]
        self.setToolTip(plain_tip("\n".join(names)))


# kind: symbol, size in px, filled
_SHAPES = {OUT: ("o", 7, False), IN: ("o", 8, True), HELD: ("x", 9, True), WANTED: ("d", 12, False)}
