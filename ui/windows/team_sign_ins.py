"""A member's own sign-ins at servers of the team: the state of each, and what can be done."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QGridLayout, QPushButton, QWidget

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from ui.look.theme import BUTTON, GAP, MARGIN, set_look
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import scrolled, vbox
from ui.widgets.label import PlainLabel

_TITLE = "Servers where each member signs in"
_ASKING = "Asking the team server…"
_BEGINNING = "Asking for its sign-in page…"
_GO_ON = "Sign in on the page that was opened in your browser."
_COPIED = "No browser was opened. The page's address was copied: paste it into one."
_CANCELLED = "Not signed in: you cancelled it."
_STATES = {
    "signed in": "Signed in",
    "stored": "Your token is stored",
    "ended": "Your sign-in has ended",
    "missing": "Not signed in",
}
_GONE = "The team does not share it any more"
_IN, _AGAIN, _OUT, _CANCEL = "Sign in", "Sign in again", "Sign out", "Cancel"
_SHOWN = 4.5  # rows that are seen at once: the half one says that there are more


class TeamSignIns(QWidget):
    """One row a server; one sign-in at a time.

    Signals: waiting(bool) while one is under way.
    """

    waiting = Signal(bool)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._job: Job | None = None
        self._states: Mapping[str, str] = {}
        self.rows: dict[str, _Row] = {}
        title = PlainLabel(_TITLE, look="faint")
        inside = QWidget()
        self._grid = QGridLayout(inside)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GAP)
        self._grid.setColumnStretch(1, 1)
        self._area = scrolled(inside, sideways=False)
        vbox(title, self._area, inside=self, margins=(0, MARGIN, 0, 0))
        self.hide()

    def show_servers(self, names: Sequence[str]) -> None:
        """The servers; their states are asked for."""
        self.setVisible(bool(names))
        if list(names) != list(self.rows):
            self._fill(names)
        if names and self._job is None:
            self._read_states()

    def cancel(self) -> None:
        """Give up the sign-in that is under way."""
        if self._job is not None:
            self._job.cancel()

    def _fill(self, names: Sequence[str]) -> None:
        for row in self.rows.values():
            for widget in (row.name, row.state, row.button):
                widget.deleteLater()
        self.rows = {name: self._row(place, name) for place, name in enumerate(names)}
        height = self._services.theme.scaled(BUTTON) + GAP
        self._area.setFixedHeight(int(min(len(names), _SHOWN) * height))

    def _row(self, place: int, name: str) -> "_Row":
        row = _Row(PlainLabel(visible(name)), PlainLabel(_ASKING, wrap=True), QPushButton(_IN))
        row.button.clicked.connect(lambda: self._press(name))
        row.button.setEnabled(False)
        for column, widget in enumerate((row.name, row.state, row.button)):
            self._grid.addWidget(widget, place, column)
        return row

    # ---- the states

    def _read_states(self) -> None:
        ctx = self._services.ctx
        self._services.tasks.wait(
            lambda _job: _states_of(ctx), self._show, failed=self._show_error, owner=self
        )

    def _show(self, states: Mapping[str, str]) -> None:
        self._states = states
        for name in self.rows:
            self._say(name, _STATES.get(states.get(name, ""), _GONE))
        self._show_buttons()

    def _show_error(self, error: ToolcribError) -> None:
        for name in self.rows:
            self._say(name, error.title, wrong=True)

    def _say(self, name: str, text: str, *, wrong: bool = False) -> None:
        state = self.rows[name].state
        state.setText(visible(text))
        set_look(state, "wrong", wrong or self._states.get(name) == "ended")

    def _show_buttons(self, busy: str = "") -> None:
        for name, row in self.rows.items():
            state = self._states.get(name, "")
            text = _OUT if state in ("signed in", "stored") else _AGAIN if state == "ended" else _IN
            row.button.setText(_CANCEL if name == busy else text)
            row.button.setAccessibleName(f"{row.button.text()}: {visible(name)}")
            row.button.setEnabled(name == busy or (not busy and bool(state)))

    # ---- what can be done

    def _press(self, name: str) -> None:
        if self._job is not None:
            self.cancel()
        elif self.rows[name].button.text() == _OUT:
            self._start(name, _signed_out, "Signing out…")
        else:
            self._start(name, _signed_in, _BEGINNING)

    def _start(self, name: str, work: "Callable[[AppContext, str, Job], _Done]", text: str) -> None:
        ctx = self._services.ctx
        self._say(name, text)
        self._job = self._services.tasks.wait(
            lambda job: work(ctx, name, job),
            lambda done: self._ended(name, done),
            failed=lambda error: self._failed(name, error),
            progress=lambda page: self._open(name, page),
            owner=self,
        )
        self._show_buttons(name)
        self.waiting.emit(True)

    def _open(self, name: str, page: str) -> None:
        opened = QDesktopServices.openUrl(QUrl(page))
        if not opened:
            QGuiApplication.clipboard().setText(page)
        self._say(name, _GO_ON if opened else _COPIED)

    def _ended(self, name: str, done: "_Done") -> None:
        self._job = None
        self._show(done.states)
        self._services.show_status(done.sentence.format(visible(name)))
        self.waiting.emit(False)

    def _failed(self, name: str, error: ToolcribError) -> None:
        from app.team.own_sign_in import CancelledError  # as the work below

        self._job = None
        cancelled = isinstance(error, CancelledError)
        text = _CANCELLED if cancelled else error.text
        self._say(name, text, wrong=not cancelled)
        self._show_buttons()
        self.waiting.emit(False)


@dataclass(frozen=True, slots=True)
class _Row:
    name: PlainLabel
    state: PlainLabel
    button: QPushButton


@dataclass(frozen=True, slots=True)
class _Done:
    sentence: str  # with room for the server's name
    states: Mapping[str, str]


def _states_of(ctx: AppContext) -> Mapping[str, str]:
    from app.team.own_sign_in import states  # asyncio and the listener, not for the start

    with ctx.store() as db:
        return states(ctx, db)


def _signed_in(ctx: AppContext, name: str, job: Job) -> _Done:
    from app.team.own_sign_in import sign_in

    with ctx.store() as db:
        count = sign_in(ctx, db, name, job.report, cancel=job.cancelled)
    read = f" {plural(count, 'tool')} read: synchronise to get them." if count >= 0 else ""
    return _Done("Signed in to {}." + read, _states_of(ctx))


def _signed_out(ctx: AppContext, name: str, _job: Job) -> _Done:
    from app.team.own_sign_in import sign_out

    with ctx.store() as db:
        sign_out(ctx, db, name)
    return _Done("Signed out of {}.", _states_of(ctx))
