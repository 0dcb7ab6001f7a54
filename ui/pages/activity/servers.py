"""The servers that run behind hosts now: whose they are, what they take, how they are shared."""

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QTreeView, QWidget

from app.core.text import plural
from app.gateway.backend.client import request
from app.gateway.backend.overview import Overview, RunningServer, overview
from app.gateway.backend.rendezvous import STOP, STOP_SERVER, Place
from app.gateway.sharing import PER_HOST, PER_SESSION, SHARED, Sharing
from app.gateway.stored_sharing import choose_sharing, every_sharing
from store.typed import Json
from ui.look.text import count
from ui.pages.activity.figures import Figures
from ui.shell.services import Services
from ui.shell.steps import store_step
from ui.shell.tasks import Job
from ui.widgets.boxes import boxed, hbox, stacked, vbox
from ui.widgets.columns import Column
from ui.widgets.elided import Choice, ElidedLabel
from ui.widgets.empty_state import EmptyState
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.row_table import RowTable
from ui.widgets.rows import as_table

PERIOD = 2000  # milliseconds between two looks at the backend while the tab is in view
_CARDS = (
    ("sessions", "Hosts' sessions that the one process behind all hosts serves."),
    ("servers", "Servers that run for them now."),
    (
        "MB in all",
        "Memory of that process and of its servers; on Linux, pages in common count once.",
    ),
    ("MB saved ≈", "Memory saved by sharing: what separate servers would take."),
)
_NONE = "No backend runs"
_NONE_HINT = (
    "The first host that goes through Toolcrib starts the process that all hosts share,"
    " and the servers that run for them appear here."
)
_STOPPED = "The shared process ends. The next call of a host starts it again."
AUTO = ""  # Toolcrib's own decision
TITLES = {
    AUTO: "Toolcrib decides",
    SHARED: "One for all hosts",
    PER_HOST: "One per host",
    PER_SESSION: "One per session",
}
_STATES = {
    "configured": "not started",
    "known": "not running",
    "starting": "starts",
    "started": "runs",
    "failed": "failed",
    "disabled": "disabled",  # in Toolcrib, so no call starts it
}


def _megabytes(value: float) -> str:
    return f"{value:,.0f}" if value else ""


def _sharing(row: RunningServer) -> str:
    return TITLES[row.sharing.choice] if row.sharing else ""


COLUMNS: tuple[Column[RunningServer], ...] = (
    Column("Server", lambda r: r.name),
    Column("For", lambda r: r.users, width=190),
    Column("State", lambda r: _STATES.get(r.state, r.state), width=90),
    Column("Sharing", _sharing, width=160),
    Column("Calls", lambda r: count(r.calls), width=70, right=True),
    Column("Processes", lambda r: str(r.processes or ""), width=90, right=True),
    Column("MB", lambda r: _megabytes(r.megabytes), width=70, right=True),
)


