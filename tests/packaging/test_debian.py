"""The bundle and its Debian package: built, installed, started on an X server, removed."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, outside

PLACES = [Path("/usr/lib/toolcrib"), Path("/usr/bin/toolcrib"), Path("/usr/share/doc/toolcrib")]
SMOKE = str(ROOT / "packaging" / "smoke.py")
MB = 1024 * 1024  # as du -m counts
MOST_BUNDLE = 260
MOST_PACKAGE = 130
# what libraries in the bundle need and the bundle lacks, and the package that has it
SYSTEM = {
    **dict.fromkeys(("ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6"), "libc6"),
    **dict.fromkeys(("libpthread.so.0", "librt.so.1"), "libc6"),
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libxcb.so.1": "libxcb1",
}

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
    listed = subprocess.run(["dpkg", "-L", "toolcrib"], check=True, capture_output=True, text=True)
    files = [Path(line) for line in listed.stdout.splitlines() if not Path(line).is_dir()]
    yield Path("/usr/bin")
    subprocess.run(["dpkg", "--purge", "toolcrib"], check=True)
    assert not [path for path in (*PLACES, *files) if path.exists() or path.is_symlink()]


@pytest.fixture
def smoke() -> Iterator[list[str]]:
    """The words that start the smoke test as an ordinary user of the machine."""
    python = shutil.which("python3", path="/usr/bin")
    if python is None or not shutil.which("setpriv"):
        pytest.skip("needs a Python that every user may start")
    folder = Path(tempfile.mkdtemp(prefix="toolcrib-smoke-"))
    folder.chmod(0o755)
    shutil.copy(SMOKE, folder)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    yield [*user, "xvfb-run", "-a", python, str(folder / "smoke.py")]
    shutil.rmtree(folder)


def test_the_bundle_is_small_and_has_no_torch(bundle: Path) -> None:
    files = [f for f in bundle.rglob("*") if f.is_file() and not f.is_symlink()]
    each = {file.stat().st_ino: file.stat().st_size for file in files}  # both programs are one
    print(f"\nbundle: {sum(each.values()) / MB:.0f} MB")
    assert sum(each.values()) <= MOST_BUNDLE * MB
    parts = {part for file in files for part in file.relative_to(bundle).parts}
    assert not parts & {"torch", "transformers", "translations", "libgtk-3.so.0", "sqlalchemy"}


def test_no_library_asks_for_an_executable_stack(bundle: Path) -> None:
    """The C library of newer systems refuses to load one that does."""
    libraries = [f for f in bundle.rglob("*.so*") if f.is_file() and not f.is_symlink()]
    read = ["readelf", "-lW", *libraries]
    segments = subprocess.run(read, check=True, capture_output=True, text=True).stdout.splitlines()
    stacks = [line.split()[-2] for line in segments if "GNU_STACK" in line]
    assert len(stacks) >= len(libraries) - 1 and set(stacks) == {"RW"}


def test_the_package_names_what_the_bundle_leaves_to_the_system(
    bundle: Path, package: Path
) -> None:
    files = [f for f in bundle.rglob("*.so*") if f.is_file() and not f.is_symlink()]
    read = ["readelf", "-dW", bundle / "toolcrib", *files]
    sections = subprocess.run(read, check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", sections))
    missing = needed - {file.name for file in bundle.rglob("*.so*")}
    control = ["dpkg-deb", "-f", package, "Depends", "Recommends"]
    named = subprocess.run(control, check=True, capture_output=True, text=True).stdout
    assert {SYSTEM.get(name, name) for name in missing} <= set(re.findall(r"[\w.+-]+", named))


def test_the_package_is_readable_by_all_and_small(package: Path) -> None:
    print(f"\npackage: {package.stat().st_size / MB:.0f} MB")
    assert package.stat().st_size <= MOST_PACKAGE * MB
    listed = subprocess.run(["dpkg-deb", "-c", package], check=True, capture_output=True, text=True)
    modes = {line.split()[0] for line in listed.stdout.splitlines()}
    assert modes <= {"drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--", "lrwxrwxrwx", "hrwxr-xr-x"}


def test_an_installed_package_is_used_and_leaves_nothing(
    installed: Path, smoke: list[str], tmp_path: Path
) -> None:
    environ = {**outside(Path("/")), "SMOKE_PLATFORM": "xcb"}
    subprocess.run([*smoke, installed], check=True, cwd="/", env=environ, timeout=600)
    page = subprocess.run(
        ["man", "toolcrib"], capture_output=True, text=True, env=outside(tmp_path)
    )
    assert page.returncode or "footprint" in page.stdout  # containers leave manuals out
