"""What the cells of the catalogue tree hold, role by role."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt

from app.catalog import CatalogTool
from ui.models.catalog_rows import Branch, server_badge, status_words, tool_badge
from ui.models.roles import BADGE, BAR, FAINT, SORT
from ui.text import APPROX, count, plural

_NAME, _TOKENS, _CALLS, _FLAGS, _HOSTS = range(5)
_ROLE = Qt.ItemDataRole
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class ServerCells:
    """A server's row."""

    def __init__(self, icons: Callable[[str], Any]) -> None:
        self._icons = icons
        self.largest = 0  # tokens of the largest server

    def data(self, branch: Branch, column: int, role: int) -> Any:
        """One cell."""
        if role == _ROLE.DisplayRole:
            return self._text(branch, column)
        if column == _NAME:
            return self._name(branch, role)
        if column == _TOKENS:
            return self._tokens(branch, role)
        if column == _FLAGS and role in (BADGE, _ROLE.ToolTipRole):
            return server_badge(branch) if role == BADGE else status_words(branch.server)
        return branch.hosts if column == _HOSTS and role == _ROLE.ToolTipRole else None

    def _text(self, branch: Branch, column: int) -> str:
        if column == _NAME:
            return branch.server.name
        if column == _TOKENS:
            return count(branch.on or branch.every) if branch.leaves else ""
        if column == _FLAGS:
            badge = server_badge(branch)
            return badge.word if badge else ""
        return branch.hosts

    def _name(self, branch: Branch, role: int) -> Any:
        if role == _ROLE.CheckStateRole and branch.leaves:
            ticked = branch.ticked
            if ticked == len(branch.leaves):
                return Qt.CheckState.Checked
            return Qt.CheckState.PartiallyChecked if ticked else Qt.CheckState.Unchecked
        if role == _ROLE.DecorationRole:
            return self._icons("server-off" if branch.problem else "server")
        if role == _ROLE.AccessibleTextRole:
            return (
                f"{branch.server.name}, server, {branch.ticked} of"
                f" {plural(len(branch.leaves), 'tool')} on, {count(branch.on)} tokens"
            )
        if role == _ROLE.ToolTipRole:
            return f"{branch.ticked} of {plural(len(branch.leaves), 'tool')} on"
        return branch.server.name.lower() if role == SORT else None

    def _tokens(self, branch: Branch, role: int) -> Any:
        if role == BAR and self.largest and branch.leaves:
            return (branch.on / self.largest, (branch.every - branch.on) / self.largest)
        if role == FAINT:
            return not branch.on
        if role == _ROLE.TextAlignmentRole:
            return _RIGHT
        if role == _ROLE.ToolTipRole:
            return f"{count(branch.on)} tokens {APPROX} on, {count(branch.every)} in all"
        return branch.every if role == SORT else None


class ToolCells:
    """A tool's row."""

    def __init__(self, icons: Callable[[str], Any]) -> None:
        self._icons = icons
        self.largest = 0  # tokens of the largest tool

    def data(self, row: CatalogTool, column: int, role: int) -> Any:
        """One cell."""
        if role == _ROLE.DisplayRole:
            return self._text(row, column)
        if role == FAINT:
            return not row.shown
        if column == _NAME:
            return self._name(row, role)
        if column == _TOKENS:
            return self._tokens(row, role)
        if column == _FLAGS and role == BADGE:
            return tool_badge(row)
        return self._why(row) if column == _FLAGS and role == _ROLE.ToolTipRole else None

    def _text(self, row: CatalogTool, column: int) -> str:
        if column == _NAME:
            return row.tool.name
        if column == _TOKENS:
            return count(row.cost) if row.tokens else "not counted"
        if column == _FLAGS:
            badge = tool_badge(row)
            return badge.word if badge else ""
        return ""

    def _name(self, row: CatalogTool, role: int) -> Any:
        if role == _ROLE.CheckStateRole:
            return Qt.CheckState.Checked if row.on else Qt.CheckState.Unchecked
        if role == _ROLE.DecorationRole:
            return self._icons("wrench-outline")
        if role == _ROLE.ToolTipRole:
            return row.summary or row.tool.description[:300]
        if role == _ROLE.AccessibleTextRole:
            state = self._why(row) or ("on" if row.on else "off")
            return f"{row.tool.name}, {row.server.name}, {count(row.cost)} tokens, {state}"
        return row.tool.name.lower() if role == SORT else None

    def _tokens(self, row: CatalogTool, role: int) -> Any:
        if role == BAR and self.largest:
            share = row.cost / self.largest
            return (share, 0.0) if row.shown else (0.0, share)
        if role == _ROLE.TextAlignmentRole:
            return _RIGHT
        if role == _ROLE.ToolTipRole and row.tokens:
            t = row.tokens
            return (
                f"{count(t.host_text)} tokens {APPROX} ({t.encoding}): name {t.name}, description"
                f" {count(t.description)}, input schema {count(t.input_schema)}"
            )
        return row.cost if role == SORT else None

    def _why(self, row: CatalogTool) -> str:
        if row.tool.problem:
            return f"Unusable: {row.tool.problem}"
        if row.held:
            return f"Held back: {row.held}"
        return "Pinned: always shown to the model" if row.pinned else ""


def problem_cell(branch: Branch, column: int, role: int) -> Any:
    """The row of a server's problem."""
    if column != _NAME:
        return None
    if role in (_ROLE.DisplayRole, _ROLE.ToolTipRole, _ROLE.AccessibleTextRole):
        return branch.problem
    return True if role == FAINT else None


def calls_cell(calls: int, role: int) -> Any:
    """How often hosts called a tool, or the tools of a server, through Toolcrib."""
    if role == _ROLE.DisplayRole:
        return count(calls) if calls else "never"
    if role == _ROLE.TextAlignmentRole:
        return _RIGHT
    if role == _ROLE.ToolTipRole:
        return f"{plural(calls, 'call')} through Toolcrib in the last 30 days"
    if role == FAINT:
        return not calls
    return calls if role == SORT else None
