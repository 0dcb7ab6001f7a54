"""The ranked tools of a query as a table."""

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QObject, Qt

from app.ranking import phrases
from app.ranking.gates import GATES
from app.ranking.ranked import RankedTool
from ui.pages.playground.cells import (
    RANKED_ROLE,
    ScoreDelegate,
    ToolDelegate,
    VerdictDelegate,
    verdict,
)
from ui.shell.gate_lines import Line
from ui.widgets.columns import Column
from ui.widgets.row_table import Index, RowTable

NUMBER, VERDICT, TOOL, SCORE = "#", "Verdict", "Tool", "Score"
WHY, TOKENS = "Why", "Tokens ≈"
_ROLE = Qt.ItemDataRole
_ROLES = frozenset(
    (
        int(_ROLE.DisplayRole),
        int(_ROLE.ToolTipRole),
        int(_ROLE.AccessibleTextRole),
        int(_ROLE.TextAlignmentRole),
        RANKED_ROLE,
    )
)


class CandidateModel(RowTable[RankedTool]):
    """All tools by rank; those that answer "why is X not here?" first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(self._make_columns(), parent)
        self._ranked: Sequence[RankedTool] = ()
        self._wanted = ""
        self._line = Line(0.0, by_meaning=False)
        self._moves: Mapping[str, int] = {}
        self.why: Callable[[RankedTool], str] = lambda tool: phrases.why_beside(tool.verdict)

    @property
    def moved(self) -> int:
        """Number of tools that past use moves."""
        return len(self._moves)

    def show(
        self, tools: Sequence[RankedTool], line: Line, moves: Mapping[str, int] | None = None
    ) -> None:
        """Show a ranking; when only verdicts changed, rows stay where they are.

        `moves` are the places that past use moves tools up, by tool id; None: as before.
        """
        self._moves = self._moves if moves is None else moves
        if line.by_meaning != self._line.by_meaning:
            score = self.place(SCORE)
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, score, score)
        self._line = line
        rows = self._ordered(tools)
        self._ranked = tools
        if [t.tool_id for t in rows] == [t.tool_id for t in self._rows]:
            self._rows = rows
            self.rows_changed()
        else:
            self.replace_rows(rows)

    def find(self, wanted: str) -> int:
        """Pin the tools whose name holds this text on top; returns how many there are."""
        self._wanted = wanted.strip().lower()
        self.show(self._ranked, self._line)
        return sum(map(self._is_wanted, self._rows)) if self._wanted else 0

    def row_of(self, tool_id: str) -> int:
        """The row of a tool, -1 when it is not there."""
        return next((n for n, tool in enumerate(self._rows) if tool.tool_id == tool_id), -1)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = _ROLE.DisplayRole
    ) -> object:
        """As the columns say; a score of meaning alone says so."""
        text = super().headerData(section, orientation, role)
        by_meaning = text == SCORE and self._line.by_meaning
        return "Meaning" if by_meaning and role == _ROLE.DisplayRole else text

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> object:
        """A cell: its text, its sentence for screen readers, and the tool itself."""
        # a drag repaints the table at 60 Hz, and most calls ask for fonts and colours
        return super().data(index, role) if role in _ROLES else None

    def row_data(self, row: RankedTool, role: int) -> object:
        """The tool itself, for delegates; why it is in or out."""
        if role == RANKED_ROLE:
            return row
        return self.why(row) if role == _ROLE.ToolTipRole else None

    def _make_columns(self) -> tuple[Column[RankedTool], ...]:
        return (
            Column(
                NUMBER,
                self._place_text,
                lambda tool: tool.rank,
                width=44,
                tip="Rank by score. An arrow shows how many places past use moves a tool.",
                right=True,
                roles={
                    _ROLE.ToolTipRole: self._move_sentence,
                    _ROLE.AccessibleTextRole: lambda tool: ". ".join(
                        filter(None, (str(tool.rank), self._move_sentence(tool)))
                    ),
                },
            ),
            Column(
                VERDICT,
                verdict,
                delegate=VerdictDelegate,
                width=76,
                tip="In: the model gets this tool for the query.",
                roles={
                    _ROLE.AccessibleTextRole: lambda tool: (
                        f"{tool.tool_id} is {verdict(tool).lower()}: {self.why(tool)}"
                    )
                },
            ),
            Column(TOOL, lambda tool: tool.tool_id, delegate=ToolDelegate, width=240),
            Column(
                SCORE,
                lambda tool: f"{self._line.of(tool):.2f}",
                lambda tool: self._line.of(tool),
                delegate=ScoreDelegate,
                width=140,
                tip="Shared words, similar meaning and past use, relative to this query's best"
                " tool.",
                roles={
                    _ROLE.AccessibleTextRole: lambda tool: (
                        f"Score {tool.score:.2f}, rank {tool.rank}"
                    )
                },
            ),
            Column(
                WHY,
                lambda tool: self.why(tool),
                tip=f"The first gate that decides: {', '.join(GATES)}.",
            ),
            Column(
                TOKENS,
                lambda tool: f"{tool.tokens:,}",
                lambda tool: tool.tokens,
                width=78,
                tip="Size of this tool's definition as the model receives it.",
                right=True,
                roles={_ROLE.AccessibleTextRole: lambda tool: f"{tool.tokens:,} tokens, estimated"},
            ),
        )

    def _place_text(self, tool: RankedTool) -> str:
        move = self._moves.get(tool.tool_id, 0)
        return f"{'▲' if move > 0 else '▼'}{abs(move)}  {tool.rank}" if move else str(tool.rank)

    def _move_sentence(self, tool: RankedTool) -> str:
        move = self._moves.get(tool.tool_id, 0)
        return f"Past use moves it from {tool.rank + move} to {tool.rank}" if move else ""

    def _ordered(self, tools: Sequence[RankedTool]) -> list[RankedTool]:
        if not self._wanted:
            return list(tools)
        return sorted(tools, key=lambda tool: not self._is_wanted(tool))

    def _is_wanted(self, tool: RankedTool) -> bool:
        return self._wanted in tool.tool_id.lower()
