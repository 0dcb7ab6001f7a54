"""Program started with the user's login: one file in the desktop's form, made and removed whole."""

import os
import plistlib
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.home import HOME_VARIABLE, moved_folder
from app.core.safe_write import make_file

_NAME = "toolcrib-backend"
_LABEL = "io.toolcrib.backend"
_MARK = "Written by Toolcrib; toolcrib backend login off removes it. Folders made: "
_MARK_LINE = re.compile(re.escape(_MARK) + r"(\d)")
_MOST_FOLDERS = 3


@dataclass(frozen=True, slots=True)
class LoginEntry:
    """The file that starts a program with the login, as it is or would be written."""

    file: Path
    text: str

    @property
    def is_there(self) -> bool:
        """True if our file is there, in whatever words."""
        return self._folders_made() is not None

    def write(self) -> None:
        """Write the file in place of an older one of ours; raises ToolcribError."""
        self.remove()
        if os.path.lexists(self.file):
            raise ToolcribError(f"{self.file} exists and is not Toolcrib's.", "Move it away first.")
        missing = [folder for folder in self.file.parents if not folder.exists()]
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            make_file(self.file, self.text.encode(), mode=0o644)
        except OSError as error:
            for folder in missing:
                with suppress(OSError):  # not made, or others put something there meanwhile
                    folder.rmdir()
            raise ToolcribError(
                f"{self.file} was not written: {error.strerror}.",
                "Check the free space, and that you may write there.",
            ) from error

    def remove(self) -> bool:
        """Remove our file, and the empty folders made for it; False if it was not there."""
        made = self._folders_made()
        if made is None:
            return False
        try:
            self.file.unlink()
        except OSError as error:
            raise ToolcribError(
                f"{self.file} was not removed: {error.strerror}.", "Delete it by hand."
            ) from error
        with suppress(OSError):  # others put something there meanwhile
            for folder in list(self.file.parents)[:made]:
                folder.rmdir()
        return True

    def _folders_made(self) -> int | None:
        """Number of folders that were made with the file; None where there is none of ours."""
        try:
            mark = _MARK_LINE.search(self.file.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return None
        return min(int(mark[1]), _MOST_FOLDERS) if mark else None


def login_entry(
    command: Sequence[str], environ: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> LoginEntry:
    """The entry for that command line; raises ToolcribError where there is no such thing."""
    if platform == "win32":
        raise ToolcribError(
            "Toolcrib cannot start with the login on this system.",
            "Each host has a gateway of its own here.",
        )
    if any(char < " " for word in command for char in word):
        raise ToolcribError("The program's path has a line end in it.", "Install it elsewhere.")
    home = Path(environ.get("HOME") or "~").expanduser()
    moved = moved_folder(environ, linux=platform != "darwin")
    variables = {HOME_VARIABLE: moved} if moved else {}
    if platform == "darwin":
        file = home / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
        return LoginEntry(file, _launch_agent(command, variables, _missing(file)))
    given = Path(environ.get("XDG_CONFIG_HOME", ""))
    config = given if given.is_absolute() else home / ".config"
    file = config / "autostart" / f"{_NAME}.desktop"
    return LoginEntry(file, _desktop(command, variables, _missing(file)))


def _missing(file: Path) -> int:
    """Number of folders above the file that are still to be made; those we made before count."""
    known = LoginEntry(file, "")._folders_made()
    return known if known is not None else sum(not one.exists() for one in file.parents)


def _desktop(command: Sequence[str], variables: Mapping[str, str], missing: int) -> str:
    words = [*(["env"] if variables else []), *(f"{k}={v}" for k, v in variables.items()), *command]
    lines = [
        f"# {_MARK}{missing}",
        "[Desktop Entry]",
        "Type=Application",
        "Name=Toolcrib backend",
        "Comment=The one process behind all hosts of MCP servers",
        f"Exec={' '.join(map(_exec_word, words))}",
        "Terminal=false",
        "NoDisplay=true",
    ]
    return "\n".join([*lines, ""])


def _exec_word(word: str) -> str:
    """A word of Exec: quoted, and escaped once more as every text of a desktop entry is."""
    if re.fullmatch(r"[A-Za-z0-9_./=:,+@-]+", word):
        return word
    quoted = '"' + re.sub(r'(["`$\\])', r"\\\1", word) + '"'
    return quoted.replace("\\", "\\\\").replace("%", "%%")


def _launch_agent(command: Sequence[str], variables: Mapping[str, str], missing: int) -> str:
    about: dict[str, object] = {
        "Label": _LABEL,
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "ProcessType": "Background",
    }
    if variables:
        about["EnvironmentVariables"] = dict(variables)
    text = plistlib.dumps(about).decode()
    return text.replace("<plist", f"<!-- {_MARK}{missing} -->\n<plist", 1)
