"""Other Python processes run our packages, whatever else is called `app`."""

import os
import subprocess
from pathlib import Path

import pytest

from app.core.own_code import own_python, own_version, top_folder

SAY = "import app.core.errors; print(app.core.errors.__file__, sys.argv[1:])"


@pytest.mark.parametrize("place", ["working folder", "PYTHONPATH", "both"])
def test_a_folder_app_of_another_project_is_not_run(tmp_path: Path, place: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise SystemExit('another project ran')")
    environ = dict(os.environ)
    if place != "working folder":
        environ["PYTHONPATH"] = str(tmp_path)
    folder = Path("/") if place == "PYTHONPATH" else tmp_path
    done = subprocess.run(
        own_python(SAY, "a", "b"), cwd=folder, env=environ, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout == f"{top_folder()}/app/core/errors.py ['a', 'b']\n"


def test_the_version_is_that_of_the_metadata() -> None:
    from importlib.metadata import version

    assert own_version() == version("toolcrib")
