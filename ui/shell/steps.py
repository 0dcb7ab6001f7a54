"""Undo steps made of two calls: one makes the change, the other takes it back."""

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from ui.shell.tasks import Tasks

Change = Callable[[Db], Changes]


class Step(QUndoCommand):
    """A step that calls `make` and `take_back`; with `made` its first redo has nothing to do."""

    def __init__(
        self,
        text: str,
        make: Callable[[], object],
        take_back: Callable[[], object],
        *,
        made: bool = False,
    ) -> None:
        super().__init__(text)
        self._make, self._take_back, self._made = make, take_back, made

    def redo(self) -> None:
        """Make the change."""
        if not self._made:
            self._make()
        self._made = False

    def undo(self) -> None:
        """Take it back."""
        self._take_back()


def store_step(
    tasks: Tasks,
    text: str,
    make: Change,
    take_back: Change,
    *,
    done: Callable[[Changes], None] | None = None,
    failed: Callable[[ToolcribError], None] | None = None,
    made: bool = False,
    keychain: bool = False,
) -> Step:
    """Return a step of two changes of the store; `done` is called after each.

    `keychain`: they read or keep secrets.
    """
    return Step(
        text,
        lambda: tasks.change(make, done, failed, keychain=keychain),
        lambda: tasks.change(take_back, done, failed, keychain=keychain),
        made=made,
    )
