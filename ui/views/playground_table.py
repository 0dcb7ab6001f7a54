"""The table of candidates with its filter "why is X not here?"."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QLineEdit,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from app.routing.ranked import RankedTool
from ui.models.answer import Answer
from ui.models.candidates import NUMBER, SCORE, TOKENS, TOOL, VERDICT, WHY, CandidateModel
from ui.theme import GAP, Theme
from ui.views.playground_cells import LeanDelegate, ScoreDelegate, VerdictDelegate
from ui.views.rows import as_rows

_WIDTHS = {NUMBER: 44, VERDICT: 76, TOOL: 240, SCORE: 140, TOKENS: 78}
_REASON = 180  # px that "Score 0.59 is under 0.69" takes
_NARROW = 680
_MOVED = 72  # px of a rank with an arrow


class CandidateView(QTreeView):
    """Rows of candidates."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._scaled = theme.scaled

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow tables take from the tool's name before the reason is cut."""
        super().resizeEvent(event)
        scaled, width = self._scaled, self.viewport().width()
        self.setColumnWidth(SCORE, scaled(_WIDTHS[SCORE] if width > scaled(_NARROW) else 110))
        others = sum(self.columnWidth(n) for n in (NUMBER, VERDICT, SCORE, TOKENS))
        room = width - others - scaled(_REASON)
        self.setColumnWidth(TOOL, min(scaled(_WIDTHS[TOOL]), max(120, room)))


class CandidateTable(QWidget):
    """Candidates by rank, those asked for on top.

    Signals: chosen(RankedTool or None) when the current row or its verdict changes.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.model = CandidateModel(self)
        self._query = ""  # of the answer in view
        self.filter = QLineEdit()
        self.filter.setObjectName("whyNot")
        self.filter.setAccessibleName("Why is a tool not here?")
        self.filter.setPlaceholderText("Why is X not here?  Type a tool's name")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._find)
        self._score = ScoreDelegate(theme, self)
        # both ends of `server/tool` tell tools apart
        self._name = LeanDelegate(theme, self, elide=Qt.TextElideMode.ElideMiddle)
        self.view = self._make_view(theme)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self.filter)
        layout.addWidget(self.view, 1)
        self.view.selectionModel().currentRowChanged.connect(self._on_current)

    @property
    def current(self) -> RankedTool | None:
        """The tool of the current row."""
        return self.model.tool(self.view.currentIndex().row())

    def show_answer(self, answer: Answer) -> None:
        """Show a ranking; under other settings the current tool stays current."""
        same = answer.ranked.query == self._query
        before = self.current if same else None
        self._query = answer.ranked.query
        self._score.line = answer.line
        self.model.show(answer.ranked.tools, answer.line, answer.moves)
        wide = _MOVED if self.model.moved else _WIDTHS[NUMBER]
        self.view.setColumnWidth(NUMBER, self._theme.scaled(wide))
        row = self.model.row_of(before.tool_id) if before else -1
        if row < 0:
            self._go_to(0)
        elif row != self.view.currentIndex().row():
            self._go_to(row)
        else:
            self.chosen.emit(self.current)
        self.view.viewport().update()

    def choose(self, tool_id: str) -> None:
        """Make a tool current."""
        row = self.model.row_of(tool_id)
        if row >= 0:
            self._go_to(row)

    def _find(self, text: str) -> None:
        if self.model.find(text) or not text:
            self._go_to(0)

    def _go_to(self, row: int) -> None:
        index = self.model.index(row, 0)
        flags = QItemSelectionModel.SelectionFlag
        self.view.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.view.scrollTo(index)
        self.chosen.emit(self.current)

    def _on_current(
        self,
        _current: QModelIndex | QPersistentModelIndex,
        _previous: QModelIndex | QPersistentModelIndex,
    ) -> None:
        self.chosen.emit(self.current)

    def _make_view(self, theme: Theme) -> CandidateView:
        view = CandidateView(theme)
        view.setObjectName("candidates")
        view.setAccessibleName("Candidates")
        view.setModel(self.model)
        as_rows(view, theme, widths=_WIDTHS, stretched=(WHY,))
        view.header().setMinimumSectionSize(36)
        view.setAllColumnsShowFocus(True)
        view.setItemDelegate(LeanDelegate(theme, view))
        view.setItemDelegateForColumn(TOOL, self._name)
        view.setItemDelegateForColumn(VERDICT, VerdictDelegate(theme, view))
        view.setItemDelegateForColumn(SCORE, self._score)
        return view
