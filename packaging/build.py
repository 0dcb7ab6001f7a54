"""`make bundle`: both programs and the encoder in dist/toolcrib, then a smoke test."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

import manual  # noqa: E402 - needs the path above

from app.core.paths import Paths  # noqa: E402
from app.encoder.weights import ensure_model, find_model  # noqa: E402 - needs the path above

DIST = ROOT / "dist" / "toolcrib"


def main() -> int:
    """Build, put the desktop files beside it, and start what was built."""
    export_model(ROOT / "build" / "models")
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level=WARN"]
    subprocess.run([*command, str(ROOT / "packaging" / "toolcrib.spec")], check=True, cwd=ROOT)
    strip(DIST)
    add_desktop_files(DIST / "share")
    manual.main(DIST / "share")
    print(f"{DIST.relative_to(ROOT)}: {size(DIST) / 1e6:.0f} MB")
    return subprocess.call([sys.executable, str(ROOT / "packaging" / "smoke.py"), str(DIST)])


def export_model(folder: Path) -> None:
    """The default encoder, and nothing else, in `folder`; copied if it was exported before."""
    shutil.rmtree(folder, ignore_errors=True)
    known = find_model(Paths.default())
    if known:
        shutil.copytree(known.onnx.parent, folder / known.onnx.parent.name)
    ensure_model(Paths(folder, folder), progress=lambda step, _done: print(step, flush=True))


def strip(folder: Path) -> None:
    """Take the symbols out of libraries, a tenth of the bundle; not of repaired ones.

    What auditwheel repaired (numpy.libs) and Qt have moved sections, which strip can break.
    """
    if sys.platform != "linux" or not shutil.which("strip"):
        return
    for file in folder.rglob("*.so*"):
        if file.is_symlink() or file.stat().st_size < 500_000:
            continue
        if not any(part.endswith(".libs") or part == "PySide6" for part in file.parts):
            subprocess.run(["strip", "--strip-unneeded", str(file)], check=True)


def add_desktop_files(share: Path) -> None:
    """The desktop entry and its icon, where a package or `cp -r share ~/.local/` expects them."""
    for source, target in (
        ("packaging/toolcrib.desktop", "applications/toolcrib.desktop"),
        ("resources/icons/toolcrib.svg", "icons/hicolor/scalable/apps/toolcrib.svg"),
    ):
        (share / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, share / target)


def size(folder: Path) -> int:
    """Bytes of all files, links not followed."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and not f.is_symlink())


if __name__ == "__main__":
    sys.exit(main())
