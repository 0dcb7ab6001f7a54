"""A button with all that is known of it when it is made."""

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QPushButton, QWidget

from ui.widgets.named import named

Look = Literal["", "primary", "flat_link", "chip"]  # as the style sheet has them
Press = tuple[str, Callable[[], object]]  # a button's words, and what it does


def push_button(
    text: str = "",
    press: Callable[..., object] | SignalInstance | None = None,
    *,
    look: Look = "",
    name: str = "",
    tip: str = "",
    label: str = "",
    parent: QWidget | None = None,
) -> QPushButton:
    """Return a button that calls `press`; `name` is its object name, `label` for screen readers."""
    button = named(QPushButton(text, parent), label, name=name, tip=tip)
    if look:
        button.setProperty(look, True)
    if press is not None:
        button.clicked.connect(press)
    return button
