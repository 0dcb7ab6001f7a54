"""What all tables of the window have in common: flat rows of one height, columns that fit."""

from collections.abc import Mapping

from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView

from ui.theme import ROW, Theme
from ui.views.delegates import RowDelegate


def as_rows(
    view: QTreeView, theme: Theme, *, widths: Mapping[int, int], stretched: tuple[int, ...]
) -> None:
    """Make a view with its model set a table; widths in pixels at the usual text size."""
    view.setRootIsDecorated(False)
    view.setUniformRowHeights(True)
    view.setAlternatingRowColors(True)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setItemDelegate(RowDelegate(theme, ROW, view))
    header = view.header()
    header.setStretchLastSection(False)
    for column in stretched:
        header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
    for column, width in widths.items():
        view.setColumnWidth(column, theme.scaled(width))
