"""Settings, Login: whether the backend starts with the login, and the file that has it start."""

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.core.errors import ToolcribError
from app.core.settings import Settings
from app.gateway.backend.login import LoginState, login_state, switch
from ui.look.text import with_tilde
from ui.look.theme import MARGIN
from ui.shell.services import Services
from ui.shell.steps import Step
from ui.widgets.boxes import STYLE, vbox
from ui.widgets.label import PlainLabel
from ui.windows.setting_fields import LOGIN
from ui.windows.setting_form import SettingForm

_NAME = "at_login"


class LoginTab(QWidget):
    """Shows the login entry in the desktop's folder, also one that the command line put there.

    Signals: failed(ToolcribError); switched() after a change here.
    """

    failed = Signal(object)
    switched = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.form = SettingForm(services.theme, LOGIN)
        self.state = PlainLabel(wrap=True, look="faint")
        self.state.setContentsMargins(MARGIN, 0, MARGIN, MARGIN)
        vbox(self.form, self.state, inside=self, gap=STYLE)
        self.form.changed.connect(lambda _name, on, _text: self.switch(on=on))
        services.undo.indexChanged.connect(self.follow)
        self.follow()

    def showEvent(self, event: QShowEvent) -> None:
        """Look again."""
        super().showEvent(event)
        self.follow()

    def follow(self) -> None:
        """Show how it is now."""
        try:
            state = login_state(self._services.ctx)
        except ToolcribError as error:
            self.form.setEnabled(False)
            self.state.setText(error.text)
            return
        self._show(state)

    def switch(self, *, on: bool) -> None:
        """A step that can be undone; where it is refused, nothing changed and there is none."""
        try:
            switch(self._services.ctx, on=on)
        except ToolcribError as error:
            self.follow()
            self.failed.emit(error)
        else:
            self._services.undo.push(_step(self._services, on=on))
            self.switched.emit()

    def _show(self, state: LoginState) -> None:
        self.form.setEnabled(True)
        self.form.show_settings(replace(Settings(), at_login=state.on))
        file = with_tilde(state.file, self._services.places.home)
        self.form.explain(_NAME, f"Switching it on writes {file}, off removes it.")
        self.state.setText(state.sentence)


def _step(services: Services, *, on: bool) -> Step:
    """The switch as a step, once it was made."""

    def make(*, on: bool) -> None:
        try:
            switch(services.ctx, on=on)
        except ToolcribError as error:
            step.setObsolete(True)  # nothing changed: there is nothing to go back to
            services.tasks.failed.emit(error)

    text = f"Switch starting with your login {'on' if on else 'off'}"
    step = Step(text, lambda: make(on=on), lambda: make(on=not on), made=True)
    return step
