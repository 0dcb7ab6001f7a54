"""Servers that a host reaches through Toolcrib: its own, and others added one by one by name."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from app.catalog.catalog import Catalog
from app.core.text import plural
from app.export.plan import Plan
from store.records import THROUGH
from ui.look.theme import CARD
from ui.widgets.boxes import hbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

_WIDTH = 400  # px, for the title as well


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
        self.add = push_button(
            "Servers of other hosts…",
            self._choose,
            name="addOtherServers",
            tip="Choose servers of other hosts that this host also reaches",
        )
        hbox((self.words, 1), self.add, inside=self, gap=CARD)
        self.hide()

    def show_plan(self, plan: Plan, catalog: Catalog) -> None:
        """Follow a preview; hidden in other modes."""
        own = {*plan.own, *plan.unread}
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


class OtherServers(FormDialog):
    """The servers that a host does not have, each with a tick."""

    def __init__(
        self, host: str, names: Sequence[str], ticked: Sequence[str], parent: QWidget | None = None
    ) -> None:
        super().__init__("Servers of other hosts", "Use these", parent, name="otherServers")
        words = f"{host} reaches its own servers. Tick those that its model is to reach as well."
        self.list = named(QListWidget(), "Servers of other hosts")
        self.list.setMinimumWidth(_WIDTH)
        for name in names:
            item = QListWidgetItem(name, self.list)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            on = Qt.CheckState.Checked if name in ticked else Qt.CheckState.Unchecked
            item.setCheckState(on)
        if names:
            self.list.setCurrentRow(0)
        self.lay_out(PlainLabel(words, wrap=True), self.list)
        self.list.setFocus()

    def press(self) -> None:
        """Take the ticks as they are."""
        self.accept()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are ticked."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return tuple(one.text() for one in items if one.checkState() == Qt.CheckState.Checked)
