"""Libraries of the system that Qt needs for a window on Linux, and the packages that bring them.

PySide6 carries Qt, not what every desktop has. Without one of these its import fails, or Qt ends
the process; so they are looked for first.
"""

import sys
from collections.abc import Mapping

_ALWAYS = {  # library -> package of Debian
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libX11.so.6": "libx11-6",
}
_WITH_X11 = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libX11-xcb.so.1": "libx11-xcb1",
}


def missing_libraries(environ: Mapping[str, str], platform: str = sys.platform) -> dict[str, str]:
    """Return the libraries that a window lacks here, each with Debian's package of it."""
    if platform in ("win32", "darwin"):
        return {}
    return {name: package for name, package in _needed(environ).items() if not _loads(name)}


def libraries_problem(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return which libraries a window lacks and what to type, "" where it lacks none."""
    missing = missing_libraries(environ, platform)
    if not missing:
        return ""
    packages = " ".join(dict.fromkeys(missing.values()))
    return (
        f"The window needs libraries that this system lacks: {', '.join(missing)}.\n"
        f"On Debian and Ubuntu: sudo apt install {packages}"
    )


def _needed(environ: Mapping[str, str]) -> dict[str, str]:
    chosen = environ.get("QT_QPA_PLATFORM", "")
    by_x11 = chosen.startswith("xcb") if chosen else not environ.get("WAYLAND_DISPLAY")
    return _ALWAYS | (_WITH_X11 if by_x11 else {})


def _loads(library: str) -> bool:
    from ctypes import CDLL  # not before something asks: the gateway has no use for it

    try:
        CDLL(library)
    except OSError:
        return False
    return True
