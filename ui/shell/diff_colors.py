"""Colours of differences."""

from ui.look.colors import Colors
from ui.widgets.diff_pane import PaneColors
from ui.widgets.diff_view import DiffColors


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
