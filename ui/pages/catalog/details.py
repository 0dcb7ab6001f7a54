"""The card beside the tree: what the selection is, what it costs, what it takes."""

from collections.abc import Callable, Sequence
from html import escape

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QPushButton, QSizePolicy, QWidget

from ui.look.text import count
from ui.look.theme import CARD, GAP, Theme
from ui.pages.catalog.details_text import Details, Parameter, Part
from ui.widgets.badge import Badge
from ui.widgets.boxes import STRETCH, STYLE, hbox, scrolled, vbox
from ui.widgets.delegates import paint_bar
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

LABEL, NUMBER, LINE = 104, 52, 22  # pixels


class SplitBars(QWidget):
    """Fields that a host does not send are hatched."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts: tuple[Part, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_parts(self, parts: tuple[Part, ...]) -> None:
        """Show other numbers."""
        self._parts = parts
        self.setVisible(bool(parts))
        fields = [f"{p.name} {count(p.tokens)}{'' if p.counted else ' (not sent)'}" for p in parts]
        self.setAccessibleName("Tokens by field: " + ", ".join(fields))
        self.setToolTip("Hatched fields are not part of what most hosts send to the model.")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """A line per field."""
        return QSize(200, LINE * len(self._parts))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Name, bar, number."""
        painter = QPainter(self)
        colors = self._theme.colors
        largest = max((part.tokens for part in self._parts), default=0) or 1
        normal, strong = self._theme.font(), self._theme.font(0, QFont.Weight.DemiBold)
        middle = Qt.AlignmentFlag.AlignVCenter
        for row, part in enumerate(self._parts):
            line = QRectF(0, row * LINE, self.width(), LINE)
            painter.setFont(normal)
            painter.setPen(colors.text2)
            painter.drawText(line, middle, part.name)
            track = QRectF(LABEL, line.center().y() - 4, line.width() - LABEL - NUMBER, 8)
            share = part.tokens / largest
            solid, hatched = (share, 0.0) if part.counted else (0.0, share)
            paint_bar(painter, track, solid=solid, hatched=hatched, colors=colors)
            painter.setFont(strong if part.counted else normal)
            painter.setPen(colors.text if part.counted else colors.text2)
            painter.drawText(line, middle | Qt.AlignmentFlag.AlignRight, count(part.tokens))
        painter.end()


WIDTH = 290  # pixels


Button = tuple[str, str, Callable[[], object]]  # its words, its icon, and what it does


