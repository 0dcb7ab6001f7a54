"""Choosing a project whose own files name servers: one that hosts know, or any folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog, QListWidget, QListWidgetItem, QWidget

from ui.look.text import plain_tip, visible, with_tilde
from ui.shell.services import Services
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

if TYPE_CHECKING:
    from app.hosts.projects import KnownProject

_SOME = "These folders are known to your hosts, and have server files of their own."
_NONE = "No folder that your hosts know has a server file of its own. Choose one yourself."


class ProjectDialog(FormDialog):
    """The list of known projects.

    Signals: chosen(Path).
    """

    chosen = Signal(object)

    def __init__(
        self, services: Services, known: "Sequence[KnownProject]", parent: QWidget | None = None
    ) -> None:
        super().__init__("Open a project", "Open", parent, name="projectDialog")
        self._home = services.places.home
        self.list = QListWidget()
        self.list.setAccessibleName("Projects that your hosts know")
        self.list.setWordWrap(True)
        self.list.setMinimumWidth(self.fontMetrics().averageCharWidth() * 76)
        for project in known:
            self._add(project)
        self.list.setVisible(bool(known))
        self.list.setCurrentRow(0)
        self.list.itemActivated.connect(lambda _item: self.press())
        self.other = push_button("Another folder…", self._choose_folder)
        self.buttons.addButton(self.other, QDialogButtonBox.ButtonRole.ActionRole)
        self.save.setVisible(bool(known))
        self.lay_out(PlainLabel(_SOME if known else _NONE, wrap=True, look="faint"), self.list)
        (self.list if known else self.other).setFocus()

    def press(self) -> None:
        """Give the folder of the current row."""
        item = self.list.currentItem()
        if item is not None:
            self._give(Path(item.data(Qt.ItemDataRole.UserRole)))

    def _add(self, project: "KnownProject") -> None:
        place = with_tilde(project.folder, self._home)
        files = ", ".join(str(file.relative_to(project.folder)) for file in project.files)
        item = QListWidgetItem(visible(f"{place}\n{', '.join(project.hosts)} · {files}"))
        item.setToolTip(plain_tip(str(project.folder)))
        item.setData(Qt.ItemDataRole.UserRole, str(project.folder))
        self.list.addItem(item)

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self, "Open a project", str(self._home))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: self._give(Path(name)))
        dialog.open()

    def _give(self, folder: Path) -> None:
        self.chosen.emit(folder)
        self.accept()
