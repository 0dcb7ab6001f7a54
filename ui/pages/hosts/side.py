"""The host list, and the way out below it."""

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import QListView, QPushButton, QWidget

from app.core.text import plural
from ui.look.theme import Theme
from ui.pages.hosts.cells import HostDelegate
from ui.pages.hosts.host_list import HostListModel
from ui.widgets.boxes import vbox
from ui.widgets.named import named


class HostsSide(QWidget):
    """The left side of the Hosts page."""

    def __init__(self, theme: Theme, model: HostListModel) -> None:
        super().__init__()
        self._model = model
        self.list = named(QListView(uniformItemSizes=True), "Hosts", name="hostList")
        self.list.setModel(model)
        self._cells = HostDelegate(theme, self.list)
        self.list.setItemDelegate(self._cells)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.fold = QPushButton()
        self.fold.setObjectName("foldHosts")
        self.fold.setCheckable(True)
        self.fold.setProperty("flat_link", True)
        self.fold.setToolTip("Applications that Toolcrib knows and that are not on this computer")
        self.fold.toggled.connect(self._on_fold)
        self.way_out = QPushButton("Restore all hosts…")
        self.way_out.setToolTip("Restore every host file to its state before Toolcrib")
        self.way_out.hide()
        vbox((self.list, 1), self.fold, self.way_out, inside=self)
        model.modelReset.connect(self._fit)
        model.modelReset.connect(self._show_fold)
        self._show_fold()
        theme.changed.connect(self._fit)

    def _fit(self) -> None:
        """No name is cut, whatever the text size."""
        names = self._cells.widest([row.host.name for row in self._model.rows])
        bar = self.list.verticalScrollBar().sizeHint().width()
        self.list.setMinimumWidth(names + bar + 2 * self.list.frameWidth())

    def _on_fold(self, on: bool) -> None:
        self._model.unfold(on)
        self._show_fold()

    def _show_fold(self) -> None:
        missing = self._model.missing
        verb = "Hide" if self.fold.isChecked() else "Show"
        self.fold.setText(f"{verb} {plural(missing, 'other host')}")
        self.fold.setVisible(missing > 0)

    def choose(self, host_id: str) -> None:
        """Make a host current; one that is not on this computer is unfolded."""
        row = self._model.row_of(host_id)
        if row >= self._model.rowCount():
            self.fold.setChecked(True)
        if row >= 0:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.list.selectionModel().setCurrentIndex(self._model.index(row), flags)
