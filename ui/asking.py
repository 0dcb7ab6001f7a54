"""One question to the store at a time; what is asked meanwhile is asked once more at the end."""

from collections.abc import Callable
from typing import Any

from app.context import Db
from app.errors import ToolcribError
from ui.tasks import Tasks


class Asking:
    """Asks for the same thing again and again; `again` is called when an answer came too early."""

    def __init__(
        self, tasks: Tasks, again: Callable[[], None], failed: Callable[[ToolcribError], None]
    ) -> None:
        self._tasks = tasks
        self._again = again
        self._failed = failed
        self._busy = False
        self._late = False

    def ask(self, fn: Callable[[Db], Any], done: Callable[[Any], None]) -> None:
        """Run fn(db) on the store thread, then done(result); not while an answer is awaited."""
        if self._busy:
            self._late = True
            return
        self._busy = True

        def answered(found: Any) -> None:
            done(found)
            self._end()

        self._tasks.ask(fn, answered, self._on_failed)

    def _on_failed(self, error: ToolcribError) -> None:
        self._end()
        self._failed(error)

    def _end(self) -> None:
        self._busy = False
        if self._late:
            self._late = False
            self._again()
