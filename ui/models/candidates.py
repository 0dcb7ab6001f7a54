"""The ranked tools of a query as a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from app.routing.ranked import TRUSTED, RankedTool
from ui.models.gate_lines import Line
from ui.models.row_table import Index, RowTable

COLUMNS = ("#", "Verdict", "Tool", "Score", "Why", "Tokens ≈")
NUMBER, VERDICT, TOOL, SCORE, WHY, TOKENS = range(len(COLUMNS))
RANKED_ROLE = int(Qt.ItemDataRole.UserRole) + 10
INSIDE, OUTSIDE, HELD = "In", "Out", "Held"
TIPS = {
    NUMBER: "Rank by score. An arrow shows how many places past use moves a tool.",
    VERDICT: "In: the model gets this tool for the query.",
    SCORE: "Shared words, similar meaning and past use, relative to this query's best tool.",
    WHY: "The first gate that decides: on, trusted, precondition, score, top-k, budget.",
    TOKENS: "Size of this tool's definition as the model receives it.",
}
_ROLES = frozenset(
    (
        int(Qt.ItemDataRole.DisplayRole),
        int(Qt.ItemDataRole.ToolTipRole),
        int(Qt.ItemDataRole.AccessibleTextRole),
        int(Qt.ItemDataRole.TextAlignmentRole),
        RANKED_ROLE,
    )
)


def verdict(tool: RankedTool) -> str:
    """In, Out or Held."""
    if tool.shown:
        return INSIDE
    return HELD if tool.gate == TRUSTED else OUTSIDE


class CandidateModel(RowTable):
    """All tools by rank; those that answer "why is X not here?" first."""

    columns, tips, numbers = COLUMNS, TIPS, (NUMBER, TOKENS)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ranked: Sequence[RankedTool] = ()
        self._rows: list[RankedTool] = []
        self._wanted = ""
        self._line = Line(0.0, by_meaning=False)
        self._moves: Mapping[str, int] = {}

    @property
    def moved(self) -> int:
        """How many tools past use moves."""
        return len(self._moves)

    def show(
        self, tools: Sequence[RankedTool], line: Line, moves: Mapping[str, int] | None = None
    ) -> None:
        """Show a ranking; when only verdicts changed, rows stay where they are.

        `moves` are the places that past use moves tools up, by tool id; None: as before.
        """
        self._moves = self._moves if moves is None else moves
        if line.by_meaning != self._line.by_meaning:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, SCORE, SCORE)
        self._line = line
        rows = self._ordered(tools)
        same = [t.tool_id for t in rows] == [t.tool_id for t in self._rows]
        self._ranked = tools
        if same:
            self._rows = rows
            if rows:
                last = self.index(len(rows) - 1, len(COLUMNS) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def find(self, wanted: str) -> int:
        """Pin the tools whose name holds this text on top; returns how many there are."""
        self._wanted = wanted.strip().lower()
        self.show(self._ranked, self._line)
        return sum(map(self._is_wanted, self._rows)) if self._wanted else 0

    def row_of(self, tool_id: str) -> int:
        """The row of a tool, -1 when it is not there."""
        return next((n for n, tool in enumerate(self._rows) if tool.tool_id == tool_id), -1)

    def tool(self, row: int) -> RankedTool | None:
        """The tool of a row."""
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def heading(self, section: int) -> str:
        """The column's name; a score of meaning alone says so."""
        return "Meaning" if section == SCORE and self._line.by_meaning else COLUMNS[section]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """A cell: its text, its sentence for screen readers, and the tool itself."""
        if role not in _ROLES or not index.isValid():  # most calls ask for fonts and colours
            return None
        tool = self.tool(index.row())
        if tool is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(tool, index.column())
        if role == RANKED_ROLE:
            return tool
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._told_move(tool) if index.column() == NUMBER else tool.why
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return spoken(tool, index.column()) + (
                f". {told}" if index.column() == NUMBER and (told := self._told_move(tool)) else ""
            )
        return self.side(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _told_move(self, tool: RankedTool) -> str:
        move = self._moves.get(tool.tool_id, 0)
        return f"Past use moves it from {tool.rank + move} to {tool.rank}" if move else ""

    def _text(self, tool: RankedTool, column: int) -> str:
        if column == NUMBER and (move := self._moves.get(tool.tool_id, 0)):
            return f"{'▲' if move > 0 else '▼'}{abs(move)}  {tool.rank}"
        return f"{self._line.of(tool):.2f}" if column == SCORE else _TEXTS[column](tool)

    def _ordered(self, tools: Sequence[RankedTool]) -> list[RankedTool]:
        if not self._wanted:
            return list(tools)
        return sorted(tools, key=lambda tool: not self._is_wanted(tool))

    def _is_wanted(self, tool: RankedTool) -> bool:
        return self._wanted in tool.tool_id.lower()


def spoken(tool: RankedTool, column: int) -> str:
    """A cell as a sentence."""
    if column == VERDICT:
        return f"{tool.tool_id} is {verdict(tool).lower()}: {tool.why}"
    if column == SCORE:
        return f"Score {tool.score:.2f}, rank {tool.rank}"
    if column == TOKENS:
        return f"{tool.tokens:,} tokens, estimated"
    return _TEXTS[column](tool)


_TEXTS: tuple[Callable[[RankedTool], str], ...] = (
    lambda tool: str(tool.rank),
    verdict,
    lambda tool: tool.tool_id,
    lambda tool: f"{tool.score:.2f}",
    lambda tool: tool.why,
    lambda tool: f"{tool.tokens:,}",
)
