"""The calibration: its plot, what is recommended and why, and the button that uses it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.settings import RoutingSettings
from app.ranking.learning.calibrate import LEAST, Calibration, Point, Sweep
from app.ranking.learning.cases import Outcome
from ui.look.theme import Theme, set_look
from ui.pages.query_set.plot_legend import PlotLegend
from ui.shell.badges import badge
from ui.shell.calibration_curves import curves, shown_value, sweep_of, threshold_of, with_threshold
from ui.widgets.badge import Badge
from ui.widgets.boxes import boxed, hbox, vbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.number_field import amount_field
from ui.widgets.push_button import push_button

if TYPE_CHECKING:
    from ui.pages.query_set.calibration_plot import CalibrationPlot

Serve = Callable[[RoutingSettings], Mapping[str, Outcome]]  # what each query gets

_LEAST_HEIGHT = 120  # px of the plot
_WORDS = 280  # px for the recommendation at 100 %, in two lines; with less it has its own row


class CalibrationPanel(QWidget):
    """One calibration under the profile's settings.

    Signals: target_set(recall, 0 for the best F1); threshold_set(value) by the plot's line.
    """

    target_set = Signal(float)
    threshold_set = Signal(float)

    def __init__(self, theme: Theme, target: float) -> None:
        super().__init__()
        self._theme = theme
        self.plot: CalibrationPlot | None = None
        self._calibration: Calibration | None = None
        self._settings = RoutingSettings()
        self._serve: Serve = lambda _settings: {}
        self._costs = 0  # queries that pass now and would not under the recommendation
        self.few = Badge(theme, badge("few queries"))
        self.few.setToolTip(
            "Fewer than 20 queries: mostly chance. The bands show how uncertain it is."
        )
        self.text = theme.heading(PlainLabel(wrap=True), 0)
        self.target = amount_field("Target recall", 1.0, step=0.05, zero="best F1")
        self.target.setToolTip(
            "Recommend the threshold with the fewest tools that still finds this share of the"
            " expected tools; at 0 the one with the best balance (F1)."
        )
        self.target.setValue(target)
        self.target.valueChanged.connect(self.target_set)
        self.why = push_button()
        self.use = push_button(name="useRecommended")
        self.legend = PlotLegend(theme)
        self.now = ElidedLabel(look="faint")
        self._bar = Flow(at_end=True)
        self._room = QVBoxLayout()
        self._lay_out()
        theme.changed.connect(self._recolor)

    @property
    def best(self) -> float | None:
        """The recommended threshold, None without one."""
        sweep = self._sweep
        return shown_value(sweep, sweep.best) if sweep else None

    @property
    def trusted(self) -> bool:
        """True if there are enough queries to follow the recommendation."""
        return self._calibration is not None and self._calibration.queries >= LEAST

    @property
    def waits(self) -> bool:
        """True if the recommendation is there, can be trusted and is not in use."""
        useful = self.trusted and not self._costs
        return useful and self.best is not None and self.use.isEnabled()

    def show_calibration(
        self, calibration: Calibration | None, settings: RoutingSettings, serve: Serve
    ) -> None:
        """Show a calibration's curves and lines; `serve` says what other settings give."""
        self._calibration, self._settings, self._serve = calibration, settings, serve
        sweep = self._sweep
        if calibration is None or sweep is None:
            return
        best, now = shown_value(sweep, sweep.best), threshold_of(settings)
        self._build()
        assert self.plot is not None  # just built
        self.plot.show_curves(curves(sweep), recommended=best, current=now)
        self.few.show_badge(
            badge("few queries", f"Too few queries to trust: {calibration.queries} of {LEAST}")
        )
        self.few.setVisible(not self.trusted)
        passing = f"{sum(calibration.passed.values())} of {calibration.queries} pass"
        self.text.setText(f"{best:.2f} recommended: {passing}, {point_text(sweep.best)}")
        self.why.setText(f"Why {best:.2f}?")
        in_use = calibration.settings(settings) == settings
        fewer = self._passing(settings) - self._passing(calibration.settings(settings))
        self._costs = max(0, fewer)
        self.use.setText(_use_text(best, in_use=in_use, fewer=self._costs))
        self.use.setEnabled(not in_use)
        self.preview(now)

    def _passing(self, settings: RoutingSettings) -> int:
        return sum(one.passed for one in self._serve(settings).values())

    def preview(self, threshold: float) -> None:
        """Say what a place of the current line gives."""
        if self._calibration is None or self.plot is None:
            return
        self.plot.show_current(threshold)
        outcomes = self._serve(with_threshold(self._settings, threshold)).values()
        passing = sum(one.passed for one in outcomes)
        tools = sum(len(one.active) for one in outcomes) / max(1, len(outcomes))
        self.now.setText(
            f"{threshold:.2f}: {passing} of {len(outcomes)} pass, {tools:.1f} tools in"
        )
        self._fit()
        self.plot.setAccessibleDescription(f"Now {self.now.text()}. {self.text.text()}")

    def reason(self) -> str:
        """Reason for the recommended threshold."""
        sweep, calibration = self._sweep, self._calibration
        return reason(calibration, sweep, self.target.value()) if sweep and calibration else ""

    @property
    def _sweep(self) -> Sweep | None:
        return sweep_of(self._calibration, self._settings) if self._calibration else None

    def stand_out(self, primary: bool) -> None:
        """Emphasise the button that uses the recommendation if it is the next step."""
        set_look(self.use, "primary", primary)

    def _build(self) -> None:
        if self.plot is not None:
            return
        from ui.pages.query_set.calibration_plot import CalibrationPlot

        plot = self.plot = CalibrationPlot(self._theme.colors, self)
        plot.setMinimumHeight(_LEAST_HEIGHT)
        plot.moved.connect(self.preview)
        plot.settled.connect(self.threshold_set)
        self._room.addWidget(plot)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the height to the width: a splitter does not ask for it."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.legend.fit(self.width() - self.now.sizeHint().width())
        layout = self.layout()
        if layout is not None:
            self.setMinimumHeight(layout.minimumHeightForWidth(self.width()))

    def _recolor(self) -> None:
        self._bar.set_least(self.text, self._theme.scaled(_WORDS))
        self._fit()
        if self.plot is not None:
            self.plot.set_colors(self._theme.colors)

    def _lay_out(self) -> None:
        label = PlainLabel("Target &recall", buddy=self.target)
        choices = boxed(hbox(label, self.target, self.why, self.use))
        self._bar.addWidget(self.few)
        self._bar.add_wide(self.text, self._theme.scaled(_WORDS))
        self._bar.addWidget(choices)
        below = hbox(self.legend, (self.now, 1), gap=0)
        vbox(self._bar, below, (self._room, 1), inside=self, gap=4)


