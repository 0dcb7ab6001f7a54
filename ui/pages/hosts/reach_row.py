"""Servers that a host reaches through Toolcrib: its own, and others added one by one by name."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialogButtonBox, QListWidget, QListWidgetItem, QWidget

from app.catalog.catalog import Catalog
from app.core.text import plural
from app.export.plan import Plan
from store.records import THROUGH
from ui.look.theme import CARD
from ui.widgets.boxes import STYLE, hbox, vbox
from ui.widgets.dialog import Dialog
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button


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
        self.words = ElidedLabel(name="hostReach")
        self.add = push_button("Servers of other hosts…", self._choose)
        self.add.setObjectName("addOtherServers")
        self.add.setToolTip("Choose servers of other hosts that this host also reaches")
        hbox((self.words, 1), self.add, inside=self, gap=CARD)
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
        dialog.accepted.connect(lambda: self.chosen.emit(dialog.names))
        dialog.open()


class OtherServers(Dialog):
    """The servers that a host does not have, each with a tick."""

    def __init__(
        self, host: str, names: Sequence[str], ticked: Sequence[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent, title="Servers of other hosts", name="otherServers")
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
        vbox(intro, self.list, self.buttons, inside=self, margins=STYLE)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are ticked."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return tuple(one.text() for one in items if one.checkState() == Qt.CheckState.Checked)
