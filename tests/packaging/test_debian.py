"""The bundle and its Debian package: built, installed, started on an X server, removed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, outside

PLACES = [Path("/usr/lib/toolcrib"), Path("/usr/bin/toolcrib"), Path("/usr/share/doc/toolcrib")]
SMOKE = str(ROOT / "packaging" / "smoke.py")
MOST_BUNDLE = 350_000_000  # bytes; numpy, onnxruntime, ICU and the encoder are 180 of them
MOST_PACKAGE = 170_000_000

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def bundle() -> Path:
    """The folder that `make bundle` builds, which ends with the smoke test."""
    if sys.platform != "linux" or not shutil.which("dpkg-deb"):
        pytest.skip("Debian's tools are not here")
    script = str(ROOT / "packaging" / "build.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    if "No module named PyInstaller" in done.stderr:
        pytest.skip("pip install -e '.[bundle]' brings PyInstaller")
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "dist" / "toolcrib"


@pytest.fixture(scope="module")
def package(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deb")
    command = [sys.executable, ROOT / "packaging" / "deb.py", bundle, folder]
    subprocess.run(command, check=True)
    (file,) = folder.glob("*.deb")
    return file


@pytest.fixture
def installed(package: Path) -> Iterator[Path]:
    """The programs' folder after dpkg installed the package; purged afterwards."""
    if os.geteuid() or any(place.exists() for place in PLACES):
        pytest.skip("needs root, on a machine where Toolcrib is not installed")
    subprocess.run(["dpkg", "--install", package], check=True)
    yield Path("/usr/bin")
    subprocess.run(["dpkg", "--purge", "toolcrib"], check=True)
    assert not [place for place in PLACES if place.exists()]


def test_the_bundle_is_small_and_has_no_torch(bundle: Path) -> None:
    files = [f for f in bundle.rglob("*") if f.is_file() and not f.is_symlink()]
    assert sum(file.stat().st_size for file in files) <= MOST_BUNDLE
    parts = {part for file in files for part in file.relative_to(bundle).parts}
    assert not parts & {"torch", "transformers", "translations", "libgtk-3.so.0"}


def test_the_package_is_readable_by_all_and_small(package: Path) -> None:
    assert package.stat().st_size <= MOST_PACKAGE
    listed = subprocess.run(["dpkg-deb", "-c", package], check=True, capture_output=True, text=True)
    modes = {line.split()[0] for line in listed.stdout.splitlines()}
    assert modes <= {"drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--", "lrwxrwxrwx"}


def test_an_installed_package_is_used_and_leaves_nothing(installed: Path, tmp_path: Path) -> None:
    steps = ("command_line", "server", "encoder", "gateway")
    subprocess.run(
        [sys.executable, SMOKE, installed, *steps], check=True, env=outside(tmp_path), timeout=300
    )
    environ = {**outside(tmp_path), "SMOKE_PLATFORM": "xcb"}
    window = ["xvfb-run", "-a", sys.executable, SMOKE, installed, "window"]
    subprocess.run(window, check=True, env=environ, timeout=120)
    page = subprocess.run(
        ["man", "toolcrib"], capture_output=True, text=True, env=outside(tmp_path)
    )
    assert page.returncode or "footprint" in page.stdout  # containers leave manuals out
