"""The folder of Toolcrib's own files, found without what only other programs need."""

import os
import sys
from collections.abc import Mapping

DATABASE = "toolcrib.db"


def home_folder(environ: Mapping[str, str] = os.environ) -> str:
    """TOOLCRIB_HOME, else the folder that the platform has for an application's data."""
    folder = environ.get("TOOLCRIB_HOME") or _data_folder(environ)
    return os.path.abspath(os.path.expanduser(folder))


def _data_folder(environ: Mapping[str, str]) -> str:
    """By hand: importing platformdirs is a sixth of a gateway's start.

    On macOS XDG_DATA_HOME means nothing: hosts would not pass it on to a gateway.
    """
    if sys.platform == "win32":
        return os.path.join(environ.get("LOCALAPPDATA") or r"~\AppData\Local", "toolcrib")
    if sys.platform == "darwin":
        return "~/Library/Application Support/toolcrib"
    moved = environ.get("XDG_DATA_HOME", "")
    return os.path.join(moved if os.path.isabs(moved) else "~/.local/share", "toolcrib")
