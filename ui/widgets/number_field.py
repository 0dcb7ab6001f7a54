"""Fields for numbers, the same everywhere."""

from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox, QSpinBox


def number_field(name: str, least: int, most: int, *, step: int = 1, unit: str = "") -> QSpinBox:
    """A spin box with that accessible name; a number counts once it is typed to its end."""
    spin = QSpinBox(minimum=least, maximum=most, singleStep=step, suffix=unit)
    _dress(spin, name)
    return spin


def amount_field(name: str, most: float, *, step: float = 0.5, zero: str = "") -> QDoubleSpinBox:
    """A spin box for an amount with two decimals; `zero`, if any, is shown for 0."""
    spin = QDoubleSpinBox(maximum=most, singleStep=step)
    spin.setSpecialValueText(zero)
    _dress(spin, name)
    return spin


def _dress(spin: QAbstractSpinBox, name: str) -> None:
    spin.setGroupSeparatorShown(True)
    spin.setAccessibleName(name)
    spin.setKeyboardTracking(False)
    spin.lineEdit().setTextMargins(4, 0, 0, 0)  # the stylesheet's padding is not kept
