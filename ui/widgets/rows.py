"""What all tables of the window have in common: flat rows of one height, columns that fit."""

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView

from ui.look.theme import ROW, Theme
from ui.widgets.columns import Head, MakeDelegate
from ui.widgets.delegates import RowDelegate
from ui.widgets.table_tools import TableTools


class ModestTable(QTreeView):
    """A table in a page that scrolls: it asks for its least height, and takes what is left."""

    def sizeHint(self) -> QSize:
        """As high as it must be."""
        return QSize(super().sizeHint().width(), self.minimumHeight())


def as_rows(
    view: QTreeView,
    theme: Theme,
    columns: Sequence[Head],
    *,
    delegate: MakeDelegate = RowDelegate,
) -> None:
    """Make a view with its model set a table of these columns, painted by `delegate` by default."""
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
