"""Services that every page gets."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QUndoStack

from app.core.context import AppContext
from app.hosts.places import Places
from ui.look.theme import Theme
from ui.shell.advanced import Advanced
from ui.shell.host_in_view import HostInView
from ui.shell.live_catalog import LiveCatalog
from ui.shell.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Services:
    """The window's shared parts; built once in ui.main and handed down."""

    ctx: AppContext
    places: Places
    tasks: Tasks
    theme: Theme
    undo: QUndoStack
    live: LiveCatalog
    hosts: HostInView
    advanced: Advanced
    show_status: Callable[[str], None]  # a sentence, read out by screen readers
    open_page: Callable[[str], None]  # open the section of that key, see ui.windows.sections
    open_settings: Callable[[str], None]  # the settings with that tab in view: profile ... login
