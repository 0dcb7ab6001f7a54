"""Tools of every table: columns to choose and to move, its rows to copy."""

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QTreeView, QWidget

from ui.look.theme import Theme


class TableTools(QObject):
    """A table's heading menu and its copy key.

    The first column always stays. What the user chose to see or to hide is kept apart from what the
    table hides by itself where there is little room, and wins over it.
    """

    def __init__(self, view: QTreeView, theme: Theme, widths: tuple[int, ...]) -> None:
        super().__init__(view)
        self._view = view
        self._theme = theme
        self._widths = widths  # pixels at the usual text size, 0: what the others leave
        self.chosen: dict[int, bool] = {}  # column: whether the user wants it
        header = view.header()
        header.setSectionsMovable(True)
        header.setFirstSectionMovable(False)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(
            lambda where: self.open_menu(header.mapToGlobal(where))
        )
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), view)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self.copy)

    def hide(self, column: int, hidden: bool) -> None:
        """Hide or show a column for want of room or of data, unless the user chose."""
        self._view.setColumnHidden(column, not self.chosen.get(column, not hidden))

    def choose(self, column: int, shown: bool) -> None:
        """Show or hide a column by the user's wish."""
        self.chosen[column] = shown
        self._view.setColumnHidden(column, not shown)

    def reset(self) -> None:
        """All columns, in their order, as wide as at first."""
        header = self._view.header()
        self.chosen.clear()
        for number in range(header.count()):
            header.moveSection(header.visualIndex(number), number)
            self._view.setColumnHidden(number, False)
            if self._widths[number]:
                self._view.setColumnWidth(number, self._theme.scaled(self._widths[number]))

    def open_menu(self, where: QPoint) -> QMenu:
        """The columns with their ticks."""
        menu = QMenu(self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        model = self._view.model()
        for number in range(1, model.columnCount()):
            title = model.headerData(number, Qt.Orientation.Horizontal)
            action = menu.addAction(str(title).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(not self._view.isColumnHidden(number))
            action.toggled.connect(lambda on, column=number: self.choose(column, on))
        menu.addSeparator()
        menu.addAction("&Columns as at first", self.reset)
        menu.addAction("C&opy the selected rows", self.copy)
        menu.popup(where)
        return menu

    def copy(self) -> None:
        """Copy the selected rows to the clipboard as they are in view, cells divided by tabs."""
        text = self.text()
        if text:
            QGuiApplication.clipboard().setText(text)

    def text(self) -> str:
        """The selected rows, cells divided by tabs, columns in the order in view."""
        view, header = self._view, self._view.header()
        order = sorted(range(header.count()), key=header.visualIndex)
        shown = [number for number in order if not view.isColumnHidden(number)]
        chosen = view.selectionModel().selectedRows() or [view.currentIndex()]
        valid = (index for index in chosen if index.isValid())
        rows = sorted(valid, key=lambda index: view.visualRect(index).y())
        return "\n".join(
            "\t".join(str(row.siblingAtColumn(number).data() or "") for number in shown)
            for row in rows
        )

    def state(self) -> str:
        """The user's choice of columns, as text to keep."""
        return ",".join(f"{column}:{int(on)}" for column, on in sorted(self.chosen.items()))

    def restore(self, state: str) -> None:
        """Take back what was kept; what is not understood is left out."""
        for part in filter(None, state.split(",")):
            column, _, on = part.partition(":")
            if column.isdecimal() and int(column) < len(self._widths) and on in ("0", "1"):
                self.choose(int(column), on == "1")


def tools_of(view: QTreeView) -> TableTools:
    """The tools of a table that `as_rows` made."""
    tools = view.findChild(TableTools, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert isinstance(tools, TableTools)  # as_rows makes one for each
    return tools


def has_tools(view: QTreeView) -> bool:
    """True if `as_rows` made this table."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    return view.findChild(TableTools, options=direct) is not None


def open_columns(page: QWidget) -> None:
    """Open the columns of the table with the focus, else of the page's first; by keys, too."""
    tables = [view for view in page.findChildren(QTreeView) if view.isVisible()]
    made = sorted(filter(has_tools, tables), key=lambda view: not view.hasFocus())
    if made:
        header = made[0].header()
        tools_of(made[0]).open_menu(header.mapToGlobal(header.rect().bottomLeft()))
