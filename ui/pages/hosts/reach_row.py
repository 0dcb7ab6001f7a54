"""Servers that a host reaches through Toolcrib: its own, and others added one by one by name."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.catalog.catalog import Catalog
from app.core.text import plural
from app.export.plan import Plan
from store.records import THROUGH
from ui.look.theme import CARD, GAP
from ui.widgets.dialog import Dialog
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel


class ReachRow(QWidget):
    """The servers behind the one entry, and the button that adds some of other hosts.

    Signals: chosen(tuple of names) when the user added or removed servers of other hosts.
    """

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._host = ""
        self._also: tuple[str, ...] = ()
        self._others: tuple[str, ...] = ()
        self.words = ElidedLabel()
        self.words.setObjectName("hostReach")
        self.add = QPushButton("Servers of other hosts…")
        self.add.setObjectName("addOtherServers")
        self.add.setToolTip("Choose servers of other hosts that this host also reaches")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(CARD)
        row.addWidget(self.words, 1)
        row.addWidget(self.add)
        self.add.clicked.connect(self._choose)
        self.hide()

    def show_plan(self, plan: Plan, catalog: Catalog) -> None:
        """Follow a preview; hidden in other modes."""
        own = set(plan.own)
        self._host, self._also = plan.host.name, plan.also
        self._others = tuple(
            server.name
            for server in catalog.servers
            if server.trusted and server.name not in own and not server.disabled
        )
        names = ", ".join(plan.behind)
        words = f"Reaches {plural(len(plan.behind), 'server')}: {names}" if names else ""
        self.words.setText(words or "Reaches no server yet")
        self.add.setEnabled(bool(self._others))
        self.add.setVisible(not plan.of_team)
        self.setVisible(plan.mode == THROUGH and plan.host.writable)

    def _choose(self) -> None:
        dialog = OtherServers(self._host, self._others, self._also, self.window())
        dialog.finished.connect(dialog.deleteLater)
        dialog.accepted.connect(lambda: self.chosen.emit(dialog.names))
        dialog.open()


class OtherServers(Dialog):
    """The servers that a host does not have, each with a tick."""

    def __init__(
        self, host: str, names: Sequence[str], ticked: Sequence[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("otherServers")
        self.setWindowTitle("Servers of other hosts")
        intro = PlainLabel(
            f"{host} reaches its own servers. Tick those that its model is to reach as well.",
            wrap=True,
        )
        self.list = QListWidget()
        self.list.setAccessibleName("Servers of other hosts")
        for name in names:
            item = QListWidgetItem(name, self.list)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            on = Qt.CheckState.Checked if name in ticked else Qt.CheckState.Unchecked
            item.setCheckState(on)
        if names:
            self.list.setCurrentRow(0)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.submit_with(self.buttons.button(QDialogButtonBox.StandardButton.Ok))
        column = QVBoxLayout(self)
        column.setSpacing(GAP)
        for widget in (intro, self.list, self.buttons):
            column.addWidget(widget)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are ticked."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return tuple(one.text() for one in items if one.checkState() == Qt.CheckState.Checked)
