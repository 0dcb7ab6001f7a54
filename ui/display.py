"""Check that a window can be opened here, made before Qt, which would abort the process."""

import os
import socket
import sys
from collections.abc import Mapping
from ctypes import CDLL, c_char_p, c_int, c_void_p
from ctypes.util import find_library
from pathlib import Path

from app.system.native import native

_ASKED = ("", "xcb", "wayland", "wayland-egl")  # platforms of Qt that need a display
_SECONDS = 3.0


def display_problem(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Reason that no window can be opened, "" where one can as far as is known."""
    if platform in ("win32", "darwin"):
        return ""
    chosen = environ.get("QT_QPA_PLATFORM", "")
    if chosen.partition(";")[0].partition(":")[0] not in _ASKED:
        return ""
    x11, wayland = environ.get("DISPLAY", ""), environ.get("WAYLAND_DISPLAY", "")
    if not x11 and not wayland:
        return "There is no display for the window."
    if (wayland and _wayland_answers(environ, wayland)) or (x11 and _x11_answers(x11)):
        return ""
    return f"The display {x11 or wayland} does not answer."


def _x11_answers(display: str) -> bool:
    """True if the X server admits this user, or if its library is not here to try."""
    name = find_library("xcb")
    if name is None:
        return True
    xcb = CDLL(name)
    xcb.xcb_connect.restype, xcb.xcb_connect.argtypes = c_void_p, [c_char_p, c_void_p]
    xcb.xcb_connection_has_error.restype = c_int
    xcb.xcb_connection_has_error.argtypes = [c_void_p]
    xcb.xcb_disconnect.argtypes = [c_void_p]
    connection = xcb.xcb_connect(os.fsencode(display), None)
    try:
        return not int(xcb.xcb_connection_has_error(connection))
    finally:
        xcb.xcb_disconnect(connection)


def _wayland_answers(environ: Mapping[str, str], display: str) -> bool:
    path = str(Path(environ.get("XDG_RUNTIME_DIR", ""), display))  # a whole path stays itself
    with socket.socket(native.AF_UNIX) as probe:
        probe.settimeout(_SECONDS)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True
