"""What is published, built once a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the four files that `make wheels` builds."""
    folder = tmp_path_factory.mktemp("wheels")
    done = subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "wheels.py"), str(folder)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    if done.returncode and "differ in last bits between processors" in done.stderr:
        pytest.skip(done.stderr)  # the published encoder was exported on another kind of machine
    assert done.returncode == 0, done.stderr
    return folder


def outside(home: Path) -> dict[str, str]:
    """The environment of a user who has no checkout."""
    keep = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TOOLCRIB_TEST_RUN")
    own = {name: os.environ[name] for name in keep if name in os.environ}
    return {**own, "HOME": str(home), "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
