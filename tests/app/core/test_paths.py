"""Where Toolcrib's own files are on each system, and what moves them."""

from pathlib import Path

import pytest

from app.core import home
from app.core.home import home_folder, moved_folder
from app.core.paths import Paths


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("system", "environ", "folder"),
    [
        ("linux", {}, ".local/share/toolcrib"),
        ("linux", {"XDG_DATA_HOME": ""}, ".local/share/toolcrib"),
        ("linux", {"XDG_DATA_HOME": "relative"}, ".local/share/toolcrib"),
        ("darwin", {}, "Library/Application Support/toolcrib"),
        ("darwin", {"XDG_DATA_HOME": "/else"}, "Library/Application Support/toolcrib"),
    ],
)
def test_the_folder_of_each_system(user, monkeypatch, system, environ, folder):
    monkeypatch.setattr(home.sys, "platform", system)
    assert home_folder(environ) == str(user / folder)


def test_xdg_moves_it_on_linux(user, monkeypatch, tmp_path):
    monkeypatch.setattr(home.sys, "platform", "linux")
    assert home_folder({"XDG_DATA_HOME": str(tmp_path / "data")}) == str(tmp_path / "data/toolcrib")


def test_only_what_hosts_do_not_pass_on_counts_as_moved():
    assert moved_folder({"HOME": "/h", "LOCALAPPDATA": "/l"}, linux=False) == ""
    assert moved_folder({"XDG_DATA_HOME": "/d"}, linux=False) == ""
    assert moved_folder({"XDG_DATA_HOME": "/d"}, linux=True) == "/d/toolcrib"
    assert moved_folder({"XDG_DATA_HOME": "/d", "TOOLCRIB_HOME": "/t"}, linux=False) == "/t"


def test_local_app_data_is_it_on_windows(user, monkeypatch, tmp_path):
    monkeypatch.setattr(home.sys, "platform", "win32")
    assert home_folder({"LOCALAPPDATA": str(tmp_path)}) == str(tmp_path / "toolcrib")
    assert home_folder({}).replace("\\", "/").endswith("/AppData/Local/toolcrib")


def test_a_variable_moves_everything_and_another_the_models(user, monkeypatch, tmp_path):
    moved = Paths.default({"TOOLCRIB_HOME": "~/mine"})
    assert moved.home == user / "mine" and moved.models == user / "mine" / "models"
    assert moved.database == user / "mine" / "toolcrib.db"
    given = {"TOOLCRIB_HOME": str(tmp_path / "here"), "TOOLCRIB_MODELS": "~/models"}
    assert Paths.default(given) == Paths(tmp_path / "here", user / "models")
