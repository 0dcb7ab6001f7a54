"""Roles of cells that their delegates read beside the text, and badges as values."""

from dataclasses import dataclass

from PySide6.QtCore import Qt

BAR = int(Qt.ItemDataRole.UserRole) + 2  # (solid share, hatched share) or None
BADGE = int(Qt.ItemDataRole.UserRole) + 3  # BadgeText of the cell, or None
SORT = int(Qt.ItemDataRole.UserRole) + 5  # the value that a proxy sorts rows by
FAINT = int(Qt.ItemDataRole.UserRole) + 4  # True: the row is off, its text is faint


@dataclass(frozen=True, slots=True)
class BadgeText:
    """A badge: its word, its tone (accent, passed, warn, block, neutral), its icon."""

    word: str
    tone: str = "neutral"
    icon: str = ""
    solid: bool = False  # only for BLOCK, Held and Could not start
