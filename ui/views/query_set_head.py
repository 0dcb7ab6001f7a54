"""The top of the query set: how many pass, what can be added, and the run."""

from collections.abc import Sequence

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ui.models.query_rows import FAILING, FIXED, PASSED, REGRESSED, STILL, QueryRow
from ui.models.roles import BadgeText
from ui.theme import GAP, Theme
from ui.views.badge import Badge
from ui.views.elided import ElidedLabel
from ui.views.query_set_editor import plural_queries

GOOD, BAD = (PASSED, FIXED), (FAILING, STILL)


class QuerySetHead(QWidget):
    """Title, badges and buttons; below them a hint, or the progress of a run."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.title = ElidedLabel()
        theme.dress(self.title, 2, QFont.Weight.DemiBold)
        self.passed = Badge(theme, BadgeText("", "passed", "check-circle"))
        self.failing = Badge(theme, BadgeText("", "warn", "alert"))
        self.worse = Badge(theme, BadgeText("", "block", "close-octagon", solid=True))
        self.add = QPushButton("Add query…")
        self.import_ = QPushButton("Import…")
        self.more = QPushButton("More")
        self.run = QPushButton(" Run query set")  # the blank keeps the icon off the words
        self.run.setObjectName("runQuerySet")
        self.run.setToolTip("Ask every labelled query and see what it finds (Ctrl+Enter)")
        self.hint = QLabel()
        self.hint.setProperty("faint", True)
        self.progress = QProgressBar()
        self.progress.setAccessibleName("Progress of the run")
        self.cancel = QPushButton("Cancel")
        self._lay_out()
        theme.changed.connect(self._recolor)

    def show_rows(self, rows: Sequence[QueryRow]) -> None:
        """Say how many labels there are and how many pass."""
        self.title.setText(f"{len(rows):,} labelled {'query' if len(rows) == 1 else 'queries'}")
        for badge, verdicts, word in (
            (self.passed, GOOD, "pass"),
            (self.failing, BAD, "failing"),
            (self.worse, (REGRESSED,), "regressed"),
        ):
            number = count(rows, *verdicts)
            look = badge.badge
            badge.show_badge(BadgeText(f"{number} {word}", look.tone, look.icon, solid=look.solid))
            badge.setVisible(number > 0)

    def show_progress(self, done: int, total: int) -> None:
        """Say how far a run is."""
        self.progress.setMaximum(max(1, total))
        self.progress.setValue(done)
        self.progress.setFormat(f"{done} of {plural_queries(total)}")

    def show_state(self, hint: str, *, running: bool, can_run: bool, stands_out: bool) -> None:
        """Show a hint, or the progress while running; Run stands out where it is the next step."""
        self.hint.setText(hint)
        self.hint.setVisible(bool(hint) and not running)
        self.progress.setVisible(running)
        self.cancel.setVisible(running)
        self.run.setEnabled(can_run)
        if self.run.property("primary") != stands_out:
            self.run.setProperty("primary", stands_out)
            self.run.style().unpolish(self.run)
            self.run.style().polish(self.run)
        self._recolor()

    def _recolor(self) -> None:
        icons = self._theme.icons
        bright = self.run.property("primary") and self.run.isEnabled()
        self.run.setIcon(icons.icon("play", "on_accent" if bright else "text2"))
        self.add.setIcon(icons.icon("plus"))

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(GAP)
        for widget in (self.title, self.passed, self.failing, self.worse):
            head.addWidget(widget)
        head.addStretch(1)
        for button in (self.add, self.import_, self.more, self.run):
            head.addWidget(button)
        below = QHBoxLayout()
        below.setSpacing(GAP)
        below.addWidget(self.hint, 1)
        below.addWidget(self.progress, 1)
        below.addWidget(self.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        column.addLayout(head)
        column.addLayout(below)


def count(rows: Sequence[QueryRow], *verdicts: str) -> int:
    """How many rows have one of these verdicts."""
    return sum(row.verdict in verdicts for row in rows)
