"""The folder of Toolcrib's own files, found without what only other programs need."""

import os
import sys

from app.core.errors import ToolcribError
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HOME_VARIABLE = "TOOLCRIB_HOME"
DATABASE = "toolcrib.db"
_LONGEST = 200  # characters of a wrong path that are repeated


def home_folder(environ: "Mapping[str, str]" = os.environ) -> str:
    """Folder of Toolcrib's data: by a variable, else the platform's folder for applications.

    Raises ToolcribError where the variable is no whole path, or the path no text.
    """
    linux = sys.platform not in ("win32", "darwin")
    folder = moved_folder(environ, linux=linux) or os.path.expanduser(_usual_folder(environ))
    try:
        folder.encode()
    except UnicodeEncodeError as error:  # SQLite takes no such name
        raise ToolcribError(
            f"The folder {folder[:_LONGEST]!r} has a name that is not UTF-8: set {HOME_VARIABLE}"
            " to another folder."
        ) from error
    return folder


def moved_folder(environ: "Mapping[str, str]", *, linux: bool) -> str:
    """Folder set by a variable that hosts do not pass on to a gateway; "" without one.

    XDG_DATA_HOME counts on Linux only. Raises ToolcribError for a TOOLCRIB_HOME that is no whole
    path: each program would begin an empty home in its own working directory.
    """
    if given := environ.get(HOME_VARIABLE):
        folder = os.path.expanduser(given)
        if not os.path.isabs(folder):
            raise ToolcribError(
                f"{HOME_VARIABLE} is {given[:_LONGEST]!r}, another folder in each working"
                " directory: set it to a whole path, or leave it out."
            )
        return os.path.abspath(folder)
    moved = environ.get("XDG_DATA_HOME", "") if linux else ""
    return os.path.join(moved, "toolcrib") if os.path.isabs(moved) else ""


def _usual_folder(environ: "Mapping[str, str]") -> str:
    """The platform's folder. Without platformdirs, whose import is a sixth of a gateway's start."""
    if sys.platform == "win32":
        folder = os.path.join(environ.get("LOCALAPPDATA") or r"~\AppData\Local", "toolcrib")
    elif sys.platform == "darwin":
        folder = "~/Library/Application Support/toolcrib"
    else:
        folder = "~/.local/share/toolcrib"
    return folder
