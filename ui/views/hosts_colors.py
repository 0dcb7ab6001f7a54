"""Colours and badges of the Hosts page."""

from collections.abc import Callable

from app.export.drift import OUTSIDE
from app.export.status import CHANGES, NOT_FOUND, UNREADABLE
from ui.colors import Colors
from ui.views.badge import BadgeText
from ui.views.diff_pane import PaneColors
from ui.views.diff_view import DiffColors

# by state; a host in sync has none
BADGES: dict[str, Callable[[str], BadgeText]] = {
    CHANGES: lambda word: BadgeText(word, "warn", "alert"),
    OUTSIDE: lambda word: BadgeText(word, "warn", "alert"),
    UNREADABLE: lambda word: BadgeText(word, "block", "close-octagon", solid=True),
    NOT_FOUND: lambda word: BadgeText(word, "neutral", "minus-circle-outline"),
}


def diff_colors(colors: Colors) -> DiffColors:
    """The diff's colours in a theme."""
    return DiffColors(
        before=_pane(colors, remove=True),
        after=_pane(colors, remove=False),
    )


def _pane(colors: Colors, *, remove: bool) -> PaneColors:
    return PaneColors(
        line=colors.diff_remove if remove else colors.diff_add,
        word=colors.diff_remove_word if remove else colors.diff_add_word,
        gap=colors.alternate,
        fold=colors.neutral.tint,
        sign=colors.text,
        faint=colors.text2,
    )
