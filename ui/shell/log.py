"""The logs: Toolcrib's own and each server's; secrets are blotted out before they are written."""

from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import (
    QCheckBox,
    QPlainTextEdit,
    QWidget,
)

from app.core.logs import log_tail
from app.core.server_logs import server_log
from app.core.text import plural
from ui.shell.saving import choose_file, write_chosen
from ui.shell.services import Services
from ui.widgets.boxes import hbox
from ui.widgets.dialog import Dialog
from ui.widgets.elided import Choice
from ui.widgets.icon_field import IconField
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

OWN = ""  # the source that is Toolcrib's own log
_FOLLOW_MS = 1000


def show_log(parent: QWidget, services: Services, server: str = OWN) -> "LogDialog":
    """Open the newest lines of a log; the window can be used beside it."""
    dialog = LogDialog(services, parent)
    dialog.choose(server)
    dialog.show()
    return dialog


class LogDialog(Dialog):
    """One log at a time: filtered, followed, saved."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent, title="Log", name="log")
        self._services = services
        self._lines: list[str] = []
        self.fit(services.theme, 900, 560)
        catalog = services.live.catalog
        servers = sorted(s.name for s in catalog.servers) if catalog else []
        rows = [("Toolcrib", OWN), *zip(servers, servers, strict=True)]
        self.source = named(Choice(rows=rows), "Log of")
        self.filter = named(IconField(services.theme), "Filter")
        self.filter.setPlaceholderText("Show lines that contain…")
        self.follow = named(QCheckBox("&Follow"), tip="Show new lines as they come")
        self.follow.setChecked(True)
        self.where = PlainLabel(wrap=True, look="faint")
        self.view = named(QPlainTextEdit(readOnly=True), "Log, newest lines last")
        self.view.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.view.setTabChangesFocus(True)
        services.theme.dress_fixed(self.view)
        self.count = PlainLabel(wrap=True, look="faint")
        self._timer = QTimer(self, interval=_FOLLOW_MS)
        self._timer.timeout.connect(self.read)
        self._timer.start()
        self._lay_out()
        self.source.currentIndexChanged.connect(lambda _row: self.read())
        self.filter.textChanged.connect(lambda _text: self._show())
        self.follow.toggled.connect(self._set_following)

    @property
    def file(self) -> Path:
        """The file of the log shown."""
        logs = self._services.ctx.paths.logs
        server = str(self.source.currentData())
        return server_log(logs, server) if server else logs / "toolcrib.log"

    def choose(self, server: str) -> None:
        """Show a server's log, or Toolcrib's own."""
        self.source.setCurrentIndex(max(0, self.source.findData(server)))
        self.read()

    def read(self) -> None:
        """Read the lines that are on disk now."""
        lines = log_tail(self.file).splitlines()
        if lines != self._lines or not self.where.text().startswith(str(self.file)):
            self._lines = lines
            self._show()

    def _show(self) -> None:
        words = self.filter.text().casefold()
        rows = [line for line in self._lines if words in line.casefold()]
        place = self.view.verticalScrollBar().value()
        self.view.setPlainText("\n".join(rows))
        self.view.setPlaceholderText(self._nothing())
        self.where.setText(str(self.file))
        shown = f"{len(rows):,} of {plural(len(self._lines), 'line')}" if words else ""
        self.count.setText(shown or plural(len(self._lines), "line"))
        if self.follow.isChecked():
            self.view.moveCursor(QTextCursor.MoveOperation.End)
        else:
            self.view.verticalScrollBar().setValue(place)

    def _nothing(self) -> str:
        if self._lines:
            return "No line contains these words."
        if self.source.currentData():
            return "Nothing yet: a server's log is written each time its tools are read."
        return "Nothing was logged yet."

    def _set_following(self, on: bool) -> None:
        if on:
            self.read()
            self.view.moveCursor(QTextCursor.MoveOperation.End)
            self._timer.start()
        else:
            self._timer.stop()

    def _copy(self) -> None:
        self._services.copy(self.view.toPlainText(), "the lines shown")

    def _save(self) -> None:
        start = self._services.places.home / self.file.name
        choose_file(self, "Save log", start, "Text (*.log *.txt)", self._write)

    def _write(self, path: Path) -> None:
        write_chosen(self._services, path, f"{self.view.toPlainText()}\n", "Log")

    def _lay_out(self) -> None:
        copy = push_button("Copy", self._copy)
        save = push_button("Save…", self._save)
        top = hbox(self.source, (self.filter, 1), self.follow)
        foot = hbox((self.count, 1), self.close_box(copy, save))
        self.lay_out(top, self.where, (self.view, 1), foot)
