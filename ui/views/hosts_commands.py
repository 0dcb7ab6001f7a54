"""Write config as an undo step: undo restores the file byte for byte."""

from PySide6.QtGui import QUndoCommand

from ui.views.hosts_desk import HostsDesk, Written


class WriteCommand(QUndoCommand):
    """A write that was made already; the first redo does nothing."""

    def __init__(self, written: Written, desk: HostsDesk) -> None:
        super().__init__(f"Write config of {written.plan.host.name}")
        self._plan, self._ids, self._desk = written.plan, written.ids, desk
        self._made = True

    def redo(self) -> None:
        """Write again, on top of what the file is by then."""
        if not self._made:
            self._desk.write_again(self._plan, self._keep)
        self._made = True

    def undo(self) -> None:
        """Take the write back; refused when the file changed since."""
        self._desk.undo(self._ids, lambda: None)
        self._made = False

    def _keep(self, ids: tuple[int, ...]) -> None:
        self._ids = ids
