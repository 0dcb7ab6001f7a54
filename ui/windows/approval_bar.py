"""Calls that wait for a yes, at the top of the window: one at a time, the oldest first."""

from collections.abc import Sequence

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QApplication, QPushButton

from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.policy.approvals import decide, waiting, why_asked
from app.system.presence import Presence
from store.records import ALLOWED, ALWAYS, DENIED, SESSION, Approval
from ui.look.text import plain_tip
from ui.look.theme import MARGIN, Theme
from ui.shell.tasks import Tasks
from ui.widgets.boxes import hbox
from ui.widgets.label import PlainLabel
from ui.widgets.message_bar import WARN, Bar
from ui.widgets.push_button import push_button

PERIOD_MS = 1_000
_LONGEST = 300  # characters of arguments in the bar; the tooltip has more
_LONGEST_TIP = 3_000
_CHOICES = (
    ("Allow once", ALLOWED, "Send this call."),
    ("For this session", SESSION, "Send calls of this tool until the host's session ends."),
    ("Always", ALWAYS, "Send calls of this tool until its text changes. Undo: toolcrib approve"),
    ("Deny", DENIED, "The model gets the answer that you refused."),
)


class ApprovalBar(Bar):
    """Hidden while no call waits; a call whose time is over leaves by itself.

    Signals: failed(ToolcribError) for a decision that came too late.
    """

    failed = Signal(object)

    def __init__(self, theme: Theme, tasks: Tasks) -> None:
        super().__init__(theme, WARN)
        self.setAccessibleName("Calls that wait for your approval")
        self._tasks = tasks
        self._calls: Sequence[Approval] = ()
        self._known: set[int] = set()
        self._reasons: dict[int, str] = {}  # for which tools are held back, by call
        self._busy = False
        self.text = PlainLabel(wrap=True)
        self.buttons = [self._make_button(*choice) for choice in _CHOICES]
        hbox(self._icon, (self.text, 1), *self.buttons, inside=self, margins=(MARGIN, 6, MARGIN, 6))
        self._presence = Presence(str(tasks.ctx.paths.home))
        tasks.closing.connect(self._presence.release)
        self._timer = QTimer(self, interval=PERIOD_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    @property
    def call(self) -> Approval | None:
        """The call in the bar."""
        return self._calls[0] if self._calls else None

    def look(self) -> None:
        """Ask the store which calls wait."""
        self._presence.hold()
        if self._busy:
            return
        self._busy = True
        now = self._tasks.ctx.clock()

        known = dict(self._reasons)

        def read(db: Db) -> tuple[Sequence[Approval], dict[int, str]]:
            calls = waiting(db, now)
            fresh = [call for call in calls if call.id not in known]
            return calls, {call.id: known.get(call.id, "") for call in calls} | why_asked(db, fresh)

        self._tasks.request(read, self._show, self._on_failed, owner=self)

    def _show(self, read: tuple[Sequence[Approval], dict[int, str]]) -> None:
        calls, self._reasons = read
        self._busy = False
        new = {call.id for call in calls} - self._known
        self._known |= new
        self._calls = calls
        self.setVisible(bool(calls))
        if not calls:
            return
        call = calls[0]
        host = visible(call.host) or "A host"
        left = max(0, round(call.expires - self._tasks.ctx.clock()))
        more = f" · {plural(len(calls) - 1, 'more call')}" if len(calls) > 1 else ""
        arguments = visible(call.arguments)
        self.text.setText(
            f"{host} wants to call {visible(call.tool)} with {arguments[:_LONGEST]}"
            f"{self._reason(call)} · {left} s left{more}"
        )
        self.text.setToolTip(plain_tip(arguments[:_LONGEST_TIP]))
        if new:
            QApplication.alert(self.window())

    def _reason(self, call: Approval) -> str:
        why = self._reasons.get(call.id, "")
        return f" · Held back: {why}" if why else ""

    def _on_failed(self, _error: ToolcribError) -> None:
        self._busy = False  # a locked store: the next look tries again

    def _decide(self, choice: str) -> None:
        call = self.call
        if call is None:
            return
        now = self._tasks.ctx.clock()

        def change(db: Db) -> Changes:
            decide(db, call.id, choice, now)
            return Changes()

        self._tasks.change(change, lambda _changes: self.look(), self._on_late)

    def _on_late(self, error: ToolcribError) -> None:
        self.failed.emit(error)
        self.look()

    def _make_button(self, text: str, choice: str, tip: str) -> QPushButton:
        return push_button(text, lambda: self._decide(choice), tip=tip)
