"""The backups of a host: each with what restoring it would change."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QTreeView, QWidget

from app.core.text import plural
from app.export.backups import Backup
from ui.look.theme import ROW, Theme
from ui.pages.hosts.session import HostsSession, when
from ui.widgets.boxes import hbox, vbox
from ui.widgets.columns import Column
from ui.widgets.diff_rows import DiffRow, change_count
from ui.widgets.diff_view import DiffView
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.row_table import RowTable
from ui.widgets.rows import as_table

_COLUMNS: tuple[Column[Backup], ...] = (
    Column("Copied before the write of", lambda backup: when(backup.at), width=220),
    Column("File", lambda backup: str(backup.file)),
    Column("Size", lambda backup: f"{backup.size:,} bytes", width=110, right=True),
)


class BackupsSheet(QWidget):
    """Copies of a host's files, newest first; a difference is shown before any restore.

    Signals: closed; restored(Backup) once a copy is back in place.
    """

    closed = Signal()
    restored = Signal(object)

    def __init__(self, theme: Theme, desk: HostsSession) -> None:
        super().__init__()
        self._desk = desk
        self._title = theme.heading(PlainLabel(), 2)
        self.model: RowTable[Backup] = RowTable(_COLUMNS, self)
        self.list = as_table(named(QTreeView(), "Backups", name="backupTable"), self.model, theme)
        self.diff = DiffView(theme)
        self.diff.before.setObjectName("backupBefore")
        self.diff.after.setObjectName("backupAfter")
        self.summary = PlainLabel(look="faint")
        self.restore = push_button("Restore", self._restore, look="primary")
        close = push_button("Close", self.closed)
        self._lay_out(close)
        self.list.selectionModel().currentRowChanged.connect(lambda *_: self._compare())

    def show_backups(self, host: str, backups: Sequence[Backup]) -> None:
        """Show a host's copies."""
        self._title.setText(f"Backups of {host}")
        self.model.replace_rows(backups)
        self.list.setFixedHeight((min(len(backups), 6) + 2) * ROW)
        self.list.setCurrentIndex(self.model.index(0, 0))

    @property
    def current(self) -> Backup | None:
        """The copy chosen."""
        return self.model.row(self.list.currentIndex().row())

    def _compare(self) -> None:
        self.restore.setEnabled(False)  # until the difference is in view
        chosen = self.current
        if chosen is not None:
            self._desk.compare(chosen, lambda rows: self._show(chosen, rows))

    def _show(self, backup: Backup, rows: Sequence[DiffRow]) -> None:
        if backup is not self.current:
            return
        self.diff.show_rows(rows)
        changes = change_count(rows)
        self.restore.setEnabled(changes > 0)
        self.summary.setText(
            f"Restoring changes {plural(changes, 'place')}; the present file is kept as a copy."
            if changes
            else "The file is the same as this copy."
        )

    def _restore(self) -> None:
        backup = self.current
        if backup is not None:
            self._desk.restore(backup, lambda: self.restored.emit(backup))

    def _lay_out(self, close: QPushButton) -> None:
        foot = hbox((self.summary, 1), close, self.restore)
        vbox(self._title, self.list, (self.diff, 1), foot, inside=self)
