"""Actions of the window for menus, the palette and the toolbar."""

from collections.abc import Callable
from dataclasses import dataclass

from ui.pages.catalog.page import CatalogPage
from ui.shell.page import Page


@dataclass(frozen=True, slots=True)
class WindowActions:
    """The window's commands, handed to its parts so that none of them knows the window."""

    open_page: Callable[[str], None]  # the section of that key, see ui.windows.sections
    page: Callable[[], Page]  # the one in view
    catalog: Callable[[], CatalogPage]  # opens it
    import_queries: Callable[[], None]
    restore_hosts: Callable[[], None]  # asks before anything is put back
    travel: Callable[[int], None]  # -1: the section before, 1: the one after
    cycle: Callable[[int], None]  # the next pane (1), the one before (-1)
    find: Callable[[], None]  # opens the palette
    close: Callable[[], object]
