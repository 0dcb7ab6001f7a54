"""The menu of profiles: which one is in view, and new, renamed and deleted ones."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from app.policy.profiles import DEFAULT, LONGEST, name_problem, why_kept
from ui.look.text import in_menu, plain_tip
from ui.shell.project_policies import show_policies
from ui.shell.services import Services
from ui.widgets.boxes import form
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.windows.profile_commands import AddProfile, DeleteProfile, RenameProfile, ShowProfile

if TYPE_CHECKING:
    from app.team.drafts import PlaceInTeam


class ProfileDialog(FormDialog):
    """Stays open until the name can be used.

    Signals: submitted(name) then.
    """

    submitted = Signal(str)

    def __init__(
        self,
        title: str,
        hint: str,
        taken: Collection[str],
        *,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(title, title, parent, name="profileDialog")
        self._taken = frozenset(taken)
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 56)
        self.name = QLineEdit(name, placeholderText="for example: work", maxLength=LONGEST)
        self.name.setAccessibleName("Name of the profile")
        self.name.selectAll()
        self.lay_out(PlainLabel(hint, wrap=True, look="faint"), form(("&Name", self.name)))

    def press(self) -> None:
        """Give the name, or say what is wrong with it."""
        name = self.name.text().strip()
        problem = name_problem(name, self._taken)
        if problem:
            self.refuse(problem, self.name)
            return
        self.submitted.emit(name)
        self.accept()


_NEW = "It begins as a copy of {}: the same tools on and pinned, the same budget and settings."
_DRAFT = "This is your draft. Change it, then choose Send to the team in the Profile menu."
_NAME = "Its tools and settings stay as they are."


class ProfileMenu(QMenu):
    """Every profile, and what can be done with the one in view."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__("Pro&file", parent)
        self._services = services
        self._live = services.live
        self._parent = parent
        self._choices = QActionGroup(self)
        self._end = self.addSeparator()
        self._add("&New profile…", self._new)
        self.rename = self._add("&Rename…", self._rename)
        self.delete = self._add("&Delete", self._delete)
        self.addSeparator()
        self._add("Policy &file…", self._show_file)
        self._add("Project &policies…", lambda: show_policies(services, parent))
        self._add("&Team…", self._show_team)
        self.edit = self._add("&Edit for the team", self._edit)
        self.send = self._add("&Send to the team…", self._send)
        self._team_profile = ""  # that the profile in view is, or is a draft of
        self._live.loaded.connect(self._show_known)
        services.advanced.changed.connect(self._show_menu)
        self._show_menu()

    def _show_known(self) -> None:
        """One entry a profile, checked where it is in view."""
        shown = [action.data() for action in self._choices.actions()]
        if shown != list(self._live.profiles):
            for action in self._choices.actions():
                self._choices.removeAction(action)
                self.removeAction(action)
                action.deleteLater()
            for name in self._live.profiles:
                self._choices.addAction(self._entry(name))
        for action in self._choices.actions():
            action.setChecked(action.data() == self._live.profile)
        self._show_menu()
        profile = self._live.profile
        self._services.tasks.latest(
            self, lambda db: _place(db, profile), self._show_place, owner=self
        )
        own = profile != DEFAULT
        self.rename.setEnabled(own)
        self.delete.setEnabled(own)
        self.delete.setText(f"&Delete {in_menu(self._live.profile)}" if own else "&Delete")

    def _show_place(self, place: "PlaceInTeam") -> None:
        """The actions of editors where the profile in view is the team's, or a draft of it."""
        self._team_profile = place.name
        self.edit.setVisible(bool(place.name) and not place.draft)
        self.send.setVisible(place.draft)
        for action, text in ((self.edit, "&Edit for the team"), (self.send, "&Send to the team…")):
            action.setEnabled(not place.refusal)
            action.setText(f"{text} (for editors)" if place.refusal else text)
            action.setToolTip(plain_tip(place.refusal))

    def _show_menu(self) -> None:
        """The whole menu: once there are several profiles, or with everything shown."""
        several = len(self._live.profiles) > 1
        self.menuAction().setVisible(several or self._services.advanced.on)

    def _entry(self, name: str) -> QAction:
        action = QAction(in_menu(name), self, checkable=True)
        action.setData(name)
        action.triggered.connect(lambda _checked=False: self._choose(name))
        self.insertAction(self._end, action)
        return action

    def _add(self, text: str, call: Callable[[], object]) -> QAction:
        action = self.addAction(text)
        action.triggered.connect(lambda _checked=False: call())
        return action

    def _choose(self, name: str) -> None:
        if name != self._live.profile:
            self._services.undo.push(ShowProfile(self._live, name))

    def _new(self) -> None:
        live = self._live
        self._ask_name(
            "New profile",
            _NEW.format(live.profile),
            lambda name: AddProfile(self._services.tasks, live, name),
        )

    def _rename(self) -> None:
        live = self._live
        self._if_free(
            lambda: self._ask_name(
                "Rename profile",
                _NAME,
                lambda name: RenameProfile(self._services.tasks, live, name),
                name=live.profile,
            )
        )

    def _delete(self) -> None:
        services, live = self._services, self._live
        self._if_free(lambda: services.undo.push(DeleteProfile(services.tasks, live)))

    def _ask_name(
        self,
        title: str,
        hint: str,
        command: Callable[[str], AddProfile | RenameProfile],
        *,
        name: str = "",
    ) -> None:
        dialog = ProfileDialog(title, hint, self._live.profiles, name=name, parent=self._parent)
        dialog.submitted.connect(lambda submitted: self._services.undo.push(command(submitted)))
        dialog.open()

    def _show_file(self) -> None:
        from ui.windows.profile_file_dialog import show_profile_file  # as all of export

        show_profile_file(self._services, self._parent)

    def _show_team(self) -> None:
        from ui.windows.team_dialog import show_team  # its HTTP client

        show_team(self._services, self._parent)

    def _edit(self) -> None:
        """Show a draft of the team profile in view; an old one, where it was begun before."""
        live, name = self._live, f"{self._team_profile} draft"
        known = name in live.profiles
        step = (
            ShowProfile(live, name)
            if known
            else AddProfile(self._services.tasks, live, name, _begin)
        )
        self._services.undo.push(step)
        self._services.show_status(_DRAFT)

    def _send(self) -> None:
        from ui.windows.team_draft import show_draft  # its HTTP client

        show_draft(self._services, self._parent)

    def _if_free(self, go: Callable[[], None]) -> None:
        """Go on when no host's file names the profile in view; else say which does."""
        name, tasks = self._live.profile, self._services.tasks

        def on_reason(reason: ToolcribError | None) -> None:
            if reason is not None:
                tasks.failed.emit(reason)
            elif self._live.profile == name:
                go()

        tasks.request(lambda db: why_kept(db, name), on_reason)


def _place(db: Db, profile: str) -> "PlaceInTeam":
    from app.team.drafts import place_in_team  # not needed for the start

    return place_in_team(db, profile)


def _begin(db: Db, name: str, copy_of: str) -> Changes:
    from app.team.drafts import begin  # as place_in_team

    return begin(db, name, copy_of)
