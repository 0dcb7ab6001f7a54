"""A form over one settings dataclass, made from a list of fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QSpinBox,
    QWidget,
)

from app.catalog.rule_lines import from_lines, to_lines
from app.core.errors import ToolcribError
from store.typed import Json
from ui.look.theme import GAP, MARGIN, Theme
from ui.widgets.elided import ElidedChoice
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.number_field import amount_field, number_field
from ui.widgets.wheel import WheelGuard
from ui.windows.setting_fields import (
    Amount,
    Choice,
    Field,
    Group,
    Number,
    Patterns,
    Rules,
    Switch,
    Text,
    value_of,
)

# a box takes the width that there is: its longest choice would widen the whole tab
_LEAST_LETTERS = 24


@dataclass(frozen=True, slots=True)
class _Row:
    """A setting on screen: the words it is looked for by, its heading, its widgets."""

    words: str
    heading: QWidget
    widgets: tuple[QWidget, ...]
    advanced: bool


class SettingForm(QWidget):
    """Fields under headings; each change is given at once.

    Signals: changed(name, value, what was done) with each change by the user; checked(error) for
    lines that are no rules, checked(None) once they are.
    """

    changed = Signal(str, object, str)
    checked = Signal(object)

    def __init__(
        self, theme: Theme, groups: Sequence[Group], advanced: Sequence[Group] = ()
    ) -> None:
        """Fields of `groups`; those of `advanced` follow where they are shown or looked for."""
        super().__init__()
        self._every = False  # whether the advanced ones are shown
        self._words = ""  # that settings are looked for by
        self.fields: dict[str, QWidget] = {}
        self._tips: dict[str, tuple[str, QLabel]] = {}  # the usual words and their labels
        self._rows: list[_Row] = []
        self._shows: dict[str, Callable[[Any], None]] = {}
        self._shown: Json = {}
        self._wheel = WheelGuard(self)
        form = QFormLayout(self)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        form.setContentsMargins(MARGIN, 0, MARGIN, MARGIN)
        form.setVerticalSpacing(GAP)
        for number, (heading, fields) in enumerate((*groups, *advanced)):
            title = PlainLabel(heading)
            title.setContentsMargins(0, MARGIN, 0, 0)
            theme.heading(title, 1)
            form.addRow(title)
            for field in fields:
                row = self._add(form, field)
                words = f"{heading} {field.label} {field.tip}".replace("&", "").lower()
                self._rows.append(_Row(words, title, row, number >= len(groups)))
        self._show_rows()

    def show_settings(self, settings: object) -> None:
        """Show these; emits nothing. What is being typed stays where its setting did not change."""
        for name, show in self._shows.items():
            value = value_of(settings, name)
            if name not in self._shown or self._shown[name] != value:
                self._shown[name] = value
                with QSignalBlocker(self.fields[name]):
                    show(value)

    def seek(self, text: str) -> int:
        """Show only settings with these words, "" for all; returns how many there are."""
        self._words = text
        return self._show_rows()

    def show_advanced(self, *, on: bool) -> None:
        """Show the advanced settings too, or only when they are looked for."""
        self._every = on
        self._show_rows()

    def _show_rows(self) -> int:
        words = self._words.lower().split()
        shown = [
            row
            for row in self._rows
            if (words or self._every or not row.advanced)
            and all(word in row.words for word in words)
        ]
        for row in self._rows:
            for widget in row.widgets:
                widget.setVisible(row in shown)
        for heading in {row.heading for row in self._rows}:
            heading.setVisible(any(row.heading is heading for row in shown))
        return len(shown)

    def unusual(self, usual: object) -> Json:
        """The settings that differ from the usual ones, with their usual values."""
        values = {name: value_of(usual, name) for name in self._shown}
        return {name: value for name, value in values.items() if value != self._shown[name]}

    def name_choices(self, name: str, words: Mapping[str, str]) -> None:
        """Other words for a choice's values."""
        box = self.fields[name]
        assert isinstance(box, QComboBox)  # only choices have words
        for place in range(box.count()):
            box.setItemText(place, words[box.itemData(place)])

    def explain(self, name: str, words: str) -> None:
        """More words below a field's explanation."""
        usual, label = self._tips[name]
        label.setText(f"{usual} {words}".strip())

    def _add(self, form: QFormLayout, field: Field) -> tuple[QWidget, ...]:
        """Put a field in with its explanation below; returns what its row is made of."""
        widget = named(self._made(field), tip=field.tip)
        plain = field.label.replace("&", "")
        widget.setAccessibleName(plain)
        self._wheel.look_after(widget)
        self.fields[field.name] = widget
        if isinstance(field, Switch):
            form.addRow("", widget)
            return (widget, *self._explain(form, field))
        label = named(_Name(field.label), tip=field.tip)
        label.setBuddy(widget)
        label.setMinimumHeight(min(widget.sizeHint().height(), widget.maximumHeight()))
        form.addRow(label, widget)
        return (label, widget, *self._explain(form, field))

    def _explain(self, form: QFormLayout, field: Field) -> tuple[QWidget, ...]:
        if not field.tip:
            return ()
        tip = _Explanation(field.tip)
        form.addRow("", tip)
        self._tips[field.name] = (field.tip, tip)
        return (tip,)

    def _made(self, field: Field) -> QWidget:
        if isinstance(field, Number):
            return self._number(field)
        if isinstance(field, Amount):
            return self._amount(field)
        if isinstance(field, Choice):
            return self._choice(field)
        if isinstance(field, Rules):
            return self._rules(field)
        if isinstance(field, Text):
            return self._text(field)
        return self._switch(field) if isinstance(field, Switch) else self._patterns(field)

    def _number(self, field: Number) -> QSpinBox:
        spin = number_field(
            field.label.replace("&", ""), field.least, field.most, step=field.step, unit=field.unit
        )
        spin.setSpecialValueText(field.zero)
        spin.valueChanged.connect(lambda value: self._give(field, value, spin.text()))

        def show(value: int) -> None:  # the command line has other bounds
            spin.setRange(min(field.least, value), max(field.most, value))
            spin.setValue(value)

        self._shows[field.name] = show
        return spin

    def _amount(self, field: Amount) -> QDoubleSpinBox:
        spin = amount_field(field.label.replace("&", ""), field.most, zero=field.zero)
        spin.valueChanged.connect(lambda value: self._give(field, value, spin.text()))
        self._shows[field.name] = spin.setValue
        return spin

    def _choice(self, field: Choice) -> QComboBox:
        box = ElidedChoice(_LEAST_LETTERS)
        for words, value in field.choices:
            box.addItem(words, value)
        box.activated.connect(
            lambda place: self._give(field, box.itemData(place), field.choices[place][0])
        )
        self._shows[field.name] = lambda value: box.setCurrentIndex(box.findData(value))
        return box

    def _switch(self, field: Switch) -> QCheckBox:
        tick = QCheckBox(field.label)
        tick.toggled.connect(lambda on: self._give(field, on, "on" if on else "off"))
        self._shows[field.name] = tick.setChecked
        return tick

    def _text(self, field: Text) -> QLineEdit:
        line = QLineEdit()

        def give() -> None:
            line.setText(line.text().strip())
            self._give(field, line.text(), line.text() or "nothing")

        line.editingFinished.connect(give)
        self._shows[field.name] = line.setText
        return line

    def _patterns(self, field: Patterns) -> QLineEdit:
        line = QLineEdit(placeholderText=field.example)

        def give() -> None:
            names = (name.strip() for name in line.text().split(","))
            entries = tuple(dict.fromkeys(name for name in names if name))
            line.setText(", ".join(entries))
            self._give(field, entries, ", ".join(entries) or "nothing")

        line.editingFinished.connect(give)
        self._shows[field.name] = lambda value: line.setText(", ".join(value))
        return line

    def _rules(self, field: Rules) -> "_RuleLines":
        lines = _RuleLines(field.example)
        before = ""

        def give() -> None:
            nonlocal before
            if lines.toPlainText() == before:
                return  # also what cannot be shown stays as it is
            try:
                rules = from_lines(lines.toPlainText())
            except ToolcribError as error:
                self.checked.emit(error)
                return
            before = lines.toPlainText()
            self.checked.emit(None)
            self._give(field, rules, "; ".join(to_lines(rules).splitlines()) or "nothing")

        def show(rules: object) -> None:
            nonlocal before
            before = to_lines(rules)
            lines.setPlainText(before)

        lines.left.connect(give)
        self._shows[field.name] = show
        return lines

    def keep(self, name: str, value: object) -> None:
        """A change was refused: this still holds, and what was typed stays to be mended."""
        self._shown[name] = value

    def _give(self, field: Field, value: object, words: str) -> None:
        if self._shown.get(field.name) != value:
            self._shown[field.name] = value
            self.changed.emit(
                field.name, value, f"Set {field.step_noun or _plain(field)} to {words}"
            )


