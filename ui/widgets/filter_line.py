"""The filter line: checked while typing; a wrong line keeps the last good result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QCompleter, QListView, QMenu, QPushButton, QWidget

from ui.look.text import in_menu, plain_tip
from ui.look.theme import Theme, set_look
from ui.widgets.boxes import hbox, vbox
from ui.widgets.filter_completion import Values, completions
from ui.widgets.filter_query import IS, KEYS, FilterError, parse
from ui.widgets.icon_field import IconField
from ui.widgets.label import PlainLabel
from ui.widgets.named import named

DELAY_MS = 150


@dataclass(frozen=True, slots=True)
class FilterWords:
    """Texts that describe a filter line, and its saved filters as (title, line)."""

    name: str
    example: str
    keys: str  # the tooltip
    chips: Sequence[tuple[str, str]]
    states: Sequence[str] = IS  # what is: knows
    known: Sequence[str] = KEYS  # keys that say something here


class FilterLine(QWidget):
    """A line edit with its error below and saved filters beside it; it completes what is typed.

    Signals: filtered(Filter) with every good line; left() on Down.
    """

    filtered = Signal(object)
    left = Signal()

    def __init__(self, theme: Theme, words: FilterWords, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._saved, self._states = words.chips, words.states
        self.values: Values = lambda _key: ()  # of a key, in what is shown
        self.kept: list[str] = []  # lines that the user keeps
        self.edit = _Line(theme, self, self._offers)
        self.edit.setObjectName("filterEdit")
        self.edit.setAccessibleName(words.name)
        self.edit.setPlaceholderText(f"{words.name}   {words.example}")
        self.edit.setToolTip(plain_tip(words.keys))
        self.edit.add_icon("filter-outline", "Filter", first=True)
        self.keep = self.edit.add_icon("bookmark-outline", "Saved filters")
        self.keep.setToolTip("Save this filter, or take a saved one (Ctrl+D)")
        self.keep.setShortcut(QKeySequence("Ctrl+D"))
        self.keep.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.keep.triggered.connect(self.open_kept)
        self._words = words
        self.error = PlainLabel(parent=self, look="wrong", name="filterError")
        self.error.hide()
        self.chips = [self._chip(text, line) for text, line in words.chips]
        row = hbox((self.edit, 1), *self.chips)
        vbox(row, self.error, inside=self, gap=4)
        self._timer = QTimer(self, interval=DELAY_MS, singleShot=True)
        self._timer.timeout.connect(self.apply)
        self.edit.textChanged.connect(lambda: self._timer.start())
        self.edit.returnPressed.connect(self.apply)
        self.edit.downed.connect(self.left)

    def show_counts(self, counts: tuple[int, ...]) -> None:
        """Numbers on the saved filters; those that find nothing are hidden."""
        for chip, (text, _), number in zip(self.chips, self._saved, counts, strict=True):
            chip.setText(f"{text} {number}")
            chip.setVisible(number > 0)

    def set_text(self, text: str) -> None:
        """Put a line in and apply it at once."""
        self.edit.popup.hide()  # it was about another line
        self.edit.setText(text)
        self.apply()

    def add_term(self, term: str) -> None:
        """Narrow what is shown by one more term."""
        before = self.edit.text().strip()
        if term not in before.split(" "):
            self.set_text(f"{before} {term}".strip())

    def clear(self) -> bool:
        """Close what is offered, else empty the line; False when there was neither."""
        if self.edit.popup.isVisible():
            self.edit.popup.hide()
            return True
        had = bool(self.edit.text())
        self.set_text("")
        return had

    def apply(self) -> None:
        """Take the line as it is now."""
        self._timer.stop()
        text = self.edit.text()
        for chip, (_, line) in zip(self.chips, self._saved, strict=True):
            chip.setChecked(line == text.strip())
        try:
            parsed = parse(text, self._states)
        except FilterError as error:
            self._show_error(error.title)
            return
        self._show_error("")
        self.filtered.emit(parsed)

    def open_kept(self) -> QMenu:
        """The menu of saved filters."""
        menu = QMenu(self.edit)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        line = self.edit.text().strip()
        save = menu.addAction(f"&Save {in_menu(line)}" if line else "&Save this filter")
        save.setEnabled(bool(line) and line not in self.kept and not self.error.isVisible())
        save.triggered.connect(lambda: self.kept.append(line))
        menu.addSeparator()
        for known in self.kept:
            menu.addAction(in_menu(known), partial(self.set_text, known))
        gone = menu.addMenu("&Remove")
        gone.setEnabled(bool(self.kept))
        for known in self.kept:
            gone.addAction(in_menu(known), partial(self.kept.remove, known))
        menu.popup(self.edit.mapToGlobal(self.edit.rect().bottomLeft()))
        return menu

    def _offers(self, text: str, cursor: int) -> tuple[int, list[str]]:
        words = self._words
        return completions(
            text, cursor, keys=words.known, states=words.states, values=lambda k: self.values(k)
        )

    def _chip(self, text: str, line: str) -> QPushButton:
        chip = named(QPushButton(text, self), f"Saved filter: {text}", tip=plain_tip(line))
        chip.setProperty("chip", True)
        chip.setCheckable(True)
        chip.clicked.connect(lambda on: self.set_text(line if on else ""))
        chip.hide()
        return chip

    def _show_error(self, text: str) -> None:
        self.error.say(text)
        set_look(self.edit, "wrong", bool(text))


class _Line(IconField):
    """Offers what could follow; what is offered is taken by Tab, or by Down and Enter."""

    downed = Signal()

    def __init__(
        self, theme: Theme, parent: QWidget, offers: Callable[[str, int], tuple[int, list[str]]]
    ) -> None:
        super().__init__(theme, parent)
        self._offers = offers
        self._model = QStringListModel(self)
        self.popup = QListView()
        self._completer = QCompleter(self._model, self)
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setPopup(self.popup)
        self._completer.setWidget(self)
        self._completer.activated.connect(self.take)
        self.textEdited.connect(self.offer)

    def offer(self) -> None:
        """Show the completions at the cursor."""
        _start, offered = self._offers(self.text(), self.cursorPosition())
        self._model.setStringList(offered)
        if offered and self.isVisible():
            self._completer.complete()
            self.popup.selectionModel().clear()
        else:
            self.popup.hide()

    def take(self, term: str) -> None:
        """Put a term in the place of the one that is typed; after a key its values are offered."""
        text, cursor = self.text(), self.cursorPosition()
        start, _offered = self._offers(text, cursor)
        self.setText(f"{text[:start]}{term}{text[cursor:]}")
        self.setCursorPosition(start + len(term))
        if term.endswith(":"):
            self.offer()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Down leaves the line; while something is offered, Tab and Enter are about that."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and self.popup.isVisible() and self._is_chosen():
            event.ignore()  # the list takes it
            return
        if enter:
            self.popup.hide()
        if event.key() == Qt.Key.Key_Down:
            self.popup.hide()
            self.downed.emit()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forwards: bool) -> bool:
        """Tab takes what is offered."""
        if not forwards or not self.popup.isVisible():
            return super().focusNextPrevChild(forwards)
        index = self.popup.currentIndex() if self._is_chosen() else self._model.index(0, 0)
        self.popup.hide()
        self.take(str(index.data()))
        return True

    def _is_chosen(self) -> bool:
        """True if the user went into the list; that it has a current row says nothing."""
        return self.popup.selectionModel().hasSelection()
