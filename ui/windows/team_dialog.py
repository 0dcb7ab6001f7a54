"""The team that this machine is in: joining, the last synchronisation, leaving."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.team import membership
from app.team.client import OfflineError
from app.team.drafts import EDITORS
from app.team.membership import TeamState
from store.teams import TeamRecord
from ui.look.text import ago
from ui.look.theme import GAP
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import STRETCH, boxed, form, hbox, stacked, vbox
from ui.widgets.dialog import Dialog
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button
from ui.windows.team_review import show_team_review
from ui.windows.team_sign_ins import TeamSignIns

_SIZE = (620, 290)
_ALL = Changes(servers=True, tools=True, profile=True)
_INTRO = (
    "A team shares servers that were reviewed once, and profiles for its hosts. They come beside"
    " your own, which stay as they are. Leaving takes them away again."
)
_SENDS = "Nothing of yours is sent to the team. See what can be: toolcrib team send"
_EMPTY = "The team has no profiles for you yet."
_OFFLINE = "What was synchronised last goes on working."
_GO_ON = "Sign in on the page that was opened in your browser."
_LEAVE = (
    "Leave {}? Its servers, tools and profiles go from this machine, and the token ends for every"
    " machine that has it. Your own stay."
)


def show_team(services: Services, parent: QWidget) -> "TeamDialog":
    """Open the dialog; the window can be used beside it."""
    dialog = TeamDialog(services, parent)
    dialog.show()
    dialog.refresh()
    return dialog


class TeamDialog(Dialog):
    """A form without a team; with one its state and what can be done."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent, title="Team", name="team")
        self._services = services
        self._state = TeamState(None)
        self._job: Job | None = None
        self._asking = False  # whether leaving waits for a second press
        theme = services.theme
        self.fit(theme, *_SIZE)
        self.title = theme.heading(PlainLabel(wrap=True), 2)
        self.intro = PlainLabel(_INTRO, wrap=True)
        self.url = QLineEdit(placeholderText="https://tools.example.org")
        self.url.setAccessibleName("URL of the team server")
        self.token = QLineEdit(echoMode=QLineEdit.EchoMode.Password)
        self.token.setAccessibleName("Your token")
        self.role = PlainLabel(wrap=True)
        self.when = PlainLabel(wrap=True)
        self.has = PlainLabel(wrap=True)
        self.sends = PlainLabel(wrap=True)
        self.sign_ins = TeamSignIns(services)
        self.problem = PlainLabel(wrap=True, look="wrong")
        self.progress = PlainLabel(wrap=True)
        self.join = push_button("Join", self._join, look="primary")
        self.browser = push_button("Sign in with the browser", self._join_by_browser)
        self.browser.setToolTip("For a team with an issuer: no token is needed")
        self.sync = push_button("Synchronise", self._synchronise, look="primary")
        self.review = push_button("", self._review)
        self.leave = push_button("Leave…", self._leave)
        self.stay = push_button("Stay", self._stay)
        self.stop = push_button("Stop", self._cancel)
        self._lay_out()
        self._connect()
        self._show(self._state)

    def refresh(self) -> None:
        """Read the state again."""
        self._services.tasks.latest(self, membership.state, self._show, owner=self)

    def _show(self, state: TeamState) -> None:
        self._state = state
        team, working = state.team, self._job is not None
        self._stack.setCurrentIndex(0 if team is None else 1)
        if team is None:
            self.title.setText("This machine is in no team")
        else:
            self._show_team(team, state)
        for button, shown in (
            (self.join, team is None and not working),
            (self.browser, team is None and not working),
            (self.sync, team is not None and not working and not self._asking),
            (self.leave, team is not None and not working),
            (self.review, self._reviews(state) and not working and not self._asking),
            (self.stay, self._asking and not working),
            (self.stop, working),
        ):
            button.setVisible(shown)
        self.leave.setText("Leave the team" if self._asking else "Leave…")
        self.progress.setVisible(working)
        self.sign_ins.setEnabled(not working)
        self.submit_with(self.join if team is None else self.sync)
        for field in (self.url, self.token):
            field.setEnabled(not working)

    def _show_team(self, team: TeamRecord, state: TeamState) -> None:
        self.title.setText(f"Team {visible(team.organisation)}")
        self.role.setText(f"You are {visible(team.member)}, {team.role}, at {visible(team.url)}.")
        if team.synced_at:
            at = datetime.fromtimestamp(team.synced_at)
            self.when.setText(
                f"Synchronised {ago(time.time() - team.synced_at)} ({at:%Y-%m-%d %H:%M})."
            )
        else:
            self.when.setText("Not synchronised yet.")
        names = ", ".join(map(visible, state.profiles))
        counts = f"{plural(state.servers, 'server')} with {plural(state.tools, 'tool')}"
        rows = f"It shares {counts}. " if state.servers else ""
        self.has.setText(rows + (f"Team profiles: {names}." if names else _EMPTY))
        sent = " and ".join(team.sends)
        self.sends.setText(f"Sent at each synchronisation: {sent}." if sent else _SENDS)
        self.sign_ins.show_servers(state.sign_ins)
        if team.problem and not self.problem.text():
            self._say(f"{team.problem} {_OFFLINE}")

        waiting = plural(state.waiting, "tool")
        self.review.setText(f"Review {waiting}…" if state.waiting else "Held tools…")

    @staticmethod
    def _reviews(state: TeamState) -> bool:
        return state.team is not None and state.team.role in EDITORS and state.held > 0

    # ---- what can be done

    def _join(self) -> None:
        ctx, url, token = self._services.ctx, self.url.text(), self.token.text()
        self._start(lambda job: _joined(ctx, url, token, job), f"Joining {url.strip()[:80]}")

    def _join_by_browser(self) -> None:
        ctx, url = self._services.ctx, self.url.text()
        words = f"Asking {url.strip()[:80]} for its sign-in page"
        self._start(lambda job: _joined_by_browser(ctx, url, job), words)

    def _synchronise(self) -> None:
        ctx = self._services.ctx
        self._start(lambda job: _synchronised(ctx, job), "Synchronising")

    def _review(self) -> None:
        dialog = show_team_review(self._services, self)
        dialog.finished.connect(self.refresh)

    def _leave(self) -> None:
        team = self._state.team
        if team is None:
            return
        if not self._asking:
            self._asking = True
            self._say(_LEAVE.format(visible(team.organisation)))
            self._show(self._state)
            return
        self._asking = False
        ctx = self._services.ctx
        self._start(lambda _job: _left(ctx), "Leaving")

    def _stay(self) -> None:
        self._asking = False
        self._say("")
        self._show(self._state)

    def _start(self, work: Callable[[Job], str], text: str) -> None:
        self._say("")
        self.progress.setText(visible(text))
        self._job = self._services.tasks.wait(
            work, self._done, failed=self._failed, progress=self._progressed, owner=self
        )
        self._show(self._state)

    def _progressed(self, news: object) -> None:
        if not isinstance(news, _Page):
            self.progress.setText(visible(str(news)))
            return
        opened = QDesktopServices.openUrl(QUrl(news.url))
        self.progress.setText(_GO_ON if opened else f"Open this page: {visible(news.url)}")

    def _done(self, sentence: str) -> None:
        self._job = None
        self.token.clear()
        self._services.show_status(sentence)
        self._services.tasks.changed.emit(_ALL, None)
        self._show(self._state)
        self.refresh()

    def _failed(self, error: ToolcribError) -> None:
        self._job = None
        offline = isinstance(error, OfflineError)
        hint = _OFFLINE if offline and self._state.team is not None else error.hint
        self._say(f"{error.title} {hint}".strip())
        self._services.tasks.changed.emit(_ALL, None)
        self._show(self._state)
        self.refresh()

    def _say(self, text: str) -> None:
        self.problem.say(visible(text))

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()

    def _connect(self) -> None:
        self.finished.connect(self._cancel)
        self.finished.connect(self.sign_ins.cancel)
        for button in (self.sync, self.leave, self.review):
            self.sign_ins.waiting.connect(button.setDisabled)

    def _lay_out(self) -> None:
        rows = form(("URL of the team server", self.url), ("Your token", self.token), gap=GAP)
        rows.setContentsMargins(0, 0, 0, 0)
        inside = vbox(self.role, self.when, self.has, self.sends, self.sign_ins, STRETCH)
        self._stack = stacked(boxed(rows), boxed(inside))
        row = hbox(
            self.leave,
            self.stay,
            STRETCH,
            self.stop,
            self.review,
            self.sync,
            self.browser,
            self.join,
            self.close_box(),
        )
        self.lay_out(self.title, self.intro, (self._stack, 1), self.problem, self.progress, row)


