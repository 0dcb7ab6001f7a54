"""Undo steps of profiles. Ticks concern the profile in view, so showing one is a step too."""

from PySide6.QtGui import QUndoCommand

from app.changes import Changes
from app.context import Db
from app.profiles import DEFAULT, Forgotten, bring_back, create, forget, rename
from ui.models.live_catalog import LiveCatalog
from ui.tasks import Tasks


class ShowProfile(QUndoCommand):
    """Another profile in view."""

    def __init__(self, live: LiveCatalog, name: str) -> None:
        super().__init__(f"Switch to profile {name}")
        self._live, self._name, self._before = live, name, live.profile

    def redo(self) -> None:
        """Show it."""
        self._live.show_profile(self._name)

    def undo(self) -> None:
        """Show the one before."""
        self._live.show_profile(self._before)


class AddProfile(QUndoCommand):
    """A new profile, a copy of the one in view, shown at once."""

    def __init__(self, tasks: Tasks, live: LiveCatalog, name: str) -> None:
        super().__init__(f"Add profile {name}")
        self._tasks, self._live = tasks, live
        self._name, self._before = name, live.profile

    def redo(self) -> None:
        """Make it."""
        name, before = self._name, self._before
        self._tasks.change(lambda db: create(db, name, copy_of=before))
        self._live.show_profile(name)

    def undo(self) -> None:
        """Delete it."""
        name = self._name
        self._live.show_profile(self._before)
        self._tasks.change(lambda db: _forgotten(db, name))


class RenameProfile(QUndoCommand):
    """Another name for the profile in view."""

    def __init__(self, tasks: Tasks, live: LiveCatalog, name: str) -> None:
        super().__init__(f"Rename profile {live.profile} to {name}")
        self._tasks, self._live = tasks, live
        self._name, self._before = name, live.profile

    def redo(self) -> None:
        """Give it the new name."""
        self._rename(self._before, self._name)

    def undo(self) -> None:
        """Give it the old name."""
        self._rename(self._name, self._before)

    def _rename(self, old: str, new: str) -> None:
        self._tasks.change(lambda db: rename(db, old, new))
        self._live.show_profile(new)


class DeleteProfile(QUndoCommand):
    """The profile in view is deleted, with its ticks and settings; undo brings all back."""

    def __init__(self, tasks: Tasks, live: LiveCatalog) -> None:
        super().__init__(f"Delete profile {live.profile}")
        self._tasks, self._live, self._name = tasks, live, live.profile
        self._kept: list[Forgotten] = []  # filled and emptied on the store thread only

    def redo(self) -> None:
        """Delete it."""
        name, kept = self._name, self._kept

        def delete(db: Db) -> Changes:
            kept[:] = [forget(db, name)]
            return Changes(profile=True)

        self._live.show_profile(DEFAULT)
        self._tasks.change(delete)

    def undo(self) -> None:
        """Bring it back."""
        kept = self._kept
        self._tasks.change(lambda db: bring_back(db, kept[0]))
        self._live.show_profile(self._name)


def _forgotten(db: Db, name: str) -> Changes:
    forget(db, name)
    return Changes(profile=True)
