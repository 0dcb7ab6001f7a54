"""Sizes of what users fetch and install, as a report for tests/bench/RESULTS.md.

`python packaging/sizes.py` builds the wheels, fetches and installs each program into a clean
environment of this Python, and measures a bundle and a package that `make deb` left in dist.
`make bench ONLY=sizes` puts the report into the document.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

import wheels  # noqa: E402 - needs the path above

MB = 1024 * 1024
MOST = {"toolcrib": (200, 530), "toolcrib-core": (115, 290)}  # MB fetched and installed
MOST_BUNDLE = 260
VARIES = {"__pycache__", "pip"}  # with who installs


def main() -> int:
    """Print the report as JSON; progress goes to standard error."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-sizes-") as temporary:
        folder = Path(temporary, "wheels")
        with contextlib.redirect_stdout(sys.stderr):
            wheels.main(folder)
        rows = [row for name in MOST for row in measure(name, folder, Path(temporary, name))]
    rows += built(ROOT / "dist")
    table = {"title": "What users install", "kinds": {"MB": "measured"}, "rows": rows}
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    notes = [
        f"MB of 1,048,576 bytes, a hard link once; Python {version}, without pip and compiled "
        "modules. No torch.",
        "`make test-all` installs, starts and removes each of them, the wheels without a network.",
    ]
    print(json.dumps({"experiment": "packaging/sizes.py", "tables": [table], "notes": notes}))
    return 0


def measure(name: str, folder: Path, place: Path) -> Iterator[dict[str, object]]:
    """Rows of a program: what pip fetches, and what is in an environment with it."""
    fetched, environment = place / "fetched", place / "environment"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    links = ["--find-links", str(folder)]
    download = [*pip, "download", "-q", "--only-binary=:all:", *links, "-d", str(fetched), name]
    subprocess.run(download, check=True)
    most_fetched, most_installed = MOST[name]
    yield row(f"{name}: fetched", size(fetched), most_fetched)
    venv.create(environment, with_pip=True)
    own = [environment / "bin" / "python", "-m", "pip", "install", "-q", "--no-index"]
    subprocess.run([*own, "--find-links", fetched, name], check=True)
    if any(environment.glob("lib/python3*/site-packages/torch")):
        raise SystemExit(f"{name} brought torch")
    files = [f for f in environment.rglob("*") if f.is_file() and not f.is_symlink()]
    ours = sum(f.stat().st_size for f in files if not VARIES & set(f.parts))
    yield row(f"{name}: installed", ours, most_installed)


def built(dist: Path) -> Iterator[dict[str, object]]:
    """Rows of a bundle and its Debian package, where they are built."""
    bundle = dist / "toolcrib"
    if bundle.is_dir():
        yield row("bundle: Python, Qt and encoder in a folder", size(bundle), MOST_BUNDLE)
    for package in dist.glob("*.deb"):
        yield row("Debian package: fetched", package.stat().st_size, 0)


def size(folder: Path) -> int:
    """Bytes of all files, each once: links are not followed, and hard links are one file."""
    entries = [f.lstat() for f in folder.rglob("*") if f.is_file() and not f.is_symlink()]
    return sum({(one.st_dev, one.st_ino): one.st_size for one in entries}.values())


def row(what: str, taken: int, most: int) -> dict[str, object]:
    """A row of the report; `most` is 0 where there is no bound."""
    value = round(taken / MB)
    kept = ("yes" if value <= most else "no") if most else ""
    return {"what": what, "MB": value, "bound": most or "", "kept": kept}


if __name__ == "__main__":
    sys.exit(main())
