"""Undo steps of profiles. Ticks concern the profile in view, so showing one is a step too.

The profile changes at once, so that steps taken back one after the other concern the right one;
where the store refuses, the one before is shown again with the reason, and no step is left to take
back: it might concern another profile than the one in view.
"""

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from app.policy.profiles import DEFAULT, DeletedProfile, bring_back, create, forget, rename
from ui.shell.live_catalog import LiveCatalog
from ui.shell.tasks import Tasks


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


class _Kept(QUndoCommand):
    """A step that changes which profiles there are."""

    def __init__(self, tasks: Tasks, live: LiveCatalog, text: str) -> None:
        super().__init__(text)
        self._tasks, self._live = tasks, live
        self._before = live.profile

    def _change(self, change: Callable[[Db], None], *, show: str, back: str) -> None:
        """Make it and show that profile, or the one to go back to where it is refused."""

        def made(db: Db) -> Changes:
            change(db)
            return Changes(profile=True)

        def refused(error: ToolcribError) -> None:
            self._live.stay(back)
            self._tasks.failed.emit(error)

        self._tasks.change(made, failed=refused)
        self._live.show_profile(show)


class AddProfile(_Kept):
    """A new profile, a copy of the one in view, shown at once; `make` makes it."""

    def __init__(
        self,
        tasks: Tasks,
        live: LiveCatalog,
        name: str,
        make: Callable[[Db, str, str], Changes] = create,
    ) -> None:
        super().__init__(tasks, live, f"Add profile {name}")
        self._name, self._create = name, make
        self._ours = False  # whether we made it; known to the store thread only

    def redo(self) -> None:
        """Make it."""
        self._change(self._make, show=self._name, back=self._before)

    def undo(self) -> None:
        """Delete it, if it is ours."""
        self._change(self._delete, show=self._before, back=self._name)

    def _make(self, db: Db) -> None:
        if not self._ours:
            self._create(db, self._name, self._before)
            self._ours = True

    def _delete(self, db: Db) -> None:
        if self._ours:
            forget(db, self._name)
            self._ours = False


class RenameProfile(_Kept):
    """Another name for the profile in view."""

    def __init__(self, tasks: Tasks, live: LiveCatalog, name: str) -> None:
        super().__init__(tasks, live, f"Rename profile {live.profile} to {name}")
        self._name = name
        self._now = live.profile  # how it is called; known to the store thread only

    def redo(self) -> None:
        """Give it the new name."""
        self._change(self._to(self._name), show=self._name, back=self._before)

    def undo(self) -> None:
        """Give it the old name."""
        self._change(self._to(self._before), show=self._before, back=self._name)

    def _to(self, name: str) -> Callable[[Db], None]:
        def change(db: Db) -> None:
            if self._now != name:
                rename(db, self._now, name)
                self._now = name

        return change


class DeleteProfile(_Kept):
    """The profile in view is deleted, with its ticks and settings; undo brings all back."""

    def __init__(self, tasks: Tasks, live: LiveCatalog) -> None:
        super().__init__(tasks, live, f"Delete profile {live.profile}")
        self._kept: DeletedProfile | None = None  # known to the store thread only

    def redo(self) -> None:
        """Delete it."""
        self._change(self._delete, show=DEFAULT, back=self._before)

    def undo(self) -> None:
        """Bring it back."""
        self._change(self._bring_back, show=self._before, back=DEFAULT)

    def _delete(self, db: Db) -> None:
        if self._kept is None:
            self._kept = forget(db, self._before)

    def _bring_back(self, db: Db) -> None:
        if self._kept is not None:
            bring_back(db, self._kept)
            self._kept = None
