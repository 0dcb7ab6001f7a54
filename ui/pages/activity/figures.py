"""A line of figures: a large number over what it counts."""

from collections.abc import Sequence

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.look.theme import CARD, GAP, Theme
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel


class Figures(QWidget):
    """Cards side by side, one for each (title, tooltip)."""

    def __init__(
        self, theme: Theme, cards: Sequence[tuple[str, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._titles = [title for title, _tip in cards]
        self.values: list[QLabel] = []
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        for title, tip in cards:
            row.addWidget(self._card(title, tip), 1)
        theme.changed.connect(self._fonts)
        self._fonts()

    def show_values(self, values: Sequence[str]) -> None:
        """Show one text a card."""
        for label, title, value in zip(self.values, self._titles, values, strict=True):
            label.setText(value)
            label.setAccessibleName(f"{value} {title}")

    def _card(self, title: str, tip: str) -> QFrame:
        card = QFrame()
        card.setProperty("card", True)
        card.setToolTip(tip)
        value = PlainLabel("–")
        under = ElidedLabel(title)
        under.setProperty("faint", True)
        column = QVBoxLayout(card)
        column.setContentsMargins(CARD, GAP, CARD, GAP)
        column.setSpacing(2)
        column.addWidget(value)
        column.addWidget(under)
        self.values.append(value)
        return card

    def _fonts(self) -> None:
        for label in self.values:
            self._theme.dress(label, 5, QFont.Weight.DemiBold)
