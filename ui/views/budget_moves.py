"""What could go so that the budget holds: moves with their evidence, carried out in one step."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTreeView,
    QVBoxLayout,
)

from app.policy.budget import Verdict
from app.policy.pruner import PrunePlan
from ui.actions import turn_off_words
from ui.models.move_rows import FREES, TITLE, MoveTable
from ui.theme import CARD, GAP, Theme
from ui.views.rows import as_rows

_WITHIN = "Within the budget: nothing has to go."
_NOT_ENOUGH = "These do not suffice."
_NONE = "No tool stands out to be turned off."
_ELSE = (
    "Choose in the Catalog, or let hosts go through Toolcrib: their models then get a menu of two"
    " tools."
)


class BudgetMoves(QFrame):
    """Headline, evidence, moves with ticks.

    Signals: off_wanted(list of tools); through_wanted when hosts are to go through Toolcrib.
    """

    off_wanted = Signal(object)
    through_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._theme = theme
        self.headline = QLabel(wordWrap=True)
        self.told = QLabel(wordWrap=True)
        self.told.setProperty("faint", True)
        self.model = MoveTable(self)
        self.view = self._make_view()
        self.off = QPushButton("Turn off")
        self.off.setProperty("primary", True)
        self.off.clicked.connect(lambda: self.off_wanted.emit(self.model.tools))
        self.through = QPushButton("Serve hosts through Toolcrib…")
        self.through.clicked.connect(self.through_wanted)
        self._lay_out()
        self.model.dataChanged.connect(lambda *_: self._count())
        self.model.modelReset.connect(self._count)
        theme.changed.connect(self._fonts)
        self._fonts()
        for widget in (self.view, self.off, self.through):
            widget.hide()  # until something is known

    def show_plan(self, found: Verdict, plan: PrunePlan) -> None:
        """Show the verdict and what could be done about it."""
        moves = plan.moves
        over = bool(found.to_free or plan.needed_tools)
        self.headline.setText(_headline(found))
        told = [plan.evidence] if over else [_WITHIN, plan.evidence]
        if over and not plan.enough:
            told += [_NOT_ENOUGH if moves else _NONE, _ELSE]
        self.told.setText(" ".join(told))
        self.through.setVisible(over)
        self.model.show(moves)
        self.view.setVisible(bool(moves))
        self.off.setVisible(bool(moves))

    def _count(self) -> None:
        tools = self.model.tools
        self.off.setText(turn_off_words(tools))
        self.off.setEnabled(bool(tools))

    def _fonts(self) -> None:
        self._theme.dress(self.headline, 1, QFont.Weight.DemiBold)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(self.off)
        row.addWidget(self.through)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(CARD, CARD, CARD, CARD)
        column.setSpacing(GAP)
        column.addWidget(self.headline)
        column.addWidget(self.told)
        column.addWidget(self.view, 1)
        column.addStretch(0)
        column.addLayout(row)

    def _make_view(self) -> QTreeView:
        view = QTreeView()
        view.setObjectName("proposals")
        view.setAccessibleName("What could go")
        view.setModel(self.model)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        as_rows(view, self._theme, widths={FREES: 84}, stretched=(TITLE,))
        return view


def _headline(found: Verdict) -> str:
    if found.to_free:
        return f"To get out of BLOCK, free {found.to_free:,} tokens ≈"
    return " ".join(found.reasons) or f"{found.tokens:,} tokens ≈ of {found.budget.limit:,}"
