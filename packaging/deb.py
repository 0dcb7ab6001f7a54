"""A Debian package of the bundle: `python packaging/deb.py [BUNDLE] [FOLDER]`.

The bundle (dist/toolcrib, by `make bundle`) comes to /usr/lib/toolcrib; both programs, the desktop
entry, the man page and the completions where Debian has them.
"""

import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.core.own_code import own_version  # noqa: E402 - needs the path above

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# what PyInstaller leaves to the system; the rest of Qt's libraries is in the bundle
CONTROL = """\
Package: toolcrib
Version: {version}
Architecture: {architecture}
Maintainer: The Toolcrib authors <toolcrib@example.invalid>
Installed-Size: {kilobytes}
Depends: libc6 (>= 2.36), libegl1, libgl1, libfontconfig1, libxcb1, libx11-6, libdbus-1-3
Recommends: libwayland-client0, libwayland-cursor0
Section: devel
Priority: optional
Description: See what your MCP servers cost, switch tools off, write trimmed host configs
 Reads the configuration files of MCP hosts, counts what every tool of every
 server costs, and writes trimmed files, or serves them by its own gateway.
"""


def main(bundle: Path, folder: Path) -> int:
    """Build the package and say where it is."""
    if not (bundle / "toolcrib-gateway").is_file():
        raise SystemExit(f"There is no bundle in {bundle}: make bundle")
    architecture = ARCHITECTURES[platform.machine()]
    package = folder / f"toolcrib_{own_version()}_{architecture}.deb"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="toolcrib-deb-") as temporary:
        tree = Path(temporary, "tree")
        fill(tree, bundle)
        write_control(tree, architecture)
        close_modes(tree)
        # zstd: a third of xz's time for a tenth more bytes
        command = ["dpkg-deb", "-Zzstd", "--root-owner-group", "--build", str(tree), str(package)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"{package}: {package.stat().st_size / 1e6:.0f} MB")
    return 0


def fill(tree: Path, bundle: Path) -> None:
    """Put every file where it will be installed."""
    lib = tree / "usr" / "lib" / "toolcrib"
    lib.parent.mkdir(parents=True)
    subprocess.run(["cp", "-a", bundle, lib], check=True)  # with its hard links
    shutil.move(lib / "share", tree / "usr" / "share")
    bin_ = tree / "usr" / "bin"
    bin_.mkdir()
    for program in ("toolcrib", "toolcrib-gateway"):
        (bin_ / program).symlink_to(f"../lib/toolcrib/{program}")
    doc = tree / "usr" / "share" / "doc" / "toolcrib"
    doc.mkdir(parents=True)
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("LICENSE", "NOTICE")]
    (doc / "copyright").write_text("\n\n".join(texts), encoding="utf-8")


def write_control(tree: Path, architecture: str) -> None:
    """Write what dpkg needs to know."""
    files = (f for f in tree.rglob("*") if f.is_file() and not f.is_symlink())
    text = CONTROL.format(
        version=own_version(),
        architecture=architecture,
        kilobytes=sum(file.stat().st_size for file in files) // 1024,
    )
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN" / "control").write_text(text, encoding="utf-8")


def close_modes(tree: Path) -> None:
    """Let every user of the machine read, and none but root write."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runs else 0o644)


if __name__ == "__main__":
    given = [Path(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [ROOT / "dist" / "toolcrib", ROOT / "dist"][len(given) :])))
