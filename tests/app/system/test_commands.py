"""Commands are found where people have them, and get the variables that are theirs."""

import os
import shutil
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.system import commands


def test_our_own_variables_stay_ours_and_the_servers_win() -> None:
    env = commands.child_environment(
        {"TOOLCRIB_HOME": "x", "PATH": "/bin", "A": "1", "B": "2"}, {"B": "3"}
    )
    assert "TOOLCRIB_HOME" not in env
    assert (env["A"], env["B"]) == ("1", "3")


def test_a_path_without_node_finds_the_folders_people_use(tmp_path: Path) -> None:
    for version in ("v9.1.0", "v20.2.0"):
        (tmp_path / ".nvm/versions/node" / version / "bin").mkdir(parents=True)
    folders = commands.search_path({"HOME": str(tmp_path), "PATH": "/bin"}).split(os.pathsep)
    assert folders[0] == "/bin"
    mine = [folder for folder in folders if folder.startswith(str(tmp_path))]
    assert [Path(folder).parent.name for folder in mine] == ["v20.2.0", "v9.1.0"]


def test_a_relative_command_is_looked_up_in_the_servers_folder(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "server"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    assert commands.find_command("./bin/server", {"PATH": "/bin"}, str(tmp_path)) == str(script)


def test_a_command_is_the_one_that_a_shell_would_run(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "folder").mkdir()
    (folders[0] / "plain").write_text("", encoding="utf-8")
    for folder in folders[1:]:
        for name in ("folder", "plain", "both"):
            (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (folder / name).chmod(0o755)
    path = os.pathsep.join(["/nonexistent", *map(str, folders)])
    for name in ("folder", "plain", "both", str(folders[2] / "both")):
        assert commands.find_command(name, {"PATH": path}) == shutil.which(name, path=path)
    for name in ("none", "", str(tmp_path), str(folders[0] / "plain")):
        assert shutil.which(name, path=path) is None
        with pytest.raises(ToolcribError):
            commands.find_command(name, {"PATH": path})
