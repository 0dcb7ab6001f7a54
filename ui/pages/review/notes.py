"""Notes of Review on servers and on the profile as a whole, a line with a mark for each."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QWidget

from ui.look.theme import GAP, Theme
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import Press, push_button

_MOST = 8


class Notes(QWidget):
    """Hidden while there is nothing to say."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._marks = [PlainLabel() for _ in range(_MOST)]
        self._lines = [PlainLabel() for _ in range(_MOST)]
        self._rows: list[QHBoxLayout] = []  # of the lines' buttons
        self._buttons: list[QPushButton] = []
        self._more = PlainLabel(look="faint")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, GAP)
        grid.setSpacing(GAP)
        grid.setColumnStretch(1, 1)
        for row, (mark, line) in enumerate(zip(self._marks, self._lines, strict=True)):
            theme.put_icon(mark, "alert", "warn")
            line.setWordWrap(True)
            line.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(mark, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(line, row, 1)
            self._rows.append(QHBoxLayout())
            self._rows[-1].setSpacing(GAP)
            grid.addLayout(self._rows[-1], row, 2, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self._more, _MOST, 1)
        self.show_texts(())

    def show_texts(self, texts: Sequence[str], buttons: Sequence[Sequence[Press]] = ()) -> None:
        """Show the first of these, and how many more there are; `buttons` are those of each."""
        while self._buttons:
            self._buttons.pop().deleteLater()
        for row, pressed in zip(self._rows, buttons, strict=False):
            for text, press in pressed:
                button = push_button(text, lambda _checked=False, press=press: press(), parent=self)
                row.addWidget(button)
                self._buttons.append(button)
        for number, (mark, line) in enumerate(zip(self._marks, self._lines, strict=True)):
            line.setText(texts[number] if number < len(texts) else "")
            mark.setVisible(number < len(texts))
            line.setVisible(number < len(texts))
        self._more.setText(f"And {len(texts) - _MOST} more.")
        self._more.setVisible(len(texts) > _MOST)
        self.setVisible(bool(texts))

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        """The buttons of all lines, from top to bottom."""
        return tuple(self._buttons)

    def text(self) -> str:
        """The lines shown."""
        return "\n".join(line.text() for line in self._lines if line.text())
