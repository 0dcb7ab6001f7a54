"""The choice to show every control at once; parts that few users need are hidden at first."""

from PySide6.QtCore import QObject, Signal

from app.core.context import AppContext


class Advanced(QObject):
    """Kept in the settings, off at first.

    Hidden are: profiles while there is one, the query set while it is empty, hooks, rules
    snippets and HTTP until they are used, and the settings of conversations and rules.

    Signals: changed() when it was switched.
    """

    changed = Signal()

    def __init__(self, ctx: AppContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ctx = ctx

    @property
    def on(self) -> bool:
        """True if everything is shown."""
        return self._ctx.settings.advanced

    def switch(self, *, on: bool) -> None:
        """Show everything, or only what is needed first. Raises ToolcribError."""
        if on != self.on:
            self._ctx.keep(advanced=on)
            self.changed.emit()
