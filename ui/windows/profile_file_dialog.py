"""The policy file that a profile takes its values from: chosen, read, edited with a preview."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit, QWidget
from shiboken6 import isValid

from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.export.policy_writing import (
    FileStep,
    export_file,
    import_file,
    leave_file,
    put_back,
    save_text,
    use_file,
)
from app.policy.policy_file import parse_policy, policy_bytes
from app.policy.profile_policy import file_of
from store.records import ProfileFile
from ui.shell.services import Services
from ui.shell.steps import Change, store_step
from ui.widgets.boxes import STRETCH, boxed, hbox, stacked, vbox
from ui.widgets.dialog import Dialog
from ui.widgets.diff_rows import change_count, diff_rows, pair_lines
from ui.widgets.diff_view import DiffView
from ui.widgets.empty_state import EmptyState
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

_SIZE = (860, 620)
_REST_MS = 250
_FILTER = "Policy files (*.toml)"
_OWN = "The profile {} keeps its values in Toolcrib"
_OWN_HINT = (
    "You can keep them in a file instead, for example in a repository of your settings."
    " Hosts follow it, and each change in this window is written to its line. Comments stay."
)
_FROM_FILE = "The profile {} takes its values from {}."
_UNCHANGED = "This is the file as it is. Edit it here; nothing is written until you save."
_ALIEN = "It changed outside. Read it again before you save."


@dataclass(frozen=True, slots=True)
class _Read:
    """The profile's file as it is now."""

    file: ProfileFile | None
    data: bytes = b""
    problem: str = ""


def show_profile_file(services: Services, parent: QWidget) -> "ProfileFileDialog":
    """Open the dialog; the window can be used beside it."""
    dialog = ProfileFileDialog(services, parent)
    dialog.show()
    dialog.refresh()
    return dialog


