"""pip, uv and pipx install the wheels into clean Pythons, and what they installed is used.

The wheels of dependencies are fetched first (by pip, from its usual sources); installing and
everything after it runs without a network.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, outside

SMOKE = str(ROOT / "packaging" / "smoke.py")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
MB = 1024 * 1024  # as du -m counts
MOST_INSTALLED = 530
MOST_FETCHED = 200
MOST_CORE = 290
MOST_CORE_FETCHED = 115

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(1200)]


def python_of(version: str) -> Path | None:
    """An interpreter of that version on this machine: pyenv's newest, else one on PATH."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    kept = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    on_path = shutil.which(f"python{version}")
    return kept[-1] if kept else Path(on_path) if on_path else None


PYTHONS = [(version, found) for version in VERSIONS if (found := python_of(version))]


@pytest.fixture(scope="session")
def offline() -> list[str]:
    """The words that start a program without a network; none where the system has no such way."""
    words = ["unshare", "--net"]
    able = shutil.which("unshare") and subprocess.run([*words, "true"]).returncode == 0
    return words if able else []


@pytest.fixture(scope="session")
def house(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our wheels and those of every dependency, for each Python here."""
    folder = tmp_path_factory.mktemp("house")
    for version, _ in PYTHONS:
        fetch(folder, "toolcrib", wheels, version)
    return folder


def fetch(folder: Path, name: str, wheels: Path, version: str) -> None:
    """Download what installing `name` takes; skip the test where no package source answers."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:"]
    done = subprocess.run(
        [*pip, "--python-version", version, "-d", folder, "--find-links", wheels, name],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"no package source answers: {done.stderr[-300:]}")


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The programs' folder of an environment with uv and pipx."""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "uv", "pipx"]
    if subprocess.run(pip).returncode:
        pytest.skip("no package source answers")
    yield folder / "bin"
    shutil.rmtree(folder)


def use(programs: Path, home: Path, offline: list[str], *steps: str) -> str:
    """Walk from a config file to a called gateway, and to the window on an X server."""
    screen = ["xvfb-run", "-a"] if shutil.which("xvfb-run") else []
    platform = {"SMOKE_PLATFORM": "xcb"} if screen else {}
    done = subprocess.run(
        [*offline, *screen, sys.executable, SMOKE, str(programs), *steps],
        env=outside(home) | platform,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "route, with the encoder" in done.stdout
    return done.stdout


def size(folder: Path) -> float:
    """MB of all files but pip itself and compiled modules, which depend on the installer."""
    files = (f for f in folder.rglob("*") if f.is_file() and not f.is_symlink())
    ours = (f for f in files if not {"__pycache__", "pip"} & set(f.parts))
    return sum(file.stat().st_size for file in ours) / MB


def has_torch(folder: Path) -> bool:
    return any(folder.glob("lib/python3*/site-packages/torch"))


@pytest.mark.parametrize(("version", "python"), PYTHONS, ids=[version for version, _ in PYTHONS])
def test_pip_installs_into_a_clean_python(
    version: str, python: Path, house: Path, offline: list[str], tmp_path: Path
) -> None:
    place = tmp_path / "environment"
    subprocess.run([python, "-m", "venv", place], check=True)
    pip = [place / "bin" / "pip", "install", "-q", "--no-index", "--find-links", house]
    subprocess.run([*offline, *pip, "toolcrib"], check=True, env=outside(tmp_path))
    print(f"\n{version}: {size(place):.0f} MB installed", use(place / "bin", tmp_path, offline))
    assert not has_torch(place)
    assert size(place) <= MOST_INSTALLED


def test_the_core_has_no_qt_and_is_small(
    house: Path, wheels: Path, offline: list[str], tmp_path: Path
) -> None:
    place = tmp_path / "environment"
    subprocess.run([PYTHONS[0][1], "-m", "venv", place], check=True)
    pip = [place / "bin" / "pip", "install", "-q", "--no-index"]
    links = ["--find-links", house, "--find-links", wheels]
    subprocess.run([*offline, *pip, *links, "toolcrib-core"], check=True, env=outside(tmp_path))
    steps = ("command_line", "server", "encoder", "export", "gateway")
    use(place / "bin", tmp_path, offline, *steps)
    assert not any(place.glob("lib/python3*/site-packages/PySide6"))
    print(f"\ncore: {size(place):.0f} MB installed")
    assert size(place) <= MOST_CORE


def test_uv_installs_it_as_a_tool(
    house: Path, tools: Path, offline: list[str], tmp_path: Path
) -> None:
    environ = outside(tmp_path) | {
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
    }
    uv = [tools / "uv", "tool", "install", "--offline", "--no-index", "--find-links", house]
    command = [*offline, *uv, "--python", PYTHONS[-1][1], "toolcrib"]
    subprocess.run(command, check=True, env=environ)
    use(tmp_path / "bin", tmp_path, offline)
    print(f"\nuv: {size(tmp_path / 'tools'):.0f} MB installed")
    assert not has_torch(tmp_path / "tools" / "toolcrib")
    subprocess.run([tools / "uv", "tool", "uninstall", "toolcrib"], check=True, env=environ)
    assert not list((tmp_path / "bin").iterdir())


def test_pipx_installs_it(
    house: Path, wheels: Path, tools: Path, offline: list[str], tmp_path: Path
) -> None:
    fetch(house, "pip>=26.1", wheels, PYTHONS[0][0])  # pipx renews the pip that it keeps
    environ = outside(tmp_path) | {
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_DEFAULT_PYTHON": str(PYTHONS[0][1]),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(house),
    }
    command = [*offline, tools / "pipx", "install", "--backend", "pip", "toolcrib"]
    subprocess.run(command, check=True, env=environ)
    use(tmp_path / "bin", tmp_path, offline)
    subprocess.run([tools / "pipx", "uninstall", "toolcrib"], check=True, env=environ)
    assert not list((tmp_path / "bin").iterdir())


def test_what_is_fetched_is_small(house: Path, wheels: Path, tmp_path: Path) -> None:
    """Of one Python; the folder has what differs between versions several times."""
    fetch(tmp_path, "toolcrib-core", wheels, PYTHONS[0][0])
    for folder, most in ((house, MOST_FETCHED), (tmp_path, MOST_CORE_FETCHED)):
        names: dict[str, int] = {}
        for wheel in folder.glob("*.whl"):
            name = wheel.name.split("-")[0]
            names[name] = max(names.get(name, 0), wheel.stat().st_size)
        fetched = sum(names.values()) / MB
        print(f"\n{fetched:.0f} MB fetched, at most {most}")
        assert fetched <= most
