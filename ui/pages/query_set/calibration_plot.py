"""Recall and precision over the threshold, and below them how many tools are in."""

import math

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from ui.look.colors import Colors
from ui.pages.query_set.plot_legend import shade
from ui.shell.calibration_curves import Curves

STEP, BIG_STEP = 0.01, 0.05
_AXIS = 44  # px, so that both plots begin at the same place
_LEAST_LINES = 6  # of text: a plot this high also has room for the words below it
_ROWS = (5, 3)  # how the height is shared
_COUNTS = "Tools in"
_TICKS = [(0, "0"), (0.5, "0.5"), (1, "1")]


class CalibrationPlot(pg.GraphicsLayoutWidget):  # type: ignore[misc]
    """Two plots over the same thresholds, with the current line to drag.

    Signals: moved(value) while the line is dragged; settled(value) once at its end and at each
    key step.
    """

    moved = Signal(float)
    settled = Signal(float)

    def __init__(self, colors: Colors, parent: QWidget | None = None) -> None:
        pg.setConfigOptions(mouseRateLimit=0, antialias=True)
        super().__init__(parent)
        self.setObjectName("calibPlot")
        self.setAccessibleName("Recall, precision and tools over the threshold")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.ci.setSpacing(2)
        self._dragged = False
        self._emitted = -1.0
        self.shares = self._make_plot(0, "Share")
        self.counts = self._make_plot(1, _COUNTS)
        self.shares.hideAxis("bottom")
        self.shares.setYRange(0.0, 1.0, padding=0.04)
        self.shares.getAxis("left").setTicks([_TICKS])
        self.counts.setXLink(self.shares)
        self.counts.getAxis("bottom").setLabel("Threshold")
        for row, share in enumerate(_ROWS):
            self.ci.layout.setRowStretchFactor(row, share)
        self._recall, self._precision = pg.PlotCurveItem(), pg.PlotCurveItem()
        self._rules = [pg.InfiniteLine(share, angle=0) for share in (0.0, 0.5, 1.0)]
        for rule in self._rules:
            rule.setZValue(-20)
            self.shares.addItem(rule, ignoreBounds=True)
        self._bands = [_Band(self.shares) for _ in range(2)]
        self.shares.addItem(self._recall)
        self.shares.addItem(self._precision)
        self._tools = pg.PlotCurveItem(fillLevel=0.0)
        self.counts.addItem(self._tools)
        self._best = [pg.InfiniteLine(angle=90) for _ in range(2)]
        self._lines = [pg.InfiniteLine(angle=90, movable=True, bounds=(0, 1)) for _ in range(2)]
        for plot, best, line in zip(self._plots, self._best, self._lines, strict=True):
            plot.addItem(best, ignoreBounds=True)
            plot.addItem(line, ignoreBounds=True)
            line.sigDragged.connect(self._on_dragged)
            line.sigPositionChangeFinished.connect(self._on_released)
        self.set_colors(colors)

    @property
    def threshold(self) -> float:
        """Threshold at the current line."""
        return float(self._lines[0].value())

    @property
    def recommended(self) -> float:
        """Threshold at the recommended line."""
        return float(self._best[0].value())

    def show_curves(self, curves: Curves, *, recommended: float, current: float) -> None:
        """Replace everything; emits nothing."""
        x = list(curves.thresholds)
        self._recall.setData(x, list(curves.recall))
        self._precision.setData(x, list(curves.precision))
        self._tools.setData(x, list(curves.tools))
        self._bands[0].show(x, curves.recall_low, curves.recall_high)
        self._bands[1].show(x, curves.precision_low, curves.precision_high)
        self.shares.setXRange(min(*x, current), max(*x, current), padding=0.02)
        most = max(1, math.ceil(max(curves.tools)))
        self.counts.setYRange(0.0, most, padding=0.05)
        self.counts.getAxis("left").setTicks([[(n, str(n)) for n in (0, most)]])
        for line in self._best:
            line.setValue(recommended)
        self.show_current(current)

    def show_current(self, value: float) -> None:
        """Move the current line; emits nothing."""
        if not self._dragged:
            for line in self._lines:
                line.setValue(value)

    def set_colors(self, colors: Colors) -> None:
        """Recolour everything, for a theme change."""
        self.setBackground(colors.base)
        for plot in self._plots:
            for name in ("left", "bottom"):
                plot.getAxis(name).setPen(pg.mkPen(colors.border))
                plot.getAxis(name).setTextPen(pg.mkPen(colors.text))
        self._recall.setPen(pg.mkPen(colors.bar, width=2))
        dashed = Qt.PenStyle.DashLine
        self._precision.setPen(pg.mkPen(colors.unused, width=2, style=dashed))
        self._bands[0].fill(colors.bar)
        self._bands[1].fill(colors.unused)
        self._tools.setPen(pg.mkPen(colors.passed.ink, width=2))
        self._tools.setBrush(pg.mkBrush(shade(colors.passed.ink)))
        for rule in self._rules:
            rule.setPen(pg.mkPen(colors.hairline))
        for line in self._best:
            line.setPen(pg.mkPen(colors.passed.ink, width=2, style=Qt.PenStyle.DotLine))
        for line in self._lines:
            line.setPen(pg.mkPen(colors.text, width=2))
            line.setHoverPen(pg.mkPen(colors.bar, width=4))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A low plot does without the words beside its axes."""
        super().resizeEvent(event)
        if getattr(self, "counts", None) is not None:
            line = self.fontMetrics().height()
            self.ci.setContentsMargins(4, line // 4, 10, 2)  # half of the highest tick's words
            self.counts.getAxis("bottom").showLabel(self.height() >= _LEAST_LINES * line)
            room = self.height() * _ROWS[1] // sum(_ROWS) - line
            reads = self.fontMetrics().horizontalAdvance(_COUNTS) <= room
            # what is lower writes 0 over the next plot's highest, then 0.5 over 1
            apart = (self.height() - 2 * line) * _ROWS[0] // sum(_ROWS) // 2
            ticks = _TICKS if reads else _TICKS[1:] if apart > line else _TICKS[1:2]
            self.shares.getAxis("left").setTicks([ticks])
            self.ci.layout.setRowSpacing(0, line // 2 if reads else 2)  # 0 over the next highest
            for plot in self._plots:
                plot.getAxis("left").showLabel(reads)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move the threshold, with Shift by five steps."""
        sign = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if sign is None:
            super().keyPressEvent(event)
            return
        big = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        new = self.threshold + sign * (BIG_STEP if big else STEP)
        self.settled.emit(round(min(1.0, max(0.0, new)), 2))
        event.accept()

    def point_of(self, threshold: float) -> QPointF:
        """The place of a threshold at mid height of the upper plot, in viewport pixels."""
        box = self.shares.getViewBox()
        return QPointF(self.mapFromScene(box.mapViewToScene(QPointF(threshold, 0.5))))

    @property
    def _plots(self) -> tuple[pg.PlotItem, pg.PlotItem]:
        return self.shares, self.counts

    def _make_plot(self, row: int, title: str) -> pg.PlotItem:
        plot = self.addPlot(row=row, col=0, enableMenu=False)
        plot.ctrlMenu = None  # would outlive it: seven windows of no parent
        plot.setMouseEnabled(x=False, y=False)
        plot.hideButtons()
        axis = plot.getAxis("left")
        axis.setWidth(_AXIS)
        axis.setStyle(hideOverlappingLabels=False)  # or the ends of the scale are left out
        axis.setLabel(title)
        return plot

    def _on_dragged(self, line: pg.InfiniteLine) -> None:
        self._dragged = True
        for other in self._lines:
            if other is not line:
                other.setValue(line.value())
        value = round(float(line.value()), 2)
        if value != self._emitted:
            self._emitted = value
            self.moved.emit(value)

    def _on_released(self, line: pg.InfiniteLine) -> None:
        if self._dragged:
            self._dragged, self._emitted = False, -1.0
            self.settled.emit(round(float(line.value()), 2))


class _Band:
    """The shaded area between two curves."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self._low, self._high = pg.PlotCurveItem(pen=None), pg.PlotCurveItem(pen=None)
        self._area = pg.FillBetweenItem(self._low, self._high)
        self._area.setZValue(-5)
        for item in (self._low, self._high, self._area):
            plot.addItem(item, ignoreBounds=True)

    def show(self, x: list[float], low: tuple[float, ...], high: tuple[float, ...]) -> None:
        self._low.setData(x, list(low))
        self._high.setData(x, list(high))

    def fill(self, color: QColor) -> None:
        self._area.setBrush(pg.mkBrush(shade(color)))
