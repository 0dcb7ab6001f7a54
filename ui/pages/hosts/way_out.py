"""The way out: every host's file as it was before Toolcrib, after a question."""

from collections.abc import Sequence

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.core.text import plural
from ui.pages.hosts.session import HostsSession
from ui.widgets.message_bar import DONE, INFO, MessageBar
from ui.widgets.question import confirm


class WayOut(QObject):
    """Asks what would be lost, then restores all."""

    def __init__(self, desk: HostsSession, messages: MessageBar, over: QWidget) -> None:
        super().__init__(over)
        self._desk, self._messages, self._over = desk, messages, over

    def begin(self) -> None:
        """Look what restoring concerns, then ask."""
        self._desk.way_out(self._confirm)

    def _confirm(self, names: Sequence[str], lost: Sequence[str]) -> None:
        if not names:
            self._messages.show_message(INFO, "No host's file holds a write of Toolcrib.")
        elif self._agreed(names, lost):
            self._desk.restore_all(self._say)

    def _agreed(self, names: Sequence[str], lost: Sequence[str]) -> bool:
        """Ask, with sentences for the later changes that this would drop."""
        text = (
            f"{', '.join(names)}: back to the state before Toolcrib."
            " The present files are kept as copies."
        )
        return confirm(
            self._over,
            f"Put the files of {plural(len(names), 'host')} back?",
            "\n\n".join([text, *(f"Dropped by this: {sentence}" for sentence in lost)]),
            yes="Restore",
        )

    def _say(self, files: int) -> None:
        text = f"Restored {plural(files, 'file')}."
        self._messages.show_message(DONE, text)
        self._desk.show_status(text.rstrip("."))
