"""Undoable changes, each with a name that says what it does."""

import time
from collections.abc import Callable, Sequence

from PySide6.QtGui import QUndoCommand, QUndoStack

from app.catalog.catalog import CatalogTool
from app.core.settings import ProfileSettings, changed_parts
from app.core.text import plural
from ui.look.text import APPROX
from ui.shell.live_catalog import LiveCatalog

MERGE_SECONDS = 2.0  # neighbouring steps on the same thing become one
_TICK, _SETTINGS = 1, 2  # QUndoCommand.id: Qt merges commands of the same id only
_PAST = {
    "Turn": "Turned",
    "Pin": "Pinned",
    "Unpin": "Unpinned",
    "Write": "Wrote",
    "Add": "Added",
    "Edit": "Edited",
    "Delete": "Deleted",
    "Import": "Imported",
    "Label": "Labelled",
    "Unlabel": "Unlabelled",
    "Learn": "Learned",
    "Forget": "Forgot",
    "Approve": "Approved",
    "Hold": "Held",
    "Split": "Split",
    "Switch": "Switched",
    "Rename": "Renamed",
    "Remove": "Removed",
    "Disable": "Disabled",
    "Enable": "Enabled",
}


def turn_off_words(tools: Sequence[CatalogTool]) -> str:
    """Label of a button that turns these tools off."""
    if not tools:
        return "Turn off"
    frees = sum(tool.cost for tool in tools)
    return f"Turn off {plural(len(tools), 'tool')}, frees {frees:,} {APPROX}"


class LateCommand(QUndoCommand):
    """A change that was made already; what comes of making it again or taking it back is known
    later, and the step says so itself."""

    quiet = False  # whether the window keeps silent about the step just made or taken back
    _pushed = False
    _following = False  # the stack is moved to where things are

    def again(self) -> None:
        """Make the change again."""
        raise NotImplementedError

    def take_back(self) -> None:
        """Take the change back."""
        raise NotImplementedError

    def redo(self) -> None:
        """Make it again; nothing the first time, when it is pushed."""
        if self._pushed:
            self._go(self.again)
        self._pushed = True

    def undo(self) -> None:
        """Take it back."""
        self._go(self.take_back)

    def _go(self, change: Callable[[], None]) -> None:
        self.quiet = True
        if not self._following:
            change()

    def follow(self, stack: QUndoStack, *, done: bool) -> None:
        """Move the stack to where things are, if no other step came between."""
        at = stack.index() if done else stack.index() - 1
        if at >= 0 and stack.command(at) is self:
            self._following = True
            try:
                (stack.redo if done else stack.undo)()
            finally:
                self._following = False


class Tick(QUndoCommand):
    """Turn tools on or off; the same tools ticked twice within two seconds are one step."""

    def __init__(self, live: LiveCatalog, tools: Sequence[CatalogTool], on: bool) -> None:
        super().__init__(f"Turn {'on' if on else 'off'} {name_tools(tools)}")
        self._live = live
        self._on = on
        self._changed = [t.tool.id for t in tools if t.on != on]
        self._at = time.monotonic()

    def redo(self) -> None:
        """Apply."""
        self._live.set_on(self._changed, self._on)

    def undo(self) -> None:
        """Take back, only for the tools that this step changed."""
        self._live.set_on(self._changed, not self._on)

    def id(self) -> int:
        """Lets the stack merge ticks."""
        return _TICK

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Ticking the same tools back at once leaves no step behind."""
        if not isinstance(other, Tick) or other._at - self._at > MERGE_SECONDS:
            return False
        if other._changed != self._changed or other._on == self._on:
            return False
        self.setObsolete(True)
        return True


class Pin(QUndoCommand):
    """Pin or unpin tools: pinned ones are always shown to the model."""

    def __init__(self, live: LiveCatalog, tools: Sequence[CatalogTool], pinned: bool) -> None:
        super().__init__(f"{'Pin' if pinned else 'Unpin'} {name_tools(tools)}")
        self._live = live
        self._pinned = pinned
        self._changed = [t.tool.id for t in tools if t.pinned != pinned]

    def redo(self) -> None:
        """Apply."""
        self._live.set_pinned(self._changed, self._pinned)

    def undo(self) -> None:
        """Take back."""
        self._live.set_pinned(self._changed, not self._pinned)


class SettingsCommand(QUndoCommand):
    """Other settings for the profile; only those that differ are changed, here and by undo."""

    def __init__(
        self, live: LiveCatalog, old: ProfileSettings, new: ProfileSettings, text: str
    ) -> None:
        super().__init__(text)
        self._live = live
        self._old, self._new = changed_parts(new, old), changed_parts(old, new)
        self._at = time.monotonic()

    def id(self) -> int:
        """The same for all commands of this kind."""
        return _SETTINGS

    def redo(self) -> None:
        """Use the new settings."""
        self._live.change_settings(self._new)

    def undo(self) -> None:
        """Use the old settings."""
        self._live.change_settings(self._old)

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take in a later step on the same settings if it follows at once."""
        if not isinstance(other, SettingsCommand) or other._at - self._at > MERGE_SECONDS:
            return False
        if self._new.keys() != other._new.keys():
            return False
        self._new, self._at = other._new, other._at
        self.setText(other.text())
        self.setObsolete(self._new == self._old)
        return True


def name_tools(tools: Sequence[CatalogTool]) -> str:
    """`search_code`, `12 tools in github` or `12 tools in 3 servers`."""
    if len(tools) == 1:
        return tools[0].tool.name
    servers = list(dict.fromkeys(t.server.name for t in tools))
    where = servers[0] if len(servers) == 1 else plural(len(servers), "server")
    return f"{plural(len(tools), 'tool')} in {where}"


def past(text: str) -> str:
    """Name of a step in the past: Turn off x -> Turned off x."""
    verb, _, rest = text.partition(" ")
    return f"{_PAST.get(verb, verb)} {rest}".strip()
