"""Columns of tables as values: a table is a tuple of them, and nothing is counted beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Generic, TypeVar

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QStyledItemDelegate

from ui.look.text import plain_tip
from ui.look.theme import Theme

R = TypeVar("R")
SortKey = str | int | float | tuple[int, ...]
MakeDelegate = Callable[[Theme, int, QObject], QStyledItemDelegate]  # theme, row height, parent
Roles = Mapping[int, Callable[[R], object]]
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class Head:
    """A column as its view takes it, for rows of any kind; code finds it by its title."""

    title: str
    _: KW_ONLY
    delegate: MakeDelegate | None = None  # paints its cells; None: the view's own
    width: int = 0  # pixels at the usual text size, 0: what the others leave
    tip: str = ""  # of the heading
    right: bool = False  # as numbers are aligned
    yields: bool = False  # hidden where names would lack room


@dataclass(frozen=True, slots=True)
class Cell(Generic[R]):
    """Cell of one kind of row in a column of a tree.

    `sort` is the value that the text shows; without it the text itself is compared. `roles` answer
    what Qt and the delegates ask for beside the text: badges, bars, tooltips, sentences.
    """

    text: Callable[[R], str]
    sort: Callable[[R], SortKey] | None = None
    roles: Roles[R] = field(default_factory=dict)

    def sort_key(self, row: R) -> SortKey:
        """Key by which rows are sorted."""
        return self.sort(row) if self.sort else self.text(row).lower()

    def data(self, row: R, role: int) -> object:
        """Content of the cell in a role: one of its own, else its text."""
        answer = self.roles.get(role)
        if answer is not None:
            return cell_value(answer(row), role)
        return self.text(row) if role == Qt.ItemDataRole.DisplayRole else None


@dataclass(frozen=True, slots=True)
class Column(Head, Generic[R]):
    """A column of a table whose rows are all of one kind; see Cell."""

    text: Callable[[R], str]
    sort: Callable[[R], SortKey] | None = None
    roles: Roles[R] = field(default_factory=dict)

    def sort_key(self, row: R) -> SortKey:
        """Key by which rows are sorted."""
        return self.sort(row) if self.sort else self.text(row).lower()


G = TypeVar("G")


@dataclass(frozen=True, slots=True)
class TreeColumn(Head, Generic[G, R]):
    """A column of a tree of groups (G) with rows (R) below them."""

    group: Cell[G]
    row: Cell[R]


def cell_value(value: object, role: int) -> object:
    """A cell's value as a view may get it: the text of a tooltip is no markup."""
    is_tip = role == Qt.ItemDataRole.ToolTipRole and isinstance(value, str)
    return plain_tip(str(value)) if is_tip else value


def place(columns: Sequence[Head], title: str) -> int:
    """The number of the column with that title. Raises ValueError where there is none."""
    return [column.title for column in columns].index(title)


def side(column: Head) -> Qt.AlignmentFlag:
    """Alignment of a column's text and heading."""
    return RIGHT if column.right else LEFT


def head_data(
    columns: Sequence[Head], section: int, orientation: Qt.Orientation, role: int
) -> object:
    """Content of a heading: its title, its explanation, its side; None beside the columns."""
    if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(columns):
        return None
    column = columns[section]
    if role == Qt.ItemDataRole.DisplayRole:
        return column.title
    if role == Qt.ItemDataRole.ToolTipRole:
        return column.tip or None
    return side(column) if role == Qt.ItemDataRole.TextAlignmentRole else None
