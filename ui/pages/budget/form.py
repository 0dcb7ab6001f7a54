"""Form of the budget's numbers, edited in place."""

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QSlider, QWidget

from app.core.settings import BudgetSettings
from app.policy.budget import Budget
from ui.look.theme import CARD, GAP
from ui.widgets.boxes import STRETCH, add_row, boxed, form, hbox, vbox
from ui.widgets.elided import Choice
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.number_field import number_field
from ui.widgets.wheel import WheelGuard

_MOST_TOKENS = 10_000_000
_SLIDER_PERCENT = 50  # of the window, at the slider's right end
_ON_BLOCK = (
    ("Only say so", "report"),
    ("Ask before writing", "ask"),
    ("Refuse to write", "refuse"),
)
_NAMES = {
    "window": "context window",
    "tokens": "budget",
    "warn_percent": "WARN",
    "block_percent": "BLOCK",
    "max_tools": "most tools",
    "on_block": "what BLOCK does",
}
_BLOCK_MEANS = {
    "report": "nothing is stopped, the verdict is shown only",
    "ask": "Toolcrib asks before it writes such a config",
    "refuse": "Toolcrib writes no such config",
}


class BudgetForm(QFrame):
    """Six fields and what they mean together.

    Signals: changed(BudgetSettings, what was done) with each change by the user.
    """

    changed = Signal(object, str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("budgetForm")
        self.setProperty("card", True)
        self._settings = BudgetSettings()
        self.window_ = number_field(
            "Context window", 1_000, _MOST_TOKENS, step=10_000, unit=" tokens"
        )
        self.tokens = number_field("Budget for tools", 0, _MOST_TOKENS, step=1_000, unit=" tokens")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, _SLIDER_PERCENT)
        self.slider.setAccessibleName("Budget in per cent of the context window")
        self.share = PlainLabel(look="faint")
        self.warn = number_field("Warn at", 1, 100, unit=" %")
        self.block = number_field("Block at", 1, 1_000, unit=" %")
        self.most = number_field("Most tools", 0, 10_000)
        self.most.setSpecialValueText("The host's own limit")
        self.on_block = named(Choice(rows=_ON_BLOCK), "When blocked")
        self.meaning = PlainLabel(wrap=True, look="faint")
        self._wheel = WheelGuard(self)
        for field in (self.window_, self.tokens, self.slider, self.warn, self.block, self.most):
            self._wheel.look_after(field)
        self._wheel.look_after(self.on_block)
        self._lay_out()
        self._connect()

    def show_settings(self, settings: BudgetSettings) -> None:
        """Show a profile's budget; emits nothing."""
        self._settings = settings
        values = (
            (self.window_, settings.window),
            (self.tokens, settings.tokens),
            (self.warn, settings.warn_percent),
            (self.block, settings.block_percent),
            (self.most, settings.max_tools),
        )
        for spin, value in values:
            if spin.value() != value:  # else a number that is being typed would be lost
                with QSignalBlocker(spin):
                    spin.setValue(value)
        percent = 100 * settings.tokens / settings.window
        with QSignalBlocker(self.slider), QSignalBlocker(self.on_block):
            self.slider.setValue(round(percent))
            self.on_block.setCurrentIndex(self.on_block.findData(settings.on_block))
        self.share.setText(f"{percent:.0f} % of the window")
        self.meaning.setText(meaning(Budget.from_settings(settings)))

    def _give(self, **changes: object) -> None:
        new = replace(self._settings, **changes)  # type: ignore[arg-type]
        if new != self._settings:
            ((name, value),) = changes.items()
            words = f"{value:,}" if isinstance(value, int) else str(value)
            self.changed.emit(new, f"Set {_NAMES[name]} to {words}")

    def _connect(self) -> None:
        self.window_.valueChanged.connect(lambda n: self._give(window=n))
        self.tokens.valueChanged.connect(lambda n: self._give(tokens=n))
        self.slider.valueChanged.connect(
            lambda percent: self._give(tokens=self._settings.window * percent // 100)
        )
        self.warn.valueChanged.connect(lambda n: self._give(warn_percent=n))
        self.block.valueChanged.connect(lambda n: self._give(block_percent=n))
        self.most.valueChanged.connect(lambda n: self._give(max_tools=n))
        self.on_block.activated.connect(
            lambda place: self._give(on_block=self.on_block.itemData(place))
        )

    def _lay_out(self) -> None:
        block = PlainLabel("B&lock at", buddy=self.block)
        rows = form(
            ("Context &window", self.window_),
            ("&Budget for tools", self.tokens),
            ("", _row(self.slider, self.share)),
        )
        rows.setVerticalSpacing(GAP)
        add_row(rows, "Warn &at", _row(self.warn, block, self.block), buddy=self.warn)
        add_row(rows, "&Most tools", self.most)
        add_row(rows, "When bloc&ked", self.on_block)
        vbox(rows, self.meaning, STRETCH, inside=self, margins=CARD)


def _row(*widgets: QWidget) -> QWidget:
    return boxed(hbox(*((one, 0 if isinstance(one, QLabel) else 1) for one in widgets)))


def meaning(budget: Budget) -> str:
    """PASS, WARN and BLOCK in one sentence each."""
    cap = f" or {budget.max_tools} tools" if budget.max_tools else ""
    below = f"PASS below {budget.warn_from:,} tokens. WARN from there on."
    if budget.warn_from > budget.block_over:
        below = f"PASS up to {budget.block_over:,} tokens."
    blocks = f"BLOCK above {budget.block_over:,} tokens{cap}"
    return f"{below} {blocks}: {_BLOCK_MEANS.get(budget.on_block, '')}."
