"""Names with hidden values, one row each: environment variables or headers."""

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from ui.look.theme import Theme
from ui.widgets.boxes import STRETCH, hbox, vbox


class PairRows(QWidget):
    """Rows of name and value; there is always an empty one to type into."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._what = "Variable"
        self.rows: list[tuple[QLineEdit, QLineEdit]] = []
        self._column = vbox(STRETCH, inside=self)
        self._add()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs as typed, empty rows too."""
        return tuple((name.text(), value.text()) for name, value in self.rows)

    def fill(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Begin with these; the values stay hidden."""
        for name, value in pairs:
            self.rows[-1][0].setText(name)
            self.rows[-2][1].setText(value)

    def call(self, what: str) -> None:
        """Name the rows: Variable or Header."""
        self._what = what
        for number in range(len(self.rows)):
            self._label(number)

    def _add(self) -> None:
        name, value, show = QLineEdit(self), QLineEdit(self), QPushButton(self)
        name.setPlaceholderText("Name")
        value.setPlaceholderText("Value")
        value.setEchoMode(QLineEdit.EchoMode.Password)
        show.setCheckable(True)
        show.setAutoDefault(False)  # Enter in a field must never show a value
        self._theme.put_icon(show, "eye-outline")
        show.setToolTip("Show the value")
        show.setAccessibleName("Show the value")
        show.toggled.connect(lambda on: value.setEchoMode(_echo(on)))
        name.textChanged.connect(self._grow)
        value.textChanged.connect(self._grow)
        row = hbox((name, 2), (value, 3), (show, Qt.AlignmentFlag.AlignVCenter))
        self._column.insertLayout(len(self.rows), row)
        self.rows.append((name, value))
        self._label(len(self.rows) - 1)

    def _label(self, number: int) -> None:
        name, value = self.rows[number]
        name.setAccessibleName(f"{self._what} {number + 1}, name")
        value.setAccessibleName(f"{self._what} {number + 1}, value")

    def _grow(self) -> None:
        if any(field.text() for field in self.rows[-1]):
            self._add()


def _echo(shown: bool) -> QLineEdit.EchoMode:
    return QLineEdit.EchoMode.Normal if shown else QLineEdit.EchoMode.Password