class ServersTab(QWidget):
    """Figures above, servers below, with what can be done to the one selected.

    Signals: result(text) for the status bar; failed(ToolcribError).
    """

    result = Signal(str)
    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._waiting = False
        self.model: RowTable[RunningServer] = RowTable(COLUMNS, self)
        self.figures = Figures(services.theme, _CARDS)
        view = named(QTreeView(), "Servers that run for hosts", name="serversTable")
        self.view = as_table(view, self.model, services.theme)
        rows = [(title, choice) for choice, title in TITLES.items()]
        self.sharing = named(Choice(rows=rows), "How hosts share the selected server")
        self.sharing.setToolTip("Applies to sessions that start later")
        self.why = ElidedLabel()
        self.stop = push_button("Stop server", self._stop_server)
        self.stop.setToolTip("Calls that are running fail. The next call starts the server again")
        self.stop_all = push_button("Stop all", lambda: self._send(_STOPPED, STOP))
        self.stop_all.setToolTip(
            "Ends the shared process and its servers. The next call of a host starts it again"
        )
        self.empty = EmptyState(services.theme, icon="pulse", text=_NONE, hint=_NONE_HINT)
        self._lay_out()
        self._timer = QTimer(self, interval=PERIOD)
        self._timer.timeout.connect(self.refresh)
        self.sharing.activated.connect(self._choose)
        self.view.selectionModel().currentChanged.connect(lambda *_: self._on_selected())
        self._on_selected()

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the backend while in view."""
        super().showEvent(event)
        self.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop the updates while the tab is hidden."""
        self._timer.stop()
        super().hideEvent(event)

    def refresh(self) -> None:
        """Ask the backend again, unless an answer is still to come."""
        if self._waiting:
            return
        self._waiting = True

        def request_overview(decisions: Mapping[str, Sharing]) -> None:
            place = Place(str(self._services.ctx.paths.home))
            self._services.tasks.wait(
                lambda _job: overview(place, decisions), self._show, failed=self._on_failed
            )

        self._services.tasks.request(every_sharing, request_overview, self._on_failed)

    def _show(self, seen: Overview | None) -> None:
        self._waiting = False
        self._stack.setCurrentIndex(0 if seen else 1)
        selected = self._selected()
        self.model.replace_rows(tuple(map(self._stated, seen.servers)) if seen else ())
        if seen is not None:
            running = [row for row in seen.servers if row.processes]
            memory = seen.megabytes + sum(row.megabytes for row in seen.servers)
            saved = sum(row.saved for row in seen.servers)
            values = (seen.sessions, len(running), round(memory), round(saved))
            self.figures.show_values([count(value) for value in values])
            if self.isVisible():
                self.result.emit(f"{plural(len(running), 'server')} for {_sessions(seen)}")
        if selected is not None:
            self._select(selected)
        self._on_selected()

    def _stated(self, row: RunningServer) -> RunningServer:
        """The row, with what the user decided where nothing runs."""
        catalog = self._services.live.catalog
        server = catalog.server(row.name) if catalog is not None and not row.processes else None
        return replace(row, state="disabled") if server is not None and server.disabled else row

    def _on_failed(self, error: Exception) -> None:
        self._waiting = False
        self._timer.stop()
        self.failed.emit(error)

    # ---- the selected server

    def _selected(self) -> RunningServer | None:
        return self.model.row(self.view.currentIndex().row())

    def _select(self, old: RunningServer) -> None:
        for number, row in enumerate(self.model.rows):
            if (row.name, row.session) == (old.name, old.session):
                self.view.setCurrentIndex(self.model.index(number, 0))
                return

    def _on_selected(self) -> None:
        row = self._selected()
        self.stop.setEnabled(row is not None and row.processes > 0)
        known = row is not None and row.sharing is not None
        self.sharing.setEnabled(known)
        if row is not None and row.sharing is not None:
            choice = row.sharing.choice if row.sharing.by_user else AUTO
            self.sharing.setCurrentIndex(self.sharing.findData(choice))
        self.why.setText(row.sharing.reason if row is not None and row.sharing else "")

    def _choose(self, number: int) -> None:
        row = self._selected()
        if row is None or row.sharing is None:
            return
        old = row.sharing.choice if row.sharing.by_user else AUTO
        new = self.sharing.itemData(number)
        if new != old:
            name = row.name
            step = store_step(
                self._services.tasks,
                f"Switch {name} to “{TITLES[new].lower()}”",
                lambda db: choose_sharing(db, name, new),
                lambda db: choose_sharing(db, name, old),
            )
            self._services.undo.push(step)
            self.refresh()

    def _stop_server(self) -> None:
        row = self._selected()
        if row is not None:
            self._send(f"{row.name} has ended; its next call starts it again.", STOP_SERVER, row)

    def _send(self, text: str, verb: str, row: RunningServer | None = None) -> None:
        words = (row.name, str(row.session)) if row else ()
        place = Place(str(self._services.ctx.paths.home))

        def send(_job: Job) -> Json | None:
            return request(place, verb, *words)

        def done(_answer: Json | None) -> None:
            self._services.show_status(text)
            self.refresh()

        self._services.tasks.wait(send, done, failed=self.failed.emit)

    # ---- the parts

    def _lay_out(self) -> None:
        label = PlainLabel("S&haring", buddy=self.sharing)
        row = hbox(label, self.sharing, (self.why, 1), self.stop, self.stop_all)
        shown = boxed(vbox(row, self.figures, (self.view, 1)))
        self._stack = stacked(shown, self.empty)
        self._stack.setCurrentIndex(1)
        vbox(self._stack, inside=self)


def _sessions(seen: Overview) -> str:
    return plural(seen.sessions, "session")
