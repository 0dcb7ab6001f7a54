"""A line of figures: a large number over what it counts."""

from collections.abc import Sequence

from PySide6.QtWidgets import QFrame, QLabel, QWidget

from ui.look.theme import CARD, GAP, Theme
from ui.widgets.boxes import STRETCH, hbox, vbox
from ui.widgets.label import PlainLabel


class Figures(QWidget):
    """Cards side by side, one for each (title, tooltip)."""

    def __init__(self, theme: Theme, cards: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._theme = theme
        self._titles = [title for title, _tip in cards]
        self.values: list[QLabel] = []
        hbox(*((self._card(title, tip), 1) for title, tip in cards), inside=self)

    def show_values(self, values: Sequence[str]) -> None:
        """Show one text a card."""
        for label, title, value in zip(self.values, self._titles, values, strict=True):
            label.setText(value)
            label.setAccessibleName(f"{value} {title}")

    def _card(self, title: str, tip: str) -> QFrame:
        card = QFrame()
        card.setProperty("card", True)
        card.setToolTip(tip)
        value = self._theme.heading(PlainLabel("–"), 5)
        under = PlainLabel(title, wrap=True, look="faint")
        vbox(value, under, STRETCH, inside=card, margins=(CARD, GAP, CARD, GAP), gap=2)
        self.values.append(value)
        return card
