"""Parts common to all tables of the window: flat rows of one height, columns that fit."""

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, QSize, QTimer
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView

from ui.look.theme import ROW, Theme
from ui.widgets.columns import Head, MakeDelegate, place
from ui.widgets.delegates import RowDelegate
from ui.widgets.row_table import RowTable
from ui.widgets.table_tools import TableTools, tools_of

R = TypeVar("R")
V = TypeVar("V", bound=QTreeView)
LEAST = 110  # px at 100 % that a column keeps which takes what the others leave


class ModestTable(QTreeView):
    """A table in a page that scrolls: it asks for its least height, and takes what is left."""

    def sizeHint(self) -> QSize:
        """As high as it must be."""
        return QSize(super().sizeHint().width(), self.minimumHeight())


class ColumnRoom(QObject):
    """Keeps columns that take what the others leave readable.

    Where little is left, those named go first; where that is not enough the table scrolls sideways.
    """

    def __init__(
        self, view: QTreeView, theme: Theme, columns: Sequence[Head], gone_first: Sequence[str]
    ) -> None:
        super().__init__(view)
        self._view, self._theme, self._columns = view, theme, columns
        self._gone_first = [place(columns, title) for title in gone_first]
        # once the view itself has given its columns their widths
        self._later = QTimer(self, interval=0, singleShot=True)
        self._later.timeout.connect(self._fit)
        view.viewport().installEventFilter(self)
        view.header().sectionResized.connect(lambda *_sizes: self._later.start())
        theme.changed.connect(self._later.start)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Look again when the table has another width."""
        if event.type() == QEvent.Type.Resize:
            self._later.start()
        return False

    def _fit(self) -> None:
        view, header = self._view, self._view.header()
        room = view.viewport().width()
        self._hide(room)
        shown = [n for n in range(len(self._columns)) if not view.isColumnHidden(n)]
        resting = [n for n in shown if not self._columns[n].width]
        least = self._theme.scaled(LEAST)
        left = room - sum(header.sectionSize(n) for n in shown if n not in resting)
        fits = left >= least * len(resting)
        mode = QHeaderView.ResizeMode.Stretch if fits else QHeaderView.ResizeMode.Interactive
        for number in resting:
            if header.sectionResizeMode(number) != mode:
                header.setSectionResizeMode(number, mode)
            if not fits:
                header.resizeSection(number, least)

    def _hide(self, room: int) -> None:
        tools = tools_of(self._view)
        need = sum(self._theme.scaled(column.width or LEAST) for column in self._columns)
        for number in self._gone_first:
            tools.hide(number, need > room)
            if need > room:
                need -= self._theme.scaled(self._columns[number].width or LEAST)


def as_rows(
    view: QTreeView,
    theme: Theme,
    columns: Sequence[Head],
    *,
    delegate: MakeDelegate = RowDelegate,
    gone_first: Sequence[str] = (),
) -> None:
    """Make a view with its model set a table of these columns, painted by `delegate` by default.

    `gone_first` are the titles that are hidden first where there is little room.
    """
    view.setRootIsDecorated(False)
    view.setUniformRowHeights(True)
    view.setAlternatingRowColors(True)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setItemDelegate(delegate(theme, ROW, view))
    header = view.header()
    header.setStretchLastSection(False)
    for number, column in enumerate(columns):
        if column.delegate is not None:
            view.setItemDelegateForColumn(number, column.delegate(theme, ROW, view))
        if column.width:
            view.setColumnWidth(number, theme.scaled(column.width))
        else:
            header.setSectionResizeMode(number, QHeaderView.ResizeMode.Stretch)
    theme.changed.connect(view.scheduleDelayedItemsLayout)  # rows may have another height
    TableTools(view, theme, tuple(column.width for column in columns))
    ColumnRoom(view, theme, columns, gone_first)


def as_table(
    view: V,
    model: RowTable[R],
    theme: Theme,
    *,
    delegate: MakeDelegate = RowDelegate,
    gone_first: Sequence[str] = (),
) -> V:
    """Return the view as a table of this model; the rest as for `as_rows`."""
    view.setModel(model)
    as_rows(view, theme, model.columns, delegate=delegate, gone_first=gone_first)
    return view
