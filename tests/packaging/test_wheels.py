"""The wheels that users install, from the file to a started gateway."""

import configparser
import json
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from app.gateway.serving.mode import VERSION
from tests.packaging.conftest import ROOT, outside

PACKAGES = ("app", "ui", "store", "resources")
SMOKE = str(ROOT / "packaging" / "smoke.py")


def only(folder: Path, pattern: str) -> Path:
    (file,) = folder.glob(pattern)
    return file


@pytest.fixture(scope="session")
def installed(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' folder of an environment that has our wheels, and borrows their dependencies.

    It sees this environment's packages, but not the checkout.
    """
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = only(folder, "lib/python3*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "-q"]
    files = [str(only(wheels, "toolcrib-*.whl")), str(only(wheels, "toolcrib_encoder-*.whl"))]
    # the checkout's own metadata is on the path, so pip would take it for installed
    options = ["--no-index", "--no-deps", "--ignore-installed", "--no-compile"]
    subprocess.run([*pip, *options, *files], check=True)
    return folder / "bin"


def test_a_wheel_has_one_package_and_depends_on_no_torch(wheels: Path) -> None:
    with zipfile.ZipFile(only(wheels, "toolcrib-*.whl")) as wheel:
        names = wheel.namelist()
        metadata = wheel.read("toolcrib-0.1.0.dist-info/METADATA").decode()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"toolcrib", "toolcrib-0.1.0.dist-info"}
    sources = [f for p in PACKAGES for f in (ROOT / p).rglob("*") if f.is_file()]
    wanted = {
        f"toolcrib/_lib/{file.relative_to(ROOT).as_posix()}"
        for file in sources
        if "__pycache__" not in file.parts
    }
    assert wanted <= set(names)
    needed = [
        line
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist") and "extra ==" not in line
    ]
    assert any("toolcrib-encoder==" in line for line in needed)
    assert not any(heavy in line for line in needed for heavy in ("torch", "transformers", "onnx<"))
    assert 'Requires-Dist: sentence-transformers<7,>=6; extra == "models"' in metadata


def test_the_data_wheel_fits_pypi_and_is_readable_by_all(wheels: Path) -> None:
    wheel = only(wheels, "toolcrib_encoder-*.whl")
    assert wheel.stat().st_size < 40_000_000  # PyPI takes 100 MB
    with zipfile.ZipFile(wheel) as archive:
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100644}
        assert any(name.endswith("licenses/NOTICE") for name in archive.namelist())


HELP = """
import sys
from pathlib import Path
sys.path = [sys.argv[1], *(p for p in sys.path if not Path(p, "ui").is_dir())]
from app.cli.program import main
sys.exit(main(["--help"]))
"""


def test_the_core_wheel_has_no_window(wheels: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(only(wheels, "toolcrib_core-*.whl")) as wheel:
        names = wheel.namelist()
        wheel.extractall(tmp_path)
        metadata = wheel.read("toolcrib_core-0.1.0.dist-info/METADATA").decode()
    assert not any("_lib/ui/" in name for name in names)
    assert "Name: toolcrib-core\n" in metadata
    assert "PySide6" not in metadata.split("\n\n")[0] and "pyqtgraph" not in metadata
    command = [sys.executable, "-P", "-c", HELP, str(tmp_path / "toolcrib" / "_lib")]
    page = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "exit codes" in page and "the window opens" not in page


def test_the_source_builds_the_same_wheel(wheels: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    source = str(only(wheels, "toolcrib-*.tar.gz"))
    subprocess.run([*command, "--no-index", "-w", str(tmp_path), source], check=True)
    built, published = only(tmp_path, "*.whl"), only(wheels, "toolcrib-*.whl")
    with zipfile.ZipFile(built) as one, zipfile.ZipFile(published) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        needs = "toolcrib-0.1.0.dist-info/METADATA"
        assert one.read(needs) == other.read(needs)


def test_an_installed_wheel_scans_routes_and_serves(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            SMOKE,
            str(installed),
            "command_line",
            "server",
            "encoder",
            "export",
            "gateway",
        ],
        env=outside(tmp_path),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "route, with the encoder" in done.stdout


def test_every_program_of_the_project_is_in_the_wheels(wheels: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for pattern in ("toolcrib-*.whl", "toolcrib_core-*.whl"):
        with zipfile.ZipFile(only(wheels, pattern)) as wheel:
            (name,) = (one for one in wheel.namelist() if one.endswith("/entry_points.txt"))
            points = configparser.ConfigParser()
            points.read_string(wheel.read(name).decode())
        assert set(points["console_scripts"]) == set(project["scripts"])


def test_the_team_program_starts_and_names_its_extra_where_that_is_missing(
    installed: Path, tmp_path: Path
) -> None:
    def run(code: str, word: str = "--help") -> subprocess.CompletedProcess[str]:
        command = [str(installed / "python"), "-c", code, word]
        return subprocess.run(
            command, env=outside(tmp_path), capture_output=True, text=True, timeout=60
        )

    start = "from toolcrib.start import team; sys.exit(team())"
    assert run(f"import sys; {start}").stdout.startswith("usage: toolcrib-team")
    assert run(f"import sys; {start}", "--version").stdout == "toolcrib-team 0.1.0\n"
    without = run(f"import sys; sys.modules['psycopg'] = None; {start}")
    assert without.returncode == 1
    assert without.stderr == (
        "toolcrib-team: psycopg is not installed.\n  Install it: pip install 'toolcrib[team]'\n"
    )


def test_the_gateway_says_its_usage_and_version(installed: Path, tmp_path: Path) -> None:
    def run(word: str) -> subprocess.CompletedProcess[str]:
        command = [str(installed / "toolcrib-gateway"), word]
        return subprocess.run(
            command, env=outside(tmp_path), capture_output=True, text=True, timeout=60
        )

    usage = run("--help")
    assert (usage.returncode, usage.stderr) == (0, "")
    assert usage.stdout.startswith("usage: toolcrib-gateway --profile NAME")
    assert run("--version").stdout == "toolcrib-gateway 0.1.0\n"


def test_the_gateway_names_the_projects_version_to_hosts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION


def test_a_folder_app_on_the_path_of_another_project_is_not_run(
    installed: Path, tmp_path: Path
) -> None:
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('another project ran')")
    environ = {**outside(tmp_path), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [installed / "toolcrib", "doctor", "--json"],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["version"]["text"] == "Toolcrib 0.1.0"
    assert checks["encoder"]["text"].startswith("all-MiniLM-L6-v2@")
    assert "another project ran" not in done.stderr
