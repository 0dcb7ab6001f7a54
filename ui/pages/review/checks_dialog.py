"""Checks of Review, rule by rule."""

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox, QLabel, QWidget

from app.safety.rules import Rule, rules
from ui.widgets.boxes import STYLE, scrolled, vbox
from ui.widgets.dialog import Dialog

_SIZE = (620, 460)
_WORDS = {"block": "held back", "warn": "warning", "info": "remark"}


def show_checks(parent: QWidget) -> Dialog:
    """Open the list of rules."""
    dialog = Dialog(parent, title="What is checked?")
    dialog.resize(*_SIZE)
    label = QLabel("".join(map(_rule_html, rules().values())))
    label.setTextFormat(Qt.TextFormat.RichText)
    label.setWordWrap(True)
    label.setAccessibleName("Rules")
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    dialog.submit_with(buttons.button(QDialogButtonBox.StandardButton.Close))
    vbox((scrolled(label), 1), buttons, inside=dialog, margins=STYLE, gap=STYLE)
    dialog.open()
    return dialog


def _rule_html(rule: Rule) -> str:
    head = f"<b>{escape(rule.title)}</b> · {rule.id} · {_WORDS[rule.severity]}"
    return f"<p style='margin:0 0 10px 0'>{head}<br>{escape(rule.meaning)}</p>"
