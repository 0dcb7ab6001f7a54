"""Installs the pinned real servers into .servers/ at the repository root, once."""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / ".servers"


def main() -> int:
    """0 when everything that can be installed is installed; 1 in CI without Node."""
    TARGET.mkdir(exist_ok=True)
    with ThreadPoolExecutor() as pool:  # they wait for the network and the disk
        parts = [
            pool.submit(_python_part, "python", HERE / "requirements.txt"),
            pool.submit(_python_part, "python-mcp1", HERE / "requirements-mcp1.txt"),
            # starts packages of PyPI
            pool.submit(_python_part, "uv", HERE / "requirements-uv.txt"),
            pool.submit(_npm_part, "npm", HERE),
            pool.submit(_npm_part, "conformance", HERE / "conformance"),
        ]
    return max(part.result() for part in parts)


def _python_part(name: str, requirements: Path) -> int:
    folder = TARGET / name
    wanted = _digest(requirements, sys.version)
    if _stamped(folder, wanted):
        return 0
    print(f"Installing {requirements.name} into {folder.relative_to(ROOT)}")
    venv.create(folder, clear=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", python]  # three pips less to install
    subprocess.run([*pip, "install", "--quiet", "-r", requirements], check=True, cwd=HERE)
    _stamp(folder, wanted)
    return 0


def _npm_part(name: str, source: Path) -> int:
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        print("Node is not installed: the npm servers are left out and their tests skip.")
        return 1 if os.environ.get("CI") else 0
    folder = TARGET / name
    files = [f for f in (source / "package.json", source / "package-lock.json") if f.is_file()]
    wanted = _digest(files[-1], "")
    if _stamped(folder, wanted):
        return 0
    print(f"Installing {source.name}/package.json into {folder.relative_to(ROOT)}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder / file.name)
    verb = "ci" if len(files) > 1 else "install"
    command = [npm, verb, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    subprocess.run(command, check=True, cwd=folder)
    _stamp(folder, wanted)
    return 0


def _digest(file: Path, more: str) -> str:
    return hashlib.sha256(file.read_bytes() + more.encode()).hexdigest()


def _stamped(folder: Path, wanted: str) -> bool:
    stamp = folder / ".stamp"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted


def _stamp(folder: Path, wanted: str) -> None:
    (folder / ".stamp").write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