class DetailsCard(QFrame):
    """Shows Details; its buttons are given by the page.

    Signals: log_wanted(server).
    """

    log_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("details")
        self.setProperty("card", True)
        self.setMinimumWidth(220)
        self._theme = theme
        self.title = theme.heading(named(_label(self, wrap=True), name="detailsTitle"), 3)
        self._subtitle = _label(self, faint=True, wrap=True)
        self._badges: list[Badge] = []
        self._badge_row = hbox(STRETCH, gap=4)
        self._headline = theme.heading(_label(self, wrap=True))
        self._log_of = ""
        self.log = push_button(
            "Whole log…",
            lambda: self.log_wanted.emit(self._log_of),
            look="flat_link",
            tip="Messages of the last read, and the server's output",
            parent=self,
        )
        self.call = push_button(
            "Call by hand… (T)",
            look="flat_link",
            tip="Fill in its arguments, call it, and see what comes back",
            parent=self,
        )
        self._parts = SplitBars(theme, self)
        self._advice = _label(self, faint=True, wrap=True)
        self._text = _label(self, wrap=True)
        self._parameters = _label(self, wrap=True)
        self._parameters.setTextFormat(Qt.TextFormat.RichText)
        self._code_title = theme.heading(_label(self))
        self._code = named(QPlainTextEdit(self), "Schema or log")
        self._code.setReadOnly(True)
        theme.dress_fixed(self._code)
        self._code.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._code.setMinimumHeight(160)
        self._code.setTabChangesFocus(True)
        self._presses: list[Callable[[], object]] = []
        self._buttons = [
            push_button("", lambda _checked=False, n=number: self._presses[n](), parent=self)
            for number in range(3)
        ]
        self._lay_out()
        self.show_details(None, ())

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        """The buttons, for tests and keys."""
        return tuple(self._buttons)

    def show_details(self, details: Details | None, buttons: Sequence[Button]) -> None:
        """Show these, with at most three buttons; None when nothing is selected."""
        shown = details or Details("Nothing selected", text="Pick a server or a tool in the list.")
        if (shown.title, shown.subtitle) != (self.title.text(), self._subtitle.text()):
            self.area.verticalScrollBar().setValue(0)  # another one is read from its top
        for label, text in (
            (self.title, _breakable(shown.title)),
            (self._subtitle, shown.subtitle),
            (self._headline, shown.headline),
            (self._advice, shown.advice),
            (self._text, shown.text),
            (self._parameters, parameter_table(shown.parameters)),
            (self._code_title, shown.code_title),
        ):
            label.say(text)
        self.call.setVisible(shown.callable)
        self._log_of = shown.log_of
        self.log.setVisible(bool(shown.log_of))
        self._parts.show_parts(shown.parts)
        self._code.setVisible(bool(shown.code_title))
        self._code.setPlainText(shown.code)
        self._show_badges(shown)
        self._presses = [press for _words, _icon, press in buttons]
        for number, button in enumerate(self._buttons):
            button.setVisible(number < len(buttons))
        for button, (words, icon, _press) in zip(self._buttons, buttons, strict=False):
            button.setText(words)
            button.setIcon(self._theme.icons.icon(icon))

    def _show_badges(self, details: Details) -> None:
        while self._badges:
            self._badges.pop().deleteLater()
        for place, badge in enumerate(details.badges):
            self._badges.append(Badge(self._theme, badge, self))
            self._badge_row.insertWidget(place, self._badges[-1])

    def _lay_out(self) -> None:
        inner = named(QWidget(), name="detailsInner")
        inner.setStyleSheet("#detailsInner { background: transparent; }")
        vbox(
            self.title,
            self._subtitle,
            self._badge_row,
            self._headline,
            self.call,
            self.log,
            self._parts,
            self._advice,
            self._text,
            self._parameters,
            self._code_title,
            (self._code, 1),
            STRETCH,
            inside=inner,
            margins=(CARD, CARD, CARD, GAP),
        )
        self.area = named(scrolled(inner, sideways=False), "Details")
        self.area.viewport().setAutoFillBackground(False)
        row = Flow()
        row.setContentsMargins(CARD, 0, CARD, 12)
        for button in self._buttons:
            row.addWidget(button)
        vbox((self.area, 1), row, inside=self, gap=STYLE)


def parameter_table(parameters: tuple[Parameter, ...]) -> str:
    """Parameters as rich text, every word of the server escaped."""
    if not parameters:
        return ""
    rows = []
    for shown in parameters:
        kind = f" <i>{escape(shown.type)}</i>" if shown.type else ""
        must = " · required" if shown.required else ""
        description = f"<br>{escape(shown.description)}" if shown.description else ""
        rows.append(
            f"<p style='margin:4px 0'><b>{escape(shown.name)}</b>{kind}{must}{description}</p>"
        )
    return "<p style='margin:8px 0 2px 0'><b>Parameters</b></p>" + "".join(rows)


def _breakable(name: str) -> str:
    """A name that may be wrapped after an underscore or a dash."""
    return name.replace("_", "_\u200b").replace("-", "-\u200b")


def _label(parent: QWidget, *, faint: bool = False, wrap: bool = False) -> PlainLabel:
    label = PlainLabel(parent=parent, wrap=wrap)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    # long words must not make the card wider
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    label.setProperty("faint", faint)
    return label
