"""The choice of a URL instead of a command, below the modes: shown where both are possible."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from app.host_status.status import HostStatus
from store.records import THROUGH
from ui.look.theme import CARD
from ui.widgets.boxes import STRETCH, hbox
from ui.widgets.push_button import push_button

_OWN = "Over &HTTP: a URL instead of a command"
_OF_TEAM = "The team gateway's &URL instead of a command; needs the network"


class HttpRow(QWidget):
    """Choice to write the one entry for all servers as a URL.

    Signals: chosen() by the user.
    """

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.possible = False  # whether this system can have the endpoint at all
        self.of_team = False  # whether the URL would be the team gateway's
        self.at_login = False  # whether the backend starts with the login already
        self._writable = ""  # id of a host that takes a URL
        self.box = QCheckBox(_OWN)
        self.box.setObjectName("overHttp")
        self.login = push_button("Start with your login…")
        self.login.setToolTip("Open Settings, Login: a host cannot start Toolcrib over HTTP")
        hbox(self.box, self.login, STRETCH, inside=self, gap=CARD)
        self.box.clicked.connect(self.chosen)
        self.hide()

    @property
    def on(self) -> bool:
        """True if a URL is to be written."""
        return not self.isHidden() and self.box.isChecked()

    def choose(self, *, on: bool) -> None:
        """As if the user had chosen it, without the signal."""
        self.box.setChecked(on)

    def show_for(self, status: HostStatus, mode: str, *, every: bool) -> None:
        """Follow the host and its mode; `every`: also where it is not used yet."""
        able = bool(status.host.http) and status.host.writable and (self.possible or self.of_team)
        used = self.box.isChecked() and (status.http or able)
        self.box.setText(_OF_TEAM if self.of_team else _OWN)
        self.setVisible(mode == THROUGH and (used or (able and (every or self.of_team))))
        self.login.setVisible(self.on and not self.at_login and not self.of_team)