class _Name(PlainLabel):
    """A field's name, as wide as it is drawn.

    Qt measures it whole and draws it in three parts, the underlined letter for itself: without
    the kerning between them it is wider.
    """

    def sizeHint(self) -> QSize:
        """The parts beside each other."""
        before, _sign, rest = self.text().partition("&")
        drawn = sum(map(self.fontMetrics().horizontalAdvance, (before, rest[:1], rest[1:])))
        return super().sizeHint().expandedTo(QSize(drawn, 0))


class _Explanation(PlainLabel):
    """Faint words below a field, as high as their lines; QFormLayout gives a label its guess."""

    def __init__(self, words: str) -> None:
        super().__init__(words, wrap=True)
        self.setProperty("faint", True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """At the width that it has."""
        return QSize(0, self.heightForWidth(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width wants another height."""
        super().resizeEvent(event)
        self.updateGeometry()


class _RuleLines(QPlainTextEdit):
    """Some lines that are taken when the focus leaves them.

    Signals: left().
    """

    left = Signal()

    def __init__(self, example: str) -> None:
        super().__init__()
        self.setPlaceholderText(example)
        self.setTabChangesFocus(True)
        self.setFixedHeight(4 * self.fontMetrics().lineSpacing())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the typed text as the value."""
        super().focusOutEvent(event)
        self.left.emit()


def _plain(field: Field) -> str:
    words = field.label.replace("&", "")
    return f"{words[0].lower()}{words[1:]}"
