"""The table of candidates with its filter "why is X not here?"."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QTreeView, QWidget

from app.ranking.ranked import RankedTool
from ui.look.theme import Theme
from ui.pages.playground.candidates import NUMBER, SCORE, TOKENS, TOOL, WHY, CandidateModel
from ui.pages.playground.cells import ScoreDelegate
from ui.shell.answer import Answer
from ui.widgets.boxes import vbox
from ui.widgets.delegates import LeanDelegate
from ui.widgets.icon_field import IconField
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.rows import as_rows
from ui.widgets.table_tools import tools_of

_REASON = 200  # px that "It is new and waits in Review" takes
_NAME = 150  # px that a tool's name keeps, at 100 % text size
# px: below the first, the score has the second; 64 is the figure without its bar
_SCORES = ((640, 64), (680, 110))
_NONE = "No tool here has this in its name. A tool is listed once its server was read: see Catalog."
_MOVED = 72  # px of a rank with an arrow


class CandidateView(QTreeView):
    """Rows of candidates."""

    def __init__(self, theme: Theme, model: CandidateModel) -> None:
        super().__init__()
        self._scaled = theme.scaled
        self._tool, self._score = model.place(TOOL), model.place(SCORE)
        self._reason = model.place(WHY)
        self._tokens = model.place(TOKENS)
        self._width = {number: column.width for number, column in enumerate(model.columns)}
        narrow = {self._tool: _NAME, self._reason: _REASON, self._score: _SCORES[0][1]}
        self._least = sum((self._width | narrow).values())  # px that hold every column
        self.setModel(model)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow tables take from the tool's name before the reason is cut, but not all of it."""
        super().resizeEvent(event)
        scaled, width = self._scaled, self.viewport().width()
        usual = self._width[self._score]
        tools_of(self).hide(self._tokens, width < scaled(self._least))
        wide = next((score for most, score in _SCORES if width <= scaled(most)), usual)
        self.setColumnWidth(self._score, scaled(wide))
        others = self._width.keys() - {self._tool, self._reason}  # a hidden one is 0 wide
        room = width - sum(map(self.columnWidth, others)) - scaled(_REASON)
        self.setColumnWidth(
            self._tool, min(scaled(self._width[self._tool]), max(scaled(_NAME), room))
        )


class CandidateTable(QWidget):
    """Candidates by rank, those asked for on top.

    Signals: chosen(RankedTool or None) when the current row or its verdict changes.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.model = CandidateModel(self)
        self._question = ("", "")  # query and engine of the answer in view
        self.filter = named(IconField(theme), "Why is a tool not here?", name="whyNot")
        self.filter.setPlaceholderText("Why is X not here?  Type a tool's name")
        self.filter.textChanged.connect(self._find)
        self.view = self._make_view(theme)
        self.none = PlainLabel(wrap=True, look="faint", name="noSuchTool")
        self.none.say("")
        vbox(self.filter, self.none, (self.view, 1), inside=self)
        self.view.selectionModel().currentRowChanged.connect(self._on_current)

    @property
    def current(self) -> RankedTool | None:
        """The tool of the current row."""
        return self.model.row(self.view.currentIndex().row())

    @property
    def _score_cells(self) -> ScoreDelegate:
        delegate = self.view.itemDelegateForColumn(self.model.place(SCORE))
        assert isinstance(delegate, ScoreDelegate)  # as the column says
        return delegate

    def show_answer(self, answer: Answer) -> None:
        """Show a ranking; under other settings the current tool stays current.

        Another engine's places have nothing to do with those before: it is read from its top.
        """
        question = (answer.ranked.query, answer.engine)
        before = self.current if question == self._question else None
        self._question = question
        self._score_cells.line = answer.line
        self.model.why = answer.why
        self.model.show(answer.ranked.tools, answer.line, answer.moves)
        number = self.model.place(NUMBER)
        wide = _MOVED if self.model.moved else self.model.columns[number].width
        self.view.setColumnWidth(number, self._theme.scaled(wide))
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
        count = self.model.find(text)
        self.none.say(_NONE if text.strip() and not count else "")
        if count or not text:
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
        view = named(CandidateView(theme, self.model), "Candidates", name="candidates")
        as_rows(view, theme, self.model.columns, delegate=LeanDelegate)
        view.header().setMinimumSectionSize(36)
        view.setAllColumnsShowFocus(True)
        return view
