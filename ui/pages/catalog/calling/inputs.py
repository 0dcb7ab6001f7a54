"""One widget for each kind of argument; an optional one that is left empty is not given."""

from collections.abc import Callable
from typing import Protocol

from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from ui.look.theme import Theme
from ui.pages.catalog.calling.schema_fields import (
    CHOICE,
    JSON,
    LIST,
    SWITCH,
    TEXT,
    Field,
    FieldError,
    text_of,
    value_of,
)
from ui.widgets.elided import Choice

LEFT_OUT, TO_CHOOSE = "not given", "choose one"
_NOTHING = object()  # the row of a choice that is no value; null may be one
_LINES, _JSON_LINES = 3, 5


class Input(Protocol):
    """Interface between the form and one of its widgets."""

    @property
    def widget(self) -> QWidget:
        """Widget that the form shows."""

    def read(self) -> tuple[object, ...]:
        """The value as the only entry, () where none is given; raises FieldError."""

    def show(self, value: object) -> None:
        """Put a value in, None for none."""


class LineInput:
    """A text or a number on one line; secret ones are masked."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self.widget = self.edit = QLineEdit()
        if field.secret:
            self.edit.setEchoMode(QLineEdit.EchoMode.Password)
        if not field.required:
            self.edit.setPlaceholderText(LEFT_OUT)

    def read(self) -> tuple[object, ...]:
        """The typed value; an empty text is sent from the JSON only."""
        text, field = self.edit.text(), self._field
        if not text:
            return _none(field)
        return (value_of(field.kind, text),)

    def show(self, value: object) -> None:
        """The value as text."""
        self.edit.setText("" if value is None else text_of(self._field.kind, value))


class ChoiceInput:
    """One of a few values."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self.widget = self.box = Choice()
        self._values: list[object] = list(field.choices)
        if field.kind == SWITCH:
            self._values = [True, False]
        for value in self._values:
            self.box.addItem(_shown(value))
        self.box.insertItem(0, TO_CHOOSE if field.required else LEFT_OUT)
        self._values.insert(0, _NOTHING)
        self.box.setCurrentIndex(0)

    def read(self) -> tuple[object, ...]:
        """The value that is chosen."""
        value = self._values[self.box.currentIndex()]
        return _none(self._field) if value is _NOTHING else (value,)

    def show(self, value: object) -> None:
        """Choose a value; none where it is not known."""
        known = [
            n for n, one in enumerate(self._values) if one == value and type(one) is type(value)
        ]
        self.box.setCurrentIndex(known[0] if known else 0)


class LinesInput:
    """Several lines: a list with a value on each, or any JSON."""

    def __init__(self, field: Field, theme: Theme) -> None:
        self._field = field
        self.widget = self.edit = QPlainTextEdit()
        self.edit.setTabChangesFocus(True)
        lines = _JSON_LINES if field.kind == JSON else _LINES
        self.edit.setFixedHeight(self.edit.fontMetrics().lineSpacing() * lines + 14)
        self.edit.setPlaceholderText("one on each line" if field.kind == LIST else "JSON")
        if field.kind == JSON:
            theme.dress_fixed(self.edit)

    def read(self) -> tuple[object, ...]:
        """The list or the JSON."""
        text, field = self.edit.toPlainText(), self._field
        if field.kind == JSON:
            return (value_of(JSON, text),) if text.strip() else _none(field)
        lines = [line for line in text.split("\n") if line.strip()]
        if not lines:
            return _none(field)
        return ([value_of(field.items, line) for line in lines],)

    def show(self, value: object) -> None:
        """The value over several lines."""
        if value is None:
            self.edit.setPlainText("")
        elif self._field.kind == LIST and isinstance(value, list):
            self.edit.setPlainText("\n".join(text_of(self._field.items, one) for one in value))
        else:
            self.edit.setPlainText(text_of(JSON, value))


def make_input(field: Field, theme: Theme) -> Input:
    """The widget of a field that is no group, with its default."""
    makers: dict[str, Callable[[], Input]] = {
        CHOICE: lambda: ChoiceInput(field),
        SWITCH: lambda: ChoiceInput(field),
        LIST: lambda: LinesInput(field, theme),
        JSON: lambda: LinesInput(field, theme),
    }
    one_line: Callable[[], Input] = lambda: LineInput(field)  # noqa: E731 - it needs its type
    made = makers.get(field.kind, one_line)()
    made.widget.setAccessibleName(field.name)
    made.widget.setAccessibleDescription(field.description)
    if field.default is not None:
        made.show(field.default)
    return made


def _none(field: Field) -> tuple[object, ...]:
    if field.required:
        raise FieldError("must be given; an empty value can be sent as JSON")
    return ()


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text_of(TEXT, value)
