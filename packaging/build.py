"""`make bundle`: both programs and the encoder in dist/toolcrib, then a smoke test."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

import manual  # noqa: E402 - needs the path above
import sizes  # noqa: E402

from app.core.paths import Paths  # noqa: E402
from app.encoder.weights import ensure_model, find_model  # noqa: E402 - needs the path above

DIST = ROOT / "dist" / "toolcrib"
SUFFIX = ".exe" if sys.platform == "win32" else ""
# ICU's own empty archive (its stubdata): header and format, then no entries
NO_DATA = bytes.fromhex("2000da27 14000000 00000200 546f4350 01000000") + bytes(28)


def main() -> int:
    """Build, put the desktop files beside it, and start what was built."""
    export_model(ROOT / "build" / "models")
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level=WARN"]
    subprocess.run([*command, str(ROOT / "packaging" / "toolcrib.spec")], check=True, cwd=ROOT)
    strip(DIST)
    empty_icu(DIST)
    add_gateway(DIST)
    add_desktop_files(DIST / "share")
    manual.main(DIST / "share")
    print(f"{DIST.relative_to(ROOT)}: {sizes.size(DIST) / sizes.MB:.0f} MB")
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


def add_gateway(folder: Path) -> None:
    """A second name of the executable, which is the gateway by it (see bundled.py)."""
    gateway = folder / f"toolcrib-gateway{SUFFIX}"
    os.link(folder / f"toolcrib{SUFFIX}", gateway)


def empty_icu(folder: Path) -> None:
    """An empty library in place of ICU's 32 MB of data on Linux.

    Qt links it for sorting by the rules of a language and for old encodings. Toolcrib's texts are
    English, sorted by code, in UTF-8; without data Qt itself falls back to that.
    """
    if sys.platform != "linux" or not (shutil.which("as") and shutil.which("ld")):
        return
    for library in folder.rglob("libicudata.so.*"):
        if library.is_symlink():
            continue
        symbol = f"icudt{library.suffix[1:]}_dat"
        rows = f".globl {symbol}\n.type {symbol},@object\n.size {symbol},{len(NO_DATA)}\n"
        text = (
            f".section .rodata\n.balign 16\n{rows}{symbol}: .byte {','.join(map(str, NO_DATA))}\n"
        )
        with tempfile.TemporaryDirectory() as temporary:
            made = Path(temporary, "made.o")
            subprocess.run(["as", "-o", made], input=text, text=True, check=True)
            linked = [
                "ld",
                "-shared",
                "-z",
                "noexecstack",
                "-soname",
                library.name,
                "-o",
                library,
                made,
            ]
            subprocess.run(linked, check=True)


def add_desktop_files(share: Path) -> None:
    """The desktop entry and its icon, where a package or `cp -r share ~/.local/` expects them."""
    for source, target in (
        ("packaging/toolcrib.desktop", "applications/toolcrib.desktop"),
        ("resources/icons/toolcrib.svg", "icons/hicolor/scalable/apps/toolcrib.svg"),
    ):
        (share / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, share / target)


if __name__ == "__main__":
    sys.exit(main())