def _use_text(best: float, *, in_use: bool, fewer: int) -> str:
    """The button's words; a recommendation that fails queries which pass now says so first."""
    if in_use:
        return f"{best:.2f} is in use"
    if fewer:
        queries = "1 query that passes now fails" if fewer == 1 else f"{fewer} that pass now fail"
        return f"Use {best:.2f}: {queries}"
    return f"Use {best:.2f} (recommended)"


def point_text(point: Point) -> str:
    """`recall 0.91, precision 0.42, 3.4 tools in`."""
    return (
        f"recall {point.recall:.2f}, precision {point.precision:.2f}, {point.active:.1f} tools in"
    )


def reason(calibration: Calibration, sweep: Sweep, target: float) -> str:
    """Sentences that say how a threshold was chosen, on how many queries, how certainly."""
    best, (low, high) = sweep.best, sweep.band
    value = f"{shown_value(sweep, best):.2f}"
    f1 = f"F1 {best.f1:.2f}, 95 % between {low:.2f} and {high:.2f}"
    if not target:
        choice = (
            f"{value} has the best balance of recall and precision"
            f" of {len(sweep.points)} thresholds"
        )
    elif sweep.reached:
        choice = f"{value} has the fewest tools in of all that reach recall {target:.2f}"
    else:
        choice = f"No threshold reaches recall {target:.2f}; {value} comes nearest"
    sentences = [f"{choice} ({f1})."]
    if sweep.held is not None:
        held_out = calibration.queries // 3
        sentences.append(
            f"Tuned on {calibration.queries - held_out} queries, checked on {held_out} others:"
            f" F1 {sweep.held.f1:.2f}, recall {sweep.held.recall:.2f}."
        )
    if calibration.floor:
        sentences.append(
            f"It comes with the floor {calibration.floor:.2f}: below that likeness no tool fits."
        )
    return " ".join(sentences)
