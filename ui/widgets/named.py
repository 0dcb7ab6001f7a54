"""Names of a widget, given where it is made."""

from typing import TypeVar

from PySide6.QtWidgets import QWidget

W = TypeVar("W", bound=QWidget)


def named(widget: W, label: str = "", *, name: str = "", tip: str = "") -> W:
    """Return the widget, which a screen reader calls `label`; `name` is its object name."""
    if label:
        widget.setAccessibleName(label)
    if name:
        widget.setObjectName(name)
    if tip:
        widget.setToolTip(tip)
    return widget
