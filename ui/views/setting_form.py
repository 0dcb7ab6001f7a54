"""A form over one settings dataclass, made from a list of fields."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from ui.models.setting_fields import (
    Choice,
    Field,
    Group,
    Number,
    Patterns,
    Switch,
    value_of,
    with_value,
)
from ui.theme import GAP, MARGIN, Theme


class SettingForm(QWidget):
    """Fields under headings; each change is given at once.

    Signals: given(new settings, what was done) with each change by the user.
    """

    given = Signal(object, str)

    def __init__(self, theme: Theme, groups: Iterable[Group]) -> None:
        super().__init__()
        self.fields: dict[str, QWidget] = {}
        self._settings: Any = None
        self._shows: list[Callable[[Any], None]] = []
        form = QFormLayout(self)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        form.setContentsMargins(MARGIN, 0, MARGIN, MARGIN)
        form.setVerticalSpacing(GAP)
        for heading, fields in groups:
            title = QLabel(heading)
            title.setContentsMargins(0, MARGIN, 0, 0)
            theme.dress(title, 1, QFont.Weight.DemiBold)
            form.addRow(title)
            for field in fields:
                self._add(form, field)

    def show_settings(self, settings: Any) -> None:
        """Show these; emits nothing."""
        self._settings = settings
        for show in self._shows:
            show(settings)

    def name_choices(self, name: str, words: Mapping[str, str]) -> None:
        """Other words for a choice's values."""
        box = self.fields[name]
        assert isinstance(box, QComboBox)  # only choices have words
        for place in range(box.count()):
            box.setItemText(place, words[box.itemData(place)])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The wheel scrolls the form; only a field with the focus takes it."""
        wheel = event.type() == QEvent.Type.Wheel
        if wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _add(self, form: QFormLayout, field: Field) -> None:
        widget = self._made(field)
        plain = field.label.replace("&", "")
        widget.setAccessibleName(plain)
        widget.setToolTip(field.tip)
        widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel must not give it
        widget.installEventFilter(self)
        self.fields[field.name] = widget
        if isinstance(field, Switch):
            form.addRow("", widget)
            return
        label = QLabel(field.label)
        label.setBuddy(widget)
        label.setToolTip(field.tip)
        label.setMinimumHeight(widget.sizeHint().height())
        form.addRow(label, widget)

    def _made(self, field: Field) -> QWidget:
        if isinstance(field, Number):
            return self._number(field)
        if isinstance(field, Choice):
            return self._choice(field)
        return self._switch(field) if isinstance(field, Switch) else self._patterns(field)

    def _number(self, field: Number) -> QSpinBox:
        spin = QSpinBox(minimum=field.least, maximum=field.most, singleStep=field.step)
        spin.setGroupSeparatorShown(True)
        spin.setSuffix(field.unit)
        spin.setSpecialValueText(field.zero)
        spin.setKeyboardTracking(False)  # a number counts once it is typed to its end
        spin.lineEdit().setTextMargins(4, 0, 0, 0)  # the stylesheet's padding is not kept
        spin.valueChanged.connect(lambda value: self._give(field, value, spin.text()))
        self._shows.append(lambda settings: _quietly(spin, spin.setValue, settings, field))
        return spin

    def _choice(self, field: Choice) -> QComboBox:
        box = QComboBox()
        for words, value in field.choices:
            box.addItem(words, value)
        box.activated.connect(
            lambda place: self._give(field, box.itemData(place), field.choices[place][0])
        )
        self._shows.append(
            lambda settings: box.setCurrentIndex(box.findData(value_of(settings, field.name)))
        )
        return box

    def _switch(self, field: Switch) -> QCheckBox:
        tick = QCheckBox(field.label)
        tick.toggled.connect(lambda on: self._give(field, on, "on" if on else "off"))
        self._shows.append(lambda settings: _quietly(tick, tick.setChecked, settings, field))
        return tick

    def _patterns(self, field: Patterns) -> QLineEdit:
        line = QLineEdit()
        line.setPlaceholderText(field.example)

        def give() -> None:
            names = (name.strip() for name in line.text().split(","))
            found = tuple(dict.fromkeys(name for name in names if name))
            self._give(field, found, ", ".join(found) or "nothing")

        line.editingFinished.connect(give)
        self._shows.append(lambda settings: line.setText(", ".join(value_of(settings, field.name))))
        return line

    def _give(self, field: Field, value: object, words: str) -> None:
        if self._settings is None or value_of(self._settings, field.name) == value:
            return
        self._settings = with_value(self._settings, field.name, value)
        plain = field.label.replace("&", "")
        self.given.emit(self._settings, f"Set {plain[0].lower()}{plain[1:]} to {words}")


def _quietly(widget: QWidget, set_to: Callable[[Any], None], settings: Any, field: Field) -> None:
    with QSignalBlocker(widget):
        set_to(value_of(settings, field.name))
