"""The menu of profiles: which one is in view, and new, renamed and deleted ones."""

from collections.abc import Callable

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from app.core.errors import ToolcribError
from app.policy.profiles import DEFAULT, why_kept
from ui.look.text import in_menu
from ui.shell.project_policies import show_policies
from ui.shell.services import Services
from ui.windows.profile_commands import AddProfile, DeleteProfile, RenameProfile, ShowProfile
from ui.windows.profile_dialog import ProfileDialog

_NEW = "It begins as a copy of {}: the same tools on and pinned, the same budget and settings."
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
        own = self._live.profile != DEFAULT
        self.rename.setEnabled(own)
        self.delete.setEnabled(own)
        self.delete.setText(f"&Delete {in_menu(self._live.profile)}" if own else "&Delete")

    def _show_menu(self) -> None:
        """The whole menu: once there are several profiles, or with everything shown."""
        several = len(self._live.profiles) > 1
        self.menuAction().setVisible(several or self._services.advanced.on)

    def _entry(self, name: str) -> QAction:
        action = QAction(in_menu(name), self)
        action.setData(name)
        action.setCheckable(True)
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
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _show_file(self) -> None:
        from ui.windows.profile_file_dialog import show_profile_file  # as all of export

        show_profile_file(self._services, self._parent)

    def _show_team(self) -> None:
        from ui.windows.team_dialog import show_team  # its HTTP client

        show_team(self._services, self._parent)

    def _if_free(self, go: Callable[[], None]) -> None:
        """Go on when no host's file names the profile in view; else say which does."""
        name, tasks = self._live.profile, self._services.tasks

        def on_reason(reason: ToolcribError | None) -> None:
            if reason is not None:
                tasks.failed.emit(reason)
            elif self._live.profile == name:
                go()

        tasks.request(lambda db: why_kept(db, name), on_reason)
