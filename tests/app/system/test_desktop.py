"""Qt's libraries are looked for before Qt, whose own end is an ImportError or an abort."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.system import desktop
from app.system.desktop import libraries_problem, missing_libraries

ROOT = Path(__file__).parents[3]


def without(monkeypatch: pytest.MonkeyPatch, *libraries: str) -> None:
    monkeypatch.setattr(desktop, "_loads", lambda name: name not in libraries)


def test_what_is_missing_is_named_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "libglib-2.0.so.0", "libgthread-2.0.so.0", "libxcb-cursor.so.0")
    problem = libraries_problem({"DISPLAY": ":0"}, "linux")
    assert "libxcb-cursor.so.0" in problem
    assert problem.endswith("sudo apt install libglib2.0-0 libxcb-cursor0")


def test_wayland_and_offscreen_need_no_x11_library(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "libxcb-cursor.so.0")
    assert libraries_problem({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux") == ""
    assert libraries_problem({"QT_QPA_PLATFORM": "offscreen", "DISPLAY": ":0"}, "linux") == ""
    assert libraries_problem({"QT_QPA_PLATFORM": "xcb", "WAYLAND_DISPLAY": "w"}, "linux") != ""


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_other_systems_lack_none(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "libglib-2.0.so.0")
    assert libraries_problem({}, platform) == ""


@pytest.mark.skipif(sys.platform != "linux", reason="libraries of Linux")
def test_this_system_has_what_the_tests_of_the_window_use() -> None:
    assert missing_libraries({"QT_QPA_PLATFORM": "offscreen"}) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="libraries of Linux")
@pytest.mark.parametrize(
    ("library", "package", "arguments", "pictures_can_be_saved"),
    [
        ("libxcb-cursor.so.0", "libxcb-cursor0", [], True),
        ("libglib-2.0.so.0", "libglib2.0-0", [], False),
        ("libglib-2.0.so.0", "libglib2.0-0", ["pictures", "p"], False),
    ],
)
def test_the_window_ends_with_that_line_instead_of_a_traceback(
    library: str, package: str, arguments: list[str], pictures_can_be_saved: bool, tmp_path: Path
) -> None:
    """In a process whose loader does not see one library, as on a bare Debian."""
    code = (
        "import ctypes, sys\n"
        "class Bare(ctypes.CDLL):\n"
        "    def __init__(self, name, *more, **other):\n"
        "        if name == sys.argv[1]: raise OSError(name)\n"
        "        super().__init__(name, *more, **other)\n"
        "ctypes.CDLL = Bare\n"
        "from ui.main import main\n"
        "raise SystemExit(main(sys.argv[2:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, library, *arguments],
        cwd=ROOT,
        env={"QT_QPA_PLATFORM": "xcb", "HOME": str(tmp_path), "DISPLAY": ":77"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert f"sudo apt install {package}" in done.stderr
    assert ("toolcrib pictures FOLDER" in done.stderr) is pictures_can_be_saved
    assert "Traceback" not in done.stderr
