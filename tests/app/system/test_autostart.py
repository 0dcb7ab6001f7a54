"""The file that starts the backend with the login: in the desktop's form, gone without trace."""

import plistlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.system.autostart import login_entry

COMMAND = ["/opt/tool crib/100%/toolcrib-gateway", "serve"]
PLATFORMS = ("linux", "darwin")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def unescaped(text: str) -> list[str]:
    """Exec's words as the specification has them read."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', text.replace("\\\\", "\\"))
    return [re.sub(r"\\(.)", r"\1", quoted or bare).replace("%%", "%") for quoted, bare in words]


def test_a_desktop_starts_the_very_command(home: Path) -> None:
    odd = [*COMMAND, 'quote " dollar $HOME back`tick \\']
    entry = login_entry(odd, {"HOME": str(home), "TOOLCRIB_HOME": "/data/my crib"}, "linux")
    assert entry.file == home / ".config/autostart/toolcrib-backend.desktop"
    (line,) = [x for x in entry.text.splitlines() if x.startswith("Exec=")]
    words = unescaped(line.removeprefix("Exec="))
    assert words == ["env", "TOOLCRIB_HOME=/data/my crib", *odd]
    moved = login_entry(COMMAND, {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "c")}, "linux")
    assert moved.file == home / "c/autostart/toolcrib-backend.desktop"
    assert "env" not in moved.text


def test_a_mac_starts_the_very_command(home: Path) -> None:
    entry = login_entry(COMMAND, {"HOME": str(home), "TOOLCRIB_HOME": "/data"}, "darwin")
    assert entry.file == home / "Library/LaunchAgents/io.toolcrib.backend.plist"
    about = plistlib.loads(entry.text.encode())
    assert about["ProgramArguments"] == COMMAND and about["RunAtLoad"] is True
    assert about["EnvironmentVariables"] == {"TOOLCRIB_HOME": "/data"}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("folders", [(), (".config", "Library"), (".config/autostart",)])
def test_what_was_written_is_gone_without_trace(
    home: Path, platform: str, folders: tuple[str, ...]
) -> None:
    for folder in folders:
        (home / folder).mkdir(parents=True)
    before = files(home)
    entry = login_entry(COMMAND, {"HOME": str(home)}, platform)
    assert not entry.is_there and files(home) == before  # looking at it writes nothing
    entry.write()
    again = login_entry(["/elsewhere/toolcrib-gateway", "serve"], {"HOME": str(home)}, platform)
    again.write()
    assert again.is_there and "/elsewhere" in again.file.read_text(encoding="utf-8")
    assert login_entry(COMMAND, {"HOME": str(home)}, platform).remove()
    assert files(home) == before
    assert not again.remove()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_others_put_there_stays(home: Path, platform: str) -> None:
    entry = login_entry(COMMAND, {"HOME": str(home)}, platform)
    entry.write()
    other = entry.file.with_name("other")
    other.write_text("theirs", encoding="utf-8")
    entry.remove()
    assert other.read_text(encoding="utf-8") == "theirs"
    entry.file.write_text("somebody's own", encoding="utf-8")
    with pytest.raises(ToolcribError, match="not Toolcrib's"):
        entry.write()
    assert not entry.remove() and entry.file.read_text(encoding="utf-8") == "somebody's own"


def test_there_is_none_on_windows_and_none_with_a_line_end(home: Path) -> None:
    with pytest.raises(ToolcribError, match="cannot start with the login"):
        login_entry(COMMAND, {}, "win32")
    with pytest.raises(ToolcribError, match="line end"):
        login_entry(["/a\nExec=evil", "serve"], {"HOME": str(home)}, "linux")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a desktop's checker")
def test_the_desktops_own_checker_takes_it(home: Path) -> None:
    from shutil import which

    if which("desktop-file-validate") is None:
        pytest.skip("desktop-file-validate is not installed")
    entry = login_entry(COMMAND, {"HOME": str(home)}, "linux")
    entry.write()
    subprocess.run(["desktop-file-validate", str(entry.file)], check=True, timeout=30)
