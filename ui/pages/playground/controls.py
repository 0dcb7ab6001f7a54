"""The second line of the playground: threshold, top-k, the headline."""

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QPushButton, QSpinBox, QToolButton, QWidget

from app.core.settings import RoutingSettings
from app.core.text import plural
from ui.look.theme import GAP, Theme
from ui.shell.answer import Answer
from ui.shell.calibration_curves import threshold_of
from ui.widgets.boxes import hbox
from ui.widgets.elided import ElidedLabel, YieldingChoice
from ui.widgets.label import PlainLabel

MOST = 100  # tools that top-k can allow
_CUT_LETTERS = 10  # of how the threshold is set, with large text on a small screen
_CUTS = (("Near the best", "relative"), ("Fixed threshold", "theta"))


class PlaygroundControls(QWidget):
    """Controls of the number of tools that a query brings.

    Signals: threshold_set(value), k_set(tools), cut_set(relative or theta) by the user;
    learned_set(yes or no); sees_toggled(shown).
    """

    threshold_set = Signal(float)
    k_set = Signal(int)
    cut_set = Signal(str)
    learned_set = Signal(bool)
    sees_toggled = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.threshold = QDoubleSpinBox(decimals=2, minimum=0.0, maximum=1.0, singleStep=0.01)
        self.threshold.setObjectName("threshold")
        self.threshold.setAccessibleName("Threshold")
        self.threshold.setToolTip(
            "Tools scoring below this are not shown for a query. Lower finds more and costs more"
            " tokens."
        )
        self.cut = YieldingChoice(_CUT_LETTERS)
        self.cut.setObjectName("cut")
        self.cut.setAccessibleName("How the threshold is set")
        self.cut.setToolTip(
            "Near the best: the threshold follows each query's best score. Fixed threshold: the"
            " similarity of meaning must reach it, whatever the others score."
        )
        for words, value in _CUTS:
            self.cut.addItem(words, value)
        self.topk = QSpinBox(minimum=0, maximum=MOST)
        self.topk.setSpecialValueText("all")
        self.topk.setObjectName("topk")
        self.topk.setAccessibleName("Top-k")
        self.topk.setToolTip("At most this many tools are shown for a query.")
        self.past_use = QCheckBox("Past &use")
        self.past_use.setObjectName("pastUse")
        self.past_use.setToolTip(
            "With past use, or without it: arrows beside the ranks show what it moves."
        )
        self.past_use.hide()
        self._offers_past_use = False
        self._ours: list[QWidget] = []  # what sets Toolcrib's own ranking
        self.headline = theme.heading(ElidedLabel(name="playHeadline"), 0)
        self.sees = QPushButton(" What the model sees")  # the blank keeps the icon off the words
        self.sees.setCheckable(True)
        self.sees.setToolTip("The exact JSON of the tools that are in, with its size")
        self.weights = QToolButton()
        self.weights.setAccessibleName("Weights of words")
        self.weights.setToolTip("Weights of words: in names, descriptions, parameters, servers")
        for spin in (self.threshold, self.topk):
            spin.lineEdit().setTextMargins(4, 0, 0, 0)  # the stylesheet's padding is not kept
        self._lay_out()
        self.threshold.valueChanged.connect(self.threshold_set)
        self.topk.valueChanged.connect(self.k_set)
        self.cut.activated.connect(lambda place: self.cut_set.emit(self.cut.itemData(place)))
        self.past_use.toggled.connect(self.learned_set)
        self.sees.toggled.connect(self.sees_toggled)
        theme.put_icon(self.sees, "code-json")
        theme.put_icon(self.weights, "cog-outline")

    def show_settings(self, settings: RoutingSettings) -> None:
        """Show a profile's settings; emits nothing."""
        with QSignalBlocker(self.topk), QSignalBlocker(self.cut), QSignalBlocker(self.past_use):
            self.topk.setValue(settings.k)
            self.past_use.setChecked(settings.learned)
            self.cut.setItemText(0, f"{settings.delta:.2f} below the best")
            self.cut.setCurrentIndex(self.cut.findData(settings.cut))
        self.show_threshold(threshold_of(settings))

    def show_engine(self, engine: str) -> None:
        """A host's own search has no settings of ours."""
        for widget in self._ours:
            widget.setVisible(not engine)
        self.past_use.setVisible(not engine and self._offers_past_use)

    def show_past_use(self, there: bool) -> None:
        """Offer rankings with and without past use where something was learned."""
        self._offers_past_use = there
        self.past_use.setVisible(there and self.topk.isVisibleTo(self))

    def show_threshold(self, value: float) -> None:
        """Show the value of the threshold; emits nothing."""
        with QSignalBlocker(self.threshold):
            self.threshold.setValue(value)

    def show_answer(self, answer: Answer, total: int) -> None:
        """Show how many tools an answer brings, of how many tokens in all."""
        self.show_settings(answer.settings)
        self.show_threshold(answer.line.value)
        shown = len(answer.ranked.shown)
        of = "" if answer.engine else f" of {total:,}"
        self.headline.brief = f"{shown} in · {answer.ranked.tokens:,} ≈"
        self.headline.setText(f"{plural(shown, 'tool')} in · {answer.ranked.tokens:,}{of} tokens ≈")

    def _lay_out(self) -> None:
        threshold = PlainLabel("&Threshold", buddy=self.threshold)
        topk = PlainLabel("Top-&k", buddy=self.topk)
        fields = [threshold, self.threshold, self.cut, topk, self.topk]
        self._ours += [*fields, self.weights]
        shown = ((self.headline, 1), self.weights, self.sees)
        hbox(*fields, self.past_use, GAP, *shown, inside=self)
