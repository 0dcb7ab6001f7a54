"""An editor's draft of a team profile: what it changes, whom that concerns, sending it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.core.changes import Changes
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.team import publishing
from app.team.client import ChangedMeanwhileError, OfflineError
from app.team.publishing import Prepared, Published
from ui.shell.actions import LateCommand
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel

_CHANGED = Changes(servers=True, tools=True, profile=True)
_SIZE = (640, 340)
_MOST_NAMES = 12
_ASKING = "Reading what the team has now…"
_SENDING = "Sending…"
_NOTHING = "The draft changes nothing: the team profile is like this already."
_UNDO = "Members get it with their next synchronisation. Undo saves the profile as it was."
_MEANWHILE = "Another editor was faster. Look at the changes again, then send them."
_ALSO = "{} – another editor changed this, too"
_OVERRIDDEN = "Another editor changed some of this since your draft began. Sending replaces that."
_LEFT_OUT = "Servers of your own stay out, the team does not have them: {}."
_OFFLINE = "Nothing was sent. Your draft stays; send it later."
T = TypeVar("T")


def show_draft(services: Services, parent: QWidget) -> "DraftDialog":
    """Open the dialog for the draft in view; the window can be used beside it."""
    dialog = DraftDialog(services, services.live.profile, parent)
    dialog.show()
    dialog.prepare()
    return dialog


class DraftDialog(FormDialog):
    """Changes and members as the team has them now; sending is an undo step."""

    def __init__(self, services: Services, profile: str, parent: QWidget) -> None:
        super().__init__("Send to the team", "Send", parent, name="teamDraft")
        self._services = services
        self._profile = profile
        self._prepared: Prepared | None = None
        self._job: Job | None = None
        theme = services.theme
        self.fit(theme, *_SIZE)
        self.title = theme.heading(PlainLabel(visible(profile), wrap=True), 1)
        self.concerned = PlainLabel(_ASKING, wrap=True)
        self.lines = QPlainTextEdit(readOnly=True)
        self.lines.setAccessibleName("Changes of the team profile")
        self.warning = PlainLabel(wrap=True)
        self.note = PlainLabel(_UNDO, wrap=True, look="faint")
        self.lay_out(self.title, self.concerned, self.lines, self.warning, self.note)
        self.warning.hide()
        self.save.setEnabled(False)
        self.finished.connect(self._cancel)

    def prepare(self) -> None:
        """Read what the team has now, and what the draft changes of it."""
        ctx, profile = self._services.ctx, self._profile
        self.save.setEnabled(False)

        def work(job: Job) -> Prepared:
            with ctx.store() as db:
                return publishing.prepare(
                    ctx, db, profile, keep_going=lambda: not job.cancelled.is_set()
                )

        self._job = self._services.tasks.wait(
            work, self._show_prepared, failed=self._failed, owner=self
        )

    def press(self) -> None:
        """Send what is shown."""
        prepared = self._prepared
        if prepared is None or not self.save.isEnabled():
            return
        self.save.setEnabled(False)
        self.concerned.setText(_SENDING)
        ctx = self._services.ctx
        self._services.tasks.wait(
            lambda _job: _in_store(ctx, lambda db: publishing.publish(ctx, db, prepared)),
            self._sent,
            failed=self._failed,
            owner=self,
        )

    def _show_prepared(self, prepared: Prepared) -> None:
        self._job, self._prepared = None, prepared
        edit = prepared.edit
        team = visible(prepared.organisation)
        self.title.setText(f"Change {visible(edit.name)} for the team {team}")
        self.concerned.setText(concerned(prepared.members))
        twice = frozenset(edit.overridden)
        lines = [_ALSO.format(line) if line in twice else line for line in edit.lines]
        self.lines.setPlainText("\n".join(map(visible, lines)) or _NOTHING)
        warnings = []
        if edit.overridden:
            warnings.append(_OVERRIDDEN)
        if edit.left_out:
            warnings.append(_LEFT_OUT.format(", ".join(map(visible, edit.left_out))))
        self.warning.say("\n".join(warnings))
        self.note.setVisible(bool(edit.lines))
        self.save.setEnabled(bool(edit.lines))
        self._services.tasks.changed.emit(_CHANGED, None)

    def _sent(self, published: Published) -> None:
        services = self._services
        services.tasks.changed.emit(_CHANGED, None)
        services.undo.push(SendDraft(services, published))
        self.accept()

    def _failed(self, error: ToolcribError) -> None:
        self._job = None
        self.concerned.setText("")
        if isinstance(error, ChangedMeanwhileError):
            self.refuse(_MEANWHILE, self.lines)
            self.prepare()
            return
        hint = _OFFLINE if isinstance(error, OfflineError) else error.hint
        self.refuse(visible(f"{error.title} {hint}".strip()), self.lines)

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()


def concerned(members: Sequence[tuple[str, str]]) -> str:
    """Members and their roles: `3 members get it: 1 admin, 1 editor, 1 member (alex, ...)`."""
    roles = Counter(role for _, role in members)
    parts = ", ".join(plural(number, role) for role, number in sorted(roles.items()))
    names = [visible(name) for name, _ in members[:_MOST_NAMES]]
    rest = len(members) - len(names)
    more = f" and {rest:,} more" if rest else ""
    return (
        f"It concerns {parts}: {', '.join(names)}{more}." if members else "It concerns no member."
    )


class SendDraft(LateCommand):
    """A draft that was sent.

    Undo saves the team profile as it was; where the team refuses, the step stays as done.
    """

    def __init__(self, services: Services, published: Published) -> None:
        super().__init__(f"Send {published.name} to the team")
        self._services, self._published = services, published

    def again(self) -> None:
        """Save the team profile as the draft has it."""
        ctx, profile = self._services.ctx, self._published.profile

        def publish(db: Db) -> Published:
            return publishing.publish(ctx, db, publishing.prepare(ctx, db, profile))

        self._run(publish, f"Sent {self._published.name} to the team", sent=True)

    def take_back(self) -> None:
        """Save the team profile as it was before."""
        ctx, published = self._services.ctx, self._published

        def back(db: Db) -> Published:
            publishing.take_back(ctx, db, published)
            return published

        self._run(back, f"Undone: {self.text()}", sent=False)

    def _run(self, work: Callable[[Db], Published], done: str, *, sent: bool) -> None:
        services = self._services

        def ended(published: Published) -> None:
            self._published = published
            services.tasks.changed.emit(_CHANGED, None)
            services.show_status(done)

        def refused(error: ToolcribError) -> None:
            self.follow(services.undo, done=not sent)
            services.tasks.failed.emit(error)

        services.tasks.wait(lambda _job: _in_store(services.ctx, work), ended, failed=refused)


def _in_store(ctx: AppContext, work: Callable[[Db], T]) -> T:
    with ctx.store() as db:
        return work(db)
