"""Stacks in the window: a colleague's one looked at, filled in and added; the own one saved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from app.catalog.catalog import load_catalog
from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.market.launch import Choice
from app.market.stack import Stack, StackServer
from ui.pages.catalog.market.input_form import InputForm
from ui.pages.catalog.server_work import Discovery, discovered
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import STRETCH, STYLE, boxed, hbox, scrolled, vbox
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

_FILTER = "Stacks (*.stack *.json);;All files (*)"
_FIRST = "A stack is a file or a link with servers and a policy. It holds no secret."
_NEXT = (
    "They get a profile of their own. Nothing is started yet. Their tools are held until you"
    " approve them in Review."
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A stack with what it would mean."""

    stack: Stack
    text: str  # a server a line


class StackDialog(FormDialog):
    """First a file or a link, then the servers, the missing values and a name.

    Signals: added(Discovery).
    """

    added = Signal(object)

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__("Open a stack", "Look", parent)
        self._services = services
        self._stack: Stack | None = None
        self._keys: dict[str, tuple[str, str]] = {}  # key in the form -> server, key
        self.place = named(QLineEdit(placeholderText="File or link"), "File or link")
        self.choose = push_button("Choose a file…", self._choose)
        self.text = PlainLabel(_FIRST, wrap=True)
        self.name = named(QLineEdit(), "Name of the profile")
        self.form = InputForm(services.theme)
        self._lay_out()
        self.place.textChanged.connect(self._forget)
        self._forget()

    def _lay_out(self) -> None:
        first = hbox((self.place, 1), self.choose)
        area = scrolled(boxed(vbox(self.text, self.form, STRETCH, gap=STYLE)))
        area.setAccessibleName("What is in the stack")
        self.label = PlainLabel("Profile", buddy=self.name)
        self.lay_out(first, (area, 1), hbox(self.label, (self.name, 1)))
        self.fit(self._services.theme, 620, 420)

    def _choose(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, "Choose a stack", "", _FILTER)
        if name:
            self.place.setText(name)
            self.press()

    def _forget(self) -> None:
        """Another file or link: look again."""
        self._stack = None
        self.save.setText("Look")
        self.text.setText(_FIRST)
        self.form.show_fields(None)
        for widget in (self.name, self.label, self.problem):
            widget.hide()

    def press(self) -> None:
        """Look at the file or link, or add what was looked at."""
        self.problem.hide()
        if self._stack is not None and (problem := self.form.missing(self._keys)):
            self._refuse(ToolcribError(problem))
            return
        self.save.setEnabled(False)
        if self._stack is None:
            place = self.place.text().strip()
            self._services.tasks.wait(
                lambda _job: _look(place), self._show, failed=self._refuse, owner=self
            )
            return
        stack, values, name = self._stack, self._values(), self.name.text().strip()
        ctx = self._services.ctx
        self._services.tasks.work(
            lambda _job: _add(ctx, stack, values, name), self._done, failed=self._refuse
        )

    def _show(self, opened: Opened) -> None:
        self._stack = opened.stack
        self.text.setText(f"{opened.text}\n\n{_NEXT}")
        fields = []
        self._keys = {}
        for server in opened.stack.servers:
            for one in server.lacking:
                key = f"{server.name}: {one.key}"
                self._keys[key] = (server.name, one.key)
                fields.append(replace(one, key=key))
        self.form.show_fields(Choice(1, "stack", "stack", fields=tuple(fields)))
        self.name.setText(opened.stack.name)
        for widget in (self.name, self.label):
            widget.show()
        self.save.setText("Add")
        self.save.setEnabled(True)

    def _values(self) -> dict[str, dict[str, str]]:
        values: dict[str, dict[str, str]] = {}
        for key, text in self.form.values.items():
            server, name = self._keys[key]
            values.setdefault(server, {})[name] = text
        return values

    def _done(self, discovery: Discovery) -> None:
        self.accept()
        self.added.emit(discovery)

    def _refuse(self, error: ToolcribError) -> None:
        self.save.setEnabled(True)
        self.problem.say(error.text)


def _look(place: str) -> Opened:
    from app.stacks.whole import load_stack

    stack = load_stack(place)
    lines = [f"{visible(one.name)}: {_line(one)}" for one in stack.servers]
    number = plural(len(stack.servers), "server")
    return Opened(stack, "\n".join([f"{visible(stack.name)}: {number}", *lines]))


def _line(server: StackServer) -> str:
    """The command as consent shows it, with names in the place of missing values."""
    from app.hosts.display import launch_text

    return launch_text(server.launch_with({}, str(Path.home()), shown=True)).line


def _add(
    ctx: AppContext, stack: Stack, values: Mapping[str, Mapping[str, str]], name: str
) -> Discovery:
    from app.registry.register import RegisterResult
    from app.stacks.whole import open_stack

    with ctx.store() as db:
        open_stack(ctx, db, stack, values, name)
        names = {one.name for one in stack.servers}
        ids = tuple(one.id for one in load_catalog(db).servers if one.name in names)
        return discovered(ctx, db, RegisterResult(ids, {}, (), Changes(servers=True)))


def save_stack(services: Services, parent: QWidget) -> None:
    """Write the profile in view to a file that the user names."""
    name, _ = QFileDialog.getSaveFileName(parent, "Save a stack", "toolcrib.stack", _FILTER)
    if name:
        write_profile(services, Path(name), parent)


def write_profile(services: Services, file: Path, owner: QWidget) -> None:
    """Write the profile in view to this file, and say so."""
    ctx, profile = services.ctx, services.live.profile

    def work(_job: Job) -> str:
        from app.stacks.whole import profile_stack, write_stack

        with ctx.store() as db:
            stack = profile_stack(ctx, db, profile, (), "")
        file.unlink(missing_ok=True)  # the file chooser asked
        write_stack(stack, file)
        return f"Wrote {plural(len(stack.servers), 'server')} to {file}. No secret is in it."

    services.tasks.wait(work, services.show_status, failed=services.show_error, owner=owner)
