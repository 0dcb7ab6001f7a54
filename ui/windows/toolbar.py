"""The toolbar: reading tools, undo and redo, the way to anything, the way to the hosts."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolBar, QToolButton, QWidget

from ui.look.theme import GAP, Theme
from ui.widgets.push_button import push_button

ICON, LARGEST = 20, 32  # px at 100 %, and at most: pages need the height with large text


class Toolbar(QToolBar):
    """The first action says its words where there is room for them."""

    def __init__(self, theme: Theme, read: QAction, others: Sequence[QAction]) -> None:
        super().__init__("Toolbar")
        self._theme = theme
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.addActions([read, *others])
        button = self.widgetForAction(read)
        assert isinstance(button, QToolButton)  # as QToolBar makes for each action
        self.read = button
        self.search = push_button("Search tools or run a command    Ctrl+K", name="searchButton")
        self.search.setMinimumWidth(320)
        for widget in (_space(), self.search, _space()):
            self.addWidget(widget)
        self.export = QPushButton("Export to hosts…")
        self.export.setObjectName("exportButton")
        self.export.setProperty("primary", True)
        self.export.setToolTip("See what each host would get, and write its config (Ctrl+E)")
        self.addWidget(self.export)

    def recolor(self) -> None:
        """Follow the theme, and what can be pressed."""
        icons, size = self._theme.icons, min(LARGEST, self._theme.scaled(ICON))
        self.setIconSize(QSize(size, size))
        self.search.setIcon(icons.icon("magnify", "text2"))
        role = "on_accent" if self.export.isEnabled() else "text2"
        self.export.setIcon(icons.icon("export-variant", role))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Look again whether there is room for words."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """The words, where all else has room beside them."""
        style = Qt.ToolButtonStyle
        fits = self._least() + self._words() <= self.width()
        wanted = style.ToolButtonTextBesideIcon if fits else style.ToolButtonIconOnly
        if self.read.toolButtonStyle() != wanted:
            self.read.setToolButtonStyle(wanted)

    def _words(self) -> int:
        """Pixels of the words beside the icon, with the blanks that the style puts around them."""
        return self.read.fontMetrics().horizontalAdvance(f"{self.read.text()}   ")

    def _least(self) -> int:
        """Pixels of everything without the words; the first button is as wide as the second."""
        widgets = [self.widgetForAction(action) for action in self.actions()]
        widths = [max(w.minimumWidth(), w.sizeHint().width()) for w in widgets]
        layout = self.layout()
        between = len(widths) * layout.spacing() if layout is not None else 0
        return widths[1] + sum(widths[1:]) + between + 2 * GAP


def _space() -> QWidget:
    space = QWidget()
    space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return space
