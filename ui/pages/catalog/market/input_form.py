"""A form of the values that a listed server needs: one row for each of its inputs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from app.market.launch import Choice, Field
from ui.look.text import plain_tip
from ui.look.theme import GAP, Theme
from ui.widgets.boxes import hbox
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

_Editor = QLineEdit | QComboBox | QCheckBox | QPlainTextEdit
_LINES = 3  # of a field that takes several values


class InputForm(QWidget):
    """Required values have a star; secret ones are hidden and go to the secret store."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.editors: dict[str, _Editor] = {}
        self._form = QFormLayout(self, rowWrapPolicy=QFormLayout.RowWrapPolicy.WrapLongRows)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setSpacing(GAP)

    def show_fields(self, choice: Choice | None) -> None:
        """Replace the rows by those of a package or an address."""
        while self._form.rowCount():
            self._form.removeRow(0)
        self.editors = {}
        for field in choice.fields if choice and not choice.problem else ():
            editor = named(self._editor(field), field.key, tip=plain_tip(field.input.description))
            self.editors[field.key] = editor
            label = PlainLabel(f"{field.key} *" if field.wanted else field.key)
            label.setToolTip(plain_tip(field.input.description))
            label.setBuddy(editor)
            editor.setAccessibleDescription(field.input.description)
            self._form.addRow(label, self._with_chooser(field, editor))

    @property
    def values(self) -> Mapping[str, str]:
        """Values as typed; nothing for an empty field."""
        return {key: text for key, one in self.editors.items() if (text := _text(one))}

    def fill(self, values: Mapping[str, str]) -> None:
        """Put values into the fields of these keys."""
        for key, text in values.items():
            editor = self.editors.get(key)
            if isinstance(editor, QComboBox):
                editor.setCurrentText(text)
            elif isinstance(editor, QCheckBox):
                editor.setChecked(text == "true")
            elif isinstance(editor, QPlainTextEdit):
                editor.setPlainText(text)
            elif editor is not None:
                editor.setText(text)

    def missing(self, keys: Iterable[str]) -> str:
        """Sentence on the first of these without a value, which gets the focus; "" for none."""
        lacking = next((key for key in keys if not self.values.get(key)), "")
        if lacking in self.editors:
            self.editors[lacking].setFocus()
        return f"{lacking} needs a value." if lacking else ""

    def _editor(self, field: Field) -> _Editor:
        given = field.input
        if given.choices:
            box = QComboBox()
            box.addItems(["", *given.choices] if not given.default else list(given.choices))
            box.setCurrentText(given.default)
            return box
        if given.format == "boolean":
            check = QCheckBox()
            check.setChecked(given.default == "true")
            return check
        hint = given.placeholder or given.description[:80]
        if field.repeated:
            several = QPlainTextEdit(given.default)
            several.setTabChangesFocus(True)
            several.setPlaceholderText(hint or "One a line")
            several.setMaximumHeight(several.fontMetrics().lineSpacing() * (_LINES + 1))
            return several
        line = QLineEdit(given.default, placeholderText=hint)
        if given.secret:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        return line

    def _with_chooser(self, field: Field, editor: _Editor) -> QWidget:
        """A field for a path gets a button that opens the file chooser."""
        if field.input.format != "filepath":
            return editor
        row = QWidget()
        button = push_button("", lambda: self._choose(editor), tip="Choose a folder or type a path")
        self._theme.put_icon(button, "folder-open-outline")
        button.setAccessibleName(f"Choose {field.key}")
        hbox((editor, 1), button, inside=row)
        return row

    def _choose(self, editor: _Editor) -> None:
        dialog = QFileDialog(self, "Choose a folder", str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(lambda path: _put(editor, path))
        dialog.open()


def _put(editor: _Editor, path: str) -> None:
    if isinstance(editor, QPlainTextEdit):
        editor.appendPlainText(path)
    elif isinstance(editor, QLineEdit):
        editor.setText(path)


def _text(editor: _Editor) -> str:
    if isinstance(editor, QCheckBox):
        return "true" if editor.isChecked() else ""
    if isinstance(editor, QComboBox):
        return editor.currentText()
    if isinstance(editor, QPlainTextEdit):
        return "\n".join(filter(None, map(str.strip, editor.toPlainText().split("\n"))))
    return editor.text()
