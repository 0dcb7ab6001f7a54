"""The form for one labelled query: what is asked, and the tools that it should find."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QLineEdit, QListView, QWidget

from ui.widgets.boxes import form
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel

_HINT = "Separate several tools by commas. Without any, the query passes when no tool is in."


class LabelDialog(FormDialog):
    """Stays open until what was typed can be used.

    Signals: submitted(query, tools) then.
    """

    submitted = Signal(str, object)

    def __init__(self, tools: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__("Labelled query", "Save", parent, name="labelDialog")
        self._known = frozenset(tools)
        self.setMinimumWidth(560)
        self.query = QLineEdit(placeholderText="What you would ask the model to do")
        self.query.setAccessibleName("Query")
        self.tools = ToolsEdit(tools)
        hint = PlainLabel(_HINT, wrap=True, look="faint")
        self.lay_out(form(("&Query", self.query), ("Expected &tools", self.tools), ("", hint)))

    def show_label(self, query: str, expected: Sequence[str]) -> None:
        """Begin with this label."""
        self.query.setText(query)
        self.tools.setText(", ".join(expected))

    def press(self) -> None:
        """Give what was typed, or say what is wrong with it."""
        query, expected = self.query.text().strip(), self.tools.names()
        unknown = [name for name in expected if name not in self._known]
        if not query:
            self.refuse("The query is empty. Write what you would ask for.", self.query)
        elif unknown:
            self.refuse(f"There is no tool {unknown[0]}. Names are server/tool.", self.tools)
        else:
            self.submitted.emit(query, expected)
            self.accept()


class ToolsEdit(QLineEdit):
    """Tool names separated by commas; the last one is completed."""

    def __init__(self, tools: Sequence[str]) -> None:
        super().__init__()
        self.setAccessibleName("Expected tools")
        self.setPlaceholderText("server/tool")
        self._popup = QListView()
        self._completer = QCompleter(sorted(tools), self)
        self._completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self._completer.setPopup(self._popup)
        self._completer.setWidget(self)
        self._completer.activated.connect(self._take)
        self.textEdited.connect(self._offer)

    def names(self) -> tuple[str, ...]:
        """The names typed, each once, in their order."""
        typed = [name.strip() for name in self.text().split(",")]
        return tuple(dict.fromkeys(name for name in typed if name))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """While tools are offered, Enter takes one; the form must not close."""
        keys = (Qt.Key.Key_Enter, Qt.Key.Key_Return, Qt.Key.Key_Tab)
        if self._popup.isVisible() and event.key() in keys:
            event.ignore()
            return
        super().keyPressEvent(event)

    def _offer(self) -> None:
        typed = self.text().rpartition(",")[2].strip()
        self._completer.setCompletionPrefix(typed)
        if typed and self._completer.completionCount():
            self._completer.complete()
            first = self._completer.completionModel().index(0, 0)
            self._popup.setCurrentIndex(first)
        else:
            self._popup.hide()

    def _take(self, name: str) -> None:
        before, comma, _ = self.text().rpartition(",")
        self.setText(f"{before}{comma}{' ' if comma else ''}{name}")
