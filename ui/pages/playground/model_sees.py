"""The side sheet that shows exactly what the model of a host is given."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTabBar

from app.core.text import plural
from app.host_status.sizes import HostSize
from ui.look.theme import Theme
from ui.pages.playground.model_text import ModelText
from ui.shell.host_names import MODE_NAMES
from ui.widgets.boxes import STYLE, hbox, vbox
from ui.widgets.elided import ElidedChoice
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

LIST, SEARCH, HOOK = range(3)
_ANY = "Any host through Toolcrib"


_LEAST_HEIGHT = 40  # pixels of the text
_NOTHING = {False: "The model is given no tool.", True: "Nothing is added to this prompt."}


class ModelSees(QFrame):
    """The exact texts that a host's model gets, with their size.

    Signals: closed when the user has seen enough; host_chosen(id, "" for any host).
    """

    closed = Signal()
    host_chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._shown: ModelText | None = None
        self._whole = ""  # the widget's own text loses no-break spaces and line separators
        title = theme.heading(PlainLabel("What the model sees"), 2)
        self.host = named(ElidedChoice(0), "Host", name="modelSeesHost")
        self.host.activated.connect(lambda _row: self.host_chosen.emit(self.host_id))
        self.part = named(QTabBar(expanding=False), "Part")
        self.part.addTab("List of tools")
        self.part.addTab("Answer to this search")
        self.part.addTab("Prompt hook")
        self.part.setTabToolTip(
            HOOK, "Text that a hook adds to this prompt, or tools that it leaves out"
        )
        self.part.currentChanged.connect(lambda _part: self._show_part())
        self.measure = PlainLabel(wrap=True, look="faint")
        self.text_view = QPlainTextEdit(readOnly=True)
        self.text_view.setObjectName("modelSees")
        self.text_view.setAccessibleName("What the model sees")
        theme.dress_fixed(self.text_view)
        self.text_view.setTabChangesFocus(True)
        self.text_view.setPlaceholderText(_NOTHING[False])
        copy = push_button("Copy", self.copy)
        close = push_button("Close", self.closed)
        # one row: a small screen has no room for two more
        head = hbox((self.host, 1), copy, close, gap=STYLE)
        self.text_view.setMinimumHeight(_LEAST_HEIGHT)
        vbox(
            title,
            head,
            self.part,
            self.measure,
            (self.text_view, 1),
            inside=self,
            margins=(12, 8, 12, 8),
            gap=4,
        )

    @property
    def text(self) -> str:
        """The text shown."""
        return self._whole

    @property
    def host_id(self) -> str:
        """The host chosen, "" for any that goes through Toolcrib."""
        return str(self.host.currentData() or "")

    def show_hosts(self, sizes: Sequence[HostSize], in_view: str) -> None:
        """Offer these hosts; the one chosen stays, at first it is the one in view."""
        chosen = self.host_id if self.host.count() else in_view
        self.host.clear()
        for size in sizes:
            self.host.addItem(f"{size.host}: {MODE_NAMES[size.mode].lower()}", size.facts.id)
        self.host.addItem(_ANY, "")
        self.host.setCurrentIndex(max(0, self.host.findData(chosen)))

    def show_text(self, shown: ModelText) -> None:
        """Show what the model gets."""
        self._shown = shown
        self.part.setTabVisible(SEARCH, bool(shown.search))
        self._show_part()

    def _show_part(self) -> None:
        shown = self._shown
        if shown is None:
            return
        part = self.part.currentIndex()
        if part == HOOK:
            whole, words = shown.hook.text, shown.hook.why
        elif part == SEARCH and shown.search:
            whole, words = shown.search, _answer_words(shown)
        else:
            whole, words = shown.tools, _list_words(shown)
        self._whole = whole
        self.text_view.setPlainText(whole)
        self.text_view.setPlaceholderText(_NOTHING[part == HOOK])
        self.measure.setText(words)

    def copy(self) -> None:
        """Put the text on the clipboard."""
        QGuiApplication.clipboard().setText(self.text)


def _list_words(shown: ModelText) -> str:
    words = f"{plural(shown.count, 'tool')} · {shown.tokens:,} tokens ≈ at the first request"
    if shown.later:
        return f"{words}, of names only; {shown.host} loads these {shown.later:,} on demand"
    return words


def _answer_words(shown: ModelText) -> str:
    return f"{shown.search_tokens:,} tokens ≈ for this search"
