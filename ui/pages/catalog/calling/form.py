"""The arguments of a call: a form by the tool's schema, or the JSON itself."""

import json

from PySide6.QtWidgets import (
    QFormLayout,
    QGroupBox,
    QPlainTextEdit,
    QSizePolicy,
    QTabWidget,
    QWidget,
)

from store.typed import Json
from ui.look.theme import GAP, MARGIN, Theme
from ui.pages.catalog.calling.inputs import Input, make_input
from ui.pages.catalog.calling.schema_fields import GROUP, Field, FieldError, fields_of, value_of
from ui.widgets.boxes import STRETCH, STYLE, boxed, scrolled, vbox
from ui.widgets.label import PlainLabel

FORM, AS_JSON = range(2)


class ArgumentProblem(Exception):  # noqa: N818 - a sentence for the user and where to mend it
    """Fault of an argument."""

    def __init__(self, text: str, widget: QWidget) -> None:
        super().__init__(text)
        self.widget = widget


class ArgumentForm(QTabWidget):
    """Two tabs over the same arguments: what one holds goes into the other with the change."""

    def __init__(self, theme: Theme, schema: Json) -> None:
        super().__init__()
        self.setDocumentMode(True)
        self.setAccessibleName("Arguments")
        self._theme = theme
        self.fields = fields_of(schema)
        self.inputs: dict[tuple[str, ...], tuple[Field, Input]] = {}
        self.json = QPlainTextEdit("{}", tabChangesFocus=True)
        self.json.setAccessibleName("Arguments as JSON")
        theme.dress_fixed(self.json)
        self.addTab(self._make_form(), "&Form")
        self.addTab(self.json, "As &JSON")
        self.setCurrentIndex(FORM if self.fields or not schema.get("properties") else AS_JSON)
        self._before = self.currentIndex()
        self.currentChanged.connect(self._on_tab)

    @property
    def first(self) -> QWidget:
        """Widget that gets the focus first."""
        return next((one.widget for _field, one in self.inputs.values()), self.json)

    def arguments(self) -> Json:
        """Return the arguments to send; raises ArgumentProblem."""
        if self.currentIndex() == AS_JSON:
            return self._from_json()
        return self._from_fields(self.fields, ())

    def secrets(self) -> tuple[str, ...]:
        """The values of masked fields, which are shown nowhere and not kept."""
        values = (read_quietly(one) for field, one in self.inputs.values() if field.secret)
        return tuple(str(text) for text in values if text)

    def show_arguments(self, arguments: Json) -> None:
        """Fill both tabs."""
        self.json.setPlainText(json.dumps(arguments, indent=2, ensure_ascii=False))
        for path, (_field, one) in self.inputs.items():
            value: object = arguments
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            one.show(value)

    def without_secrets(self, arguments: Json) -> Json:
        """The arguments that may be kept: masked fields left out."""
        hidden = {path for path, (field, _one) in self.inputs.items() if field.secret}
        return _without(arguments, hidden, ())

    def _on_tab(self, number: int) -> None:
        before, self._before = self._before, number
        try:
            if before == FORM and number == AS_JSON:
                arguments = self._from_fields(self.fields, ())
                self.json.setPlainText(json.dumps(arguments, indent=2, ensure_ascii=False))
            elif before == AS_JSON and number == FORM:
                self.show_arguments(self._from_json())
        except ArgumentProblem:
            pass  # what cannot be taken over stays where it was typed; the call will say so

    def _from_json(self) -> Json:
        try:
            arguments = value_of("json", self.json.toPlainText().strip() or "{}")
        except FieldError as error:
            raise ArgumentProblem(f"What you typed {error}.", self.json) from None
        if not isinstance(arguments, dict):
            raise ArgumentProblem("Arguments are an object: { … }.", self.json)
        return arguments

    def _from_fields(self, fields: tuple[Field, ...], before: tuple[str, ...]) -> Json:
        given: Json = {}
        for field in fields:
            path = (*before, field.name)
            if field.kind == GROUP:
                if field.required or self._touched(field, path):
                    given[field.name] = self._from_fields(field.children, path)
                continue
            one = self.inputs[path][1]
            try:
                for value in one.read():
                    given[field.name] = value
            except FieldError as error:
                raise ArgumentProblem(f"{'.'.join(path)} {error}.", one.widget) from None
        return given

    def _touched(self, group: Field, path: tuple[str, ...]) -> bool:
        """True if anything was typed into an optional group."""
        for child in group.children:
            below = (*path, child.name)
            if child.kind == GROUP:
                if self._touched(child, below):
                    return True
            elif read_quietly(self.inputs[below][1]) not in (None, ""):
                return True
        return False

    def _make_form(self) -> QWidget:
        none = PlainLabel("This tool takes no arguments.", wrap=True, look="faint")
        rows = self._rows(self.fields, ()) if self.fields else none
        inner = boxed(vbox(rows, STRETCH, margins=(0, GAP, MARGIN, GAP), gap=STYLE))
        area = scrolled(inner, sideways=False, focus=False)
        for widget in (area.viewport(), inner):
            widget.setAutoFillBackground(False)
        return area

    def _rows(self, fields: tuple[Field, ...], before: tuple[str, ...]) -> QFormLayout:
        form = QFormLayout(rowWrapPolicy=QFormLayout.RowWrapPolicy.WrapAllRows)
        form.setSpacing(GAP)
        for field in fields:
            path = (*before, field.name)
            if field.kind == GROUP:
                box = QGroupBox(_title(field))
                box.setLayout(self._rows(field.children, path))
                form.addRow(box)
                continue
            one = make_input(field, self._theme)
            one.widget.setAccessibleName(".".join(path))
            self.inputs[path] = (field, one)
            label = PlainLabel(_title(field), buddy=one.widget)
            form.addRow(label, one.widget)
            if field.description:
                description = PlainLabel(field.description, wrap=True, look="faint")
                description.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
                form.addRow(description)
        return form


def read_quietly(one: Input) -> object:
    """Value in an input, None where it is no usable value."""
    try:
        return next(iter(one.read()), None)
    except FieldError:
        return None


def _title(field: Field) -> str:
    return f"{field.name} (required)" if field.required else field.name


def _without(value: Json, hidden: set[tuple[str, ...]], before: tuple[str, ...]) -> Json:
    kept: Json = {}
    for name, one in value.items():
        path = (*before, name)
        if path not in hidden:
            kept[name] = _without(one, hidden, path) if isinstance(one, dict) else one
    return kept
