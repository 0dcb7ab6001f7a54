"""A field with icons of its own: Qt draws those of its fields at 16 px, whatever the text size."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget

from ui.look.theme import Theme
from ui.widgets.boxes import STRETCH, STYLE, hbox

_EDGE = 4  # px beside the outermost icons


class IconField(QLineEdit):
    """One line of text that can be cleared, with icons before and behind it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons: list[tuple[QToolButton, str]] = []
        self._before, self._behind = hbox(gap=0), hbox(gap=0)
        hbox(
            self._before,
            STRETCH,
            self._behind,
            inside=self,
            margins=(_EDGE, 0, _EDGE, 0),
            gap=STYLE,
        )
        self.clear_action = self.add_icon("close-circle", "Clear")
        self.clear_action.triggered.connect(lambda _checked=False: self.clear())
        self.clear_action.setVisible(False)
        self.textChanged.connect(lambda text: self.clear_action.setVisible(bool(text)))
        theme.changed.connect(self._recolor)

    def add_icon(self, icon: str, words: str, *, first: bool = False) -> QAction:
        """An icon that can be pressed, before the text or behind it; its action."""
        action = QAction(words, self)
        button = QToolButton(self)
        button.setDefaultAction(action)
        button.setAccessibleName(words)
        button.setCursor(Qt.CursorShape.ArrowCursor)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the field has it, and keys do the same
        action.visibleChanged.connect(lambda: button.setVisible(action.isVisible()))
        (self._before if first else self._behind).addWidget(button)
        self._icons.append((button, icon))
        self._recolor()
        return action

    def event(self, event: QEvent) -> bool:
        """The text keeps clear of the icons that are there."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().event(event)

    def _recolor(self) -> None:
        for button, name in self._icons:
            button.defaultAction().setIcon(self._theme.icons.icon(name))
        self._fit()

    def _fit(self) -> None:
        sides = self._before.sizeHint().width(), self._behind.sizeHint().width()
        self.setTextMargins(sides[0], 0, sides[1], 0)