@dataclass(frozen=True, slots=True)
class _Page:
    """A sign-in page that is to be opened in the browser."""

    url: str


def _joined_by_browser(ctx: AppContext, url: str, job: Job) -> str:
    from app.team.browser_join import join_by_browser  # the SDK costs 1.2 s of CPU

    def open_page(page: str) -> None:
        job.report(_Page(page))

    with ctx.store() as db:
        join_by_browser(ctx, db, url, open_page, cancel=job.cancelled)
    return _synchronised(ctx, job)


def _joined(ctx: AppContext, url: str, token: str, job: Job) -> str:
    with ctx.store() as db:
        membership.join(ctx, db, url, token)
    return _synchronised(ctx, job)


def _synchronised(ctx: AppContext, job: Job) -> str:
    with ctx.store() as db:
        made = membership.synchronise(
            ctx,
            db,
            progress=lambda text, _done: job.report(text),
            keep_going=lambda: not job.cancelled.is_set(),
        )
    return f"The team {made.team.organisation} is synchronised."


def _left(ctx: AppContext) -> str:
    with ctx.store() as db:
        left = membership.leave(ctx, db)
    text = f"Left {left.team.organisation}. Your own catalogue is as it was. {left.token_text}"
    if left.hosts:
        text += f" Write these hosts again: {', '.join(left.hosts)}."
    return text
