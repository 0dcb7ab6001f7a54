"""The backend at the user's login: the desktop's file and the setting, switched together."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import gateway_program
from app.core.settings import Settings
from app.gateway.backend.rendezvous import Place, supported
from app.system.autostart import LoginEntry, login_entry

OFF = "The backend starts with the first host that needs it."
ON = "The backend starts with your login and stays."


@dataclass(frozen=True, slots=True)
class LoginState:
    """State of the start at login, by the desktop's folder and by the settings file."""

    file: Path
    is_there: bool
    is_kept: bool  # by the settings

    @property
    def on(self) -> bool:
        """True if there is anything to switch off."""
        return self.is_there or self.is_kept

    @property
    def sentence(self) -> str:
        """The state as a sentence."""
        if self.is_there == self.is_kept:
            return ON if self.on else OFF
        half = "The file is missing" if self.is_kept else "The file is there, the setting is not"
        return f"{half}: switch it off and on again."


def entry() -> LoginEntry:
    """The file that starts this program's backend; raises ToolcribError where there is none."""
    if not supported():
        raise ToolcribError("There is no backend on this system.", "Each host has its own gateway.")
    return login_entry([str(gateway_program()), "serve"])


def login_state(ctx: AppContext) -> LoginState:
    """State now, whether switched here or elsewhere; raises ToolcribError."""
    ours = entry()
    kept = Settings.load(ctx.paths.settings_file).at_login
    return LoginState(ours.file, ours.is_there, kept)


def switch(ctx: AppContext, *, on: bool) -> LoginEntry:
    """Write the file and keep the setting, or neither; raises ToolcribError."""
    ours = entry()
    if on and Place(str(ctx.paths.home)).off:
        raise ToolcribError("The backend is off.", "toolcrib backend on lets hosts share one.")
    was_there = ours.is_there
    if on:
        ours.write()
    else:
        ours.remove()
    try:
        if on or Settings.load(ctx.paths.settings_file).at_login:
            ctx.keep(at_login=on)
    except ToolcribError:
        if on and not was_there:
            with suppress(ToolcribError):
                ours.remove()
        raise
    return ours
