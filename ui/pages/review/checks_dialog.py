"""Checks of Review, rule by rule."""

from html import escape

from PySide6.QtWidgets import QWidget

from app.safety.rules import Rule, rules
from ui.widgets.dialog import Dialog, show_html

_WORDS = {"block": "held back", "warn": "warning", "info": "remark"}


def show_checks(parent: QWidget) -> Dialog:
    """Open the list of rules."""
    return show_html(parent, "What is checked?", "".join(map(_rule_html, rules().values())))


def _rule_html(rule: Rule) -> str:
    head = f"<b>{escape(rule.title)}</b> · {rule.id} · {_WORDS[rule.severity]}"
    return f"<p style='margin:0 0 10px 0'>{head}<br>{escape(rule.meaning)}</p>"
