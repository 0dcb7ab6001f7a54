"""A field for a whole number, the same everywhere."""

from PySide6.QtWidgets import QSpinBox


def number_field(name: str, least: int, most: int, *, step: int = 1, unit: str = "") -> QSpinBox:
    """A spin box with that accessible name; a number counts once it is typed to its end."""
    spin = QSpinBox(minimum=least, maximum=most, singleStep=step)
    spin.setGroupSeparatorShown(True)
    spin.setSuffix(unit)
    spin.setAccessibleName(name)
    spin.setKeyboardTracking(False)
    spin.lineEdit().setTextMargins(4, 0, 0, 0)  # the stylesheet's padding is not kept
    return spin
