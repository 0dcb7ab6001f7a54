"""The top of the query set: how many pass, what can be added, and the run."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from app.core.text import plural
from ui.look.theme import Theme, set_look
from ui.pages.query_set.query_rows import FAILING, FIXED, PASSED, REGRESSED, STILL, QueryRow
from ui.shell.badges import badge
from ui.widgets.badge_button import BadgeButton
from ui.widgets.boxes import STRETCH, hbox, vbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel

GOOD, BAD = (FIXED, PASSED), (STILL, FAILING)


class QuerySetHead(QWidget):
    """Title, badges and buttons; below them a hint, or the progress of a run.

    Signals: filtered() when a badge was pressed: `wanted` are the verdicts to show.
    """

    filtered = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.title = theme.heading(ElidedLabel(), 2)
        self.passed = BadgeButton(theme, badge(PASSED))
        self.failing = BadgeButton(theme, badge(FAILING))
        self.worse = BadgeButton(theme, badge(REGRESSED))
        self._verdicts = ((self.passed, GOOD), (self.failing, BAD), (self.worse, (REGRESSED,)))
        for pill, _verdicts in self._verdicts:
            pill.clicked.connect(lambda _on=False, pressed=pill: self._on_pill(pressed))
        self.add = QPushButton("Add query…")
        theme.put_icon(self.add, "plus")
        self.import_ = QPushButton("Import…")
        self.more = QPushButton("More")
        self.run = QPushButton(" Run query set")  # the blank keeps the icon off the words
        self.run.setObjectName("runQuerySet")
        self.run.setToolTip("Run every labelled query (Ctrl+Enter)")
        self.hint = PlainLabel(look="faint")
        self.progress = QProgressBar()
        self.progress.setAccessibleName("Progress of the run")
        self.cancel = QPushButton("Cancel")
        self._lay_out()

    @property
    def wanted(self) -> frozenset[str]:
        """The verdicts whose rows are asked for; none: all rows."""
        chosen = (words for pill, words in self._verdicts if pill.isChecked())
        return frozenset(word for words in chosen for word in words)

    def show_all(self) -> bool:
        """Leave the choice of a badge; False where none was pressed."""
        pressed = [pill for pill, _verdicts in self._verdicts if pill.isChecked()]
        for pill in pressed:
            pill.setChecked(False)
        if pressed:
            self.filtered.emit()
        return bool(pressed)

    def _on_pill(self, pressed: BadgeButton) -> None:
        for pill, _verdicts in self._verdicts:
            if pill is not pressed:
                pill.setChecked(False)
        self.filtered.emit()

    def show_rows(self, rows: Sequence[QueryRow]) -> None:
        """Say how many labels there are and how many pass."""
        self.title.setText(f"{len(rows):,} labelled {'query' if len(rows) == 1 else 'queries'}")
        words = ("pass", "failing", "regressed")
        for (pill, verdicts), word in zip(self._verdicts, words, strict=True):
            number = count(rows, *verdicts)
            pill.show_badge(badge(verdicts[-1], f"{number} {word}"))
            pill.setVisible(number > 0)
            if not number:
                pill.setChecked(False)

    def show_progress(self, done: int, total: int) -> None:
        """Say how far a run is."""
        self.progress.setMaximum(max(1, total))
        self.progress.setValue(done)
        self.progress.setFormat(f"{done} of {plural(total, 'query')}")

    def show_state(self, hint: str, *, running: bool, can_run: bool, stands_out: bool) -> None:
        """Show a hint, or the progress while running; emphasise Run where it is the next step."""
        self.hint.setText(hint)
        self.hint.setVisible(bool(hint) and not running)
        self.progress.setVisible(running)
        self.cancel.setVisible(running)
        self.run.setEnabled(can_run)
        set_look(self.run, "primary", stands_out)
        bright = stands_out and can_run
        self._theme.put_icon(self.run, "play", "on_accent" if bright else "text2")

    def _lay_out(self) -> None:
        head = hbox(
            self.title,
            self.passed,
            self.failing,
            self.worse,
            STRETCH,
            self.add,
            self.import_,
            self.more,
            self.run,
        )
        below = hbox((self.hint, 1), (self.progress, 1), self.cancel)
        vbox(head, below, inside=self)


def count(rows: Sequence[QueryRow], *verdicts: str) -> int:
    """Number of rows with one of these verdicts."""
    return sum(row.verdict in verdicts for row in rows)
