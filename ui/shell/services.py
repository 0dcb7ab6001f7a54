"""Services that every page gets."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QGuiApplication, QUndoStack

from app.core.context import AppContext
from app.core.errors import ToolcribError
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

    def show_error(self, error: ToolcribError) -> None:
        """An error that needs no answer, as a sentence."""
        self.show_status(error.text)

    def copy(self, text: str, what: str) -> None:
        """Put a text on the clipboard, and say so."""
        QGuiApplication.clipboard().setText(text)
        self.show_status(f"Copied {what}")