class ProfileFileDialog(Dialog):
    """Text left to edit, the difference below; choosing and saving are undo steps."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent, title="Policy file of the profile", name="profileFile")
        self._services = services
        self._read = _Read(None)
        self._edited = False  # by typing, since it was read
        theme = services.theme
        self.fit(theme, *_SIZE)
        self.title = theme.heading(PlainLabel(wrap=True), 1)
        self.meaning = PlainLabel(wrap=True)
        self.problem = PlainLabel(wrap=True, look="wrong")
        self.text = QPlainTextEdit()
        self.text.setAccessibleName("Text of the policy file")
        theme.dress_fixed(self.text)
        self.diff = DiffView(theme)
        self.use = push_button("Use a file…", lambda: self._open_file(use_file, "Use a file"))
        self.keep = push_button("Keep in a file…", self._keep)
        self.take = push_button("Import once…", lambda: self._open_file(import_file, "Import once"))
        self.export = push_button("Export…", self._export)
        self.leave = push_button("Stop using it", self._leave)
        self.again = push_button("Read again", self._read_again)
        self.save = push_button("Save", self._save, look="primary")
        self.own = EmptyState(theme, icon="file-document-outline", text="", hint=_OWN_HINT)
        self._rest = QTimer(self, interval=_REST_MS, singleShot=True)
        self._rest.timeout.connect(self._check)
        self._lay_out()
        self._connect()
        self._show(self._read)

    def refresh(self) -> None:
        """Read the file again; what was typed and not saved goes."""
        profile = self._services.live.profile

        def read(db: Db) -> _Read:
            file = file_of(db, profile)
            if file is None:
                return _Read(None)
            try:
                return _Read(file, policy_bytes(file.path), file.problem)
            except ToolcribError as error:
                return _Read(file, problem=error.title)

        self._services.tasks.latest(self, read, self._show, owner=self)

    @property
    def _typed(self) -> bytes:
        text = self.text.toPlainText()
        ends = "\r\n" if b"\r\n" in self._read.data else "\n"
        bom = b"\xef\xbb\xbf" if self._read.data.startswith(b"\xef\xbb\xbf") else b""
        return bom + text.replace("\n", ends).encode("utf-8", "surrogatepass")

    def _show(self, read: _Read) -> None:
        changed = read.data != self._read.data or read.file != self._read.file
        if self._read.file and self._typed != self._read.data and changed and self._edited:
            self.problem.say(_ALIEN)
            return
        self._read = read
        profile = visible(self._services.live.profile)
        used = read.file is not None
        path = visible(read.file.path) if read.file else ""
        self.title.setText(_FROM_FILE.format(profile, path) if used else "")
        self.title.setVisible(used)
        self.own.text.setText(_OWN.format(profile))
        self._stack.setCurrentIndex(1 if used else 0)
        for button in (self.leave, self.again, self.save):
            button.setVisible(used)
        for button in (self.use, self.keep, self.take):
            button.setVisible(not used)
        self.text.setPlainText(read.data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        self._edited = False
        self._check()

    def _on_typed(self) -> None:
        self._edited = True
        self.save.setEnabled(False)
        self._rest.start()

    def _check(self) -> None:
        """Say what is wrong with the text, or show what saving would change."""
        read = self._read
        if read.file is None:
            self.meaning.hide()
            self.problem.hide()
            return
        typed = self._typed
        problem = ""
        try:
            parse_policy(typed, Path(read.file.path).name)
        except ToolcribError as error:
            problem = error.text
        rows = diff_rows(pair_lines(_text(read.data), _text(typed)))
        changes = change_count(rows)
        self.diff.show_rows(rows)
        self.diff.setVisible(bool(changes))
        self.problem.say(visible(problem or (read.problem if not changes else "")))
        words = f"Saving changes {plural(changes, 'place')}; the present file is kept as a copy."
        self.meaning.setText(words if changes else _UNCHANGED)
        self.meaning.show()
        self.save.setEnabled(bool(changes) and not problem)

    def _save(self) -> None:
        services, old, new = self._services, self._read.data, self._typed
        self._edited = False
        ctx, profile = services.ctx, services.live.profile

        def write(db: Db, expected: bytes, new: bytes) -> Changes:
            return save_text(db, profile, (expected, new), paths=ctx.paths, at=ctx.clock())

        self._push(
            f"Edit the policy file of {profile}",
            lambda db: write(db, old, new),
            lambda db: write(db, new, old),  # unless the file changed since
        )

    def _choose(self, text: str, choose: Callable[[Db], FileStep]) -> None:
        """The profile takes its values from a file, from another one or from none."""
        profile = self._services.live.profile
        before: FileStep | None = None  # known to the store thread only

        def make(db: Db) -> Changes:
            nonlocal before
            before = choose(db)
            return Changes(profile=True)

        def take_back(db: Db) -> Changes:
            return put_back(db, profile, before) if before is not None else Changes()

        self._push(text, make, take_back)

    def _push(self, text: str, make: Change, take_back: Change) -> None:
        tasks = self._services.tasks
        self._services.undo.push(store_step(tasks, text, make, take_back, failed=self._refuse))

    def _refuse(self, error: ToolcribError) -> None:
        if isValid(self):
            self.problem.say(visible(error.text))
        else:  # a step that is taken back after the dialog was closed
            self._services.tasks.failed.emit(error)

    def _open_file(self, choose: Callable[[Db, str, Path], FileStep], verb: str) -> None:
        name, _ = QFileDialog.getOpenFileName(self, verb, "", _FILTER)
        self.take_file(choose, verb, name)

    def take_file(self, choose: Callable[[Db, str, Path], FileStep], verb: str, name: str) -> None:
        """Take a file that was named."""
        profile = self._services.live.profile
        if name:
            self._choose(f"{verb} {name}", lambda db: choose(db, profile, Path(name)))

    def _keep(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Keep in a file", "policy.toml", _FILTER)
        self.take_file(use_file, "Keep the profile in", name)

    def _export(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Export", "policy.toml", _FILTER)
        profile = self._services.live.profile
        if name:
            self._services.tasks.request(
                lambda db: export_file(db, profile, Path(name)),
                lambda path: self._services.show_status(f"Exported the profile to {path}"),
                self._refuse,
                owner=self,
            )

    def _leave(self) -> None:
        profile = self._services.live.profile
        self._choose(f"Take {profile} from no file", lambda db: leave_file(db, profile))

    def _connect(self) -> None:
        self.text.textChanged.connect(self._on_typed)
        self._services.live.loaded.connect(self.refresh)
        self._services.tasks.changed.connect(self._on_changed)

    def _on_changed(self, changes: Changes) -> None:
        if changes.profile:
            self.refresh()

    def _read_again(self) -> None:
        self._edited = False
        self.refresh()

    def _lay_out(self) -> None:
        self._stack = stacked(self.own, boxed(vbox((self.text, 3), (self.diff, 2))))
        own = (self.use, self.keep, self.take, self.export, self.leave)
        row = hbox(*own, STRETCH, self.again, self.save, self.close_box())
        self.lay_out(self.title, self.meaning, self.problem, (self._stack, 1), row)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
