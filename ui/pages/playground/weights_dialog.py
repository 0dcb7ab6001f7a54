"""Weights of words by their place in a tool: its name, description, parameters ..."""

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QDialogButtonBox, QDoubleSpinBox, QWidget

from app.core.settings import MOST_WEIGHT, RoutingSettings
from ui.widgets.boxes import form
from ui.widgets.dialog import Dialog
from ui.widgets.label import PlainLabel
from ui.widgets.number_field import amount_field
from ui.widgets.push_button import push_button

_FIELDS = (
    ("name_weight", "&Name"),
    ("description_weight", "&Description"),
    ("parameters_weight", "&Parameters"),
    ("server_weight", "&Server"),
    ("requests_weight", "&Requests"),
)
_HINT = (
    "How much a word of the query counts by where a tool holds it. Meaning does not change. The"
    " defaults measured best on public query sets."
)


class WeightsDialog(Dialog):
    """Five weights, used at once.

    Signals: given(RoutingSettings, what was done) with each change.
    """

    given = Signal(object, str)

    def __init__(self, settings: RoutingSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent, title="Weights of words", name="weights")
        self.setMinimumWidth(380)
        self._settings = settings
        self.fields: dict[str, QDoubleSpinBox] = {}
        rows = [(words, self._field(name, words.replace("&", ""))) for name, words in _FIELDS]
        hint = PlainLabel(_HINT, wrap=True, look="faint")
        self.reset = push_button("Use defaults", self._reset)
        reset = QDialogButtonBox.ButtonRole.ResetRole
        buttons = self.close_box(self.reset, role=reset, submits=True)
        self.lay_out(hint, form(*rows), buttons)
        self.show_settings(settings)

    def show_settings(self, settings: RoutingSettings) -> None:
        """Show a profile's weights; emits nothing."""
        self._settings = settings
        for name, field in self.fields.items():
            with QSignalBlocker(field):
                field.setValue(getattr(settings, name))
        self.reset.setEnabled(settings.word_weights != RoutingSettings().word_weights)

    def _field(self, name: str, words: str) -> QDoubleSpinBox:
        field = amount_field(f"Weight: {words}", MOST_WEIGHT, step=0.25)
        field.valueChanged.connect(
            lambda value: self._give({name: value}, f"Set weight of {words.lower()} to {value:g}")
        )
        self.fields[name] = field
        return field

    def _reset(self) -> None:
        default = RoutingSettings()
        names = (name for name, _ in _FIELDS)
        self._give({name: getattr(default, name) for name in names}, "Reset weights of words")

    def _give(self, changed: dict[str, float], text: str) -> None:
        new = replace(self._settings, **changed)  # type: ignore[arg-type]
        self.show_settings(new)
        self.given.emit(new, text)
