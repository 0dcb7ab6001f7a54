"""What every page is given."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QUndoStack

from app.context import AppContext
from app.hosts.places import Places
from ui.models.live_catalog import LiveCatalog
from ui.tasks import Tasks
from ui.theme import Theme


@dataclass(frozen=True, slots=True)
class Services:
    """The window's shared parts; built once in ui.main and handed down."""

    ctx: AppContext
    places: Places
    tasks: Tasks
    theme: Theme
    undo: QUndoStack
    live: LiveCatalog
    say: Callable[[str], None]  # one sentence for the status bar, read out by screen readers
    go: Callable[[str], None]  # open the section of that key, see ui.windows.sections
