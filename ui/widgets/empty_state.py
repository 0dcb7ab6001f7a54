"""View of an empty page: an icon, a sentence, the next step."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from ui.look.theme import GAP, MARGIN, Theme
from ui.widgets.label import PlainLabel


class EmptyState(QWidget):
    """Centred in its page; the first button is the primary one."""

    def __init__(
        self, theme: Theme, *, icon: str, text: str, hint: str, buttons: tuple[str, ...] = ()
    ) -> None:
        super().__init__()
        self._theme = theme
        self._name = icon
        self._icon = PlainLabel()
        self._icon.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.text = PlainLabel(text)
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint = PlainLabel(hint)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setWordWrap(True)
        self.hint.setProperty("faint", True)
        self.buttons = [QPushButton(text) for text in buttons]
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addStretch(1)
        for number, button in enumerate(self.buttons):
            button.setProperty("primary", number == 0)
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setSpacing(MARGIN)
        column.addStretch(2)
        for widget in (self._icon, self.text, self.hint):
            column.addWidget(widget)
        column.addLayout(row)
        column.addStretch(3)
        theme.changed.connect(self._recolor)
        self._recolor()

    def _recolor(self) -> None:
        theme = self._theme
        theme.dress(self.text, 3, QFont.Weight.DemiBold)
        ratio, size = self.devicePixelRatioF(), theme.scaled(48)
        self._icon.setPixmap(theme.icons.pixmap(self._name, theme.colors.text2, size, ratio))
