"""A disk image of the bundle for macOS: `python packaging/dmg.py [BUNDLE] [FOLDER]`.

Toolcrib.app holds both programs. It is signed with APPLE_IDENTITY where that is set, else only for
this machine. `application` can be tried on any system; images and signatures need macOS.
"""

import os
import platform
import plistlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.core.own_code import own_version  # noqa: E402 - needs the path above

PROGRAMS = ("toolcrib", "toolcrib-gateway")
# the first bytes of what has to be signed as code: Mach-O of 32 and 64 bits, and of several kinds
CODE = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
# Python makes machine code for callbacks of ctypes, and loads libraries that others have signed
RIGHTS = {
    "com.apple.security.cs.allow-unsigned-executable-memory": True,
    "com.apple.security.cs.disable-library-validation": True,
}


def main(bundle: Path, folder: Path) -> int:
    """Build the image and say where it is."""
    if not (bundle / PROGRAMS[1]).is_file():
        raise SystemExit(f"There is no bundle in {bundle}: make bundle")
    if sys.platform != "darwin":
        raise SystemExit("Only macOS makes disk images.")
    image = folder / f"toolcrib-{own_version()}-{platform.machine()}.dmg"
    with tempfile.TemporaryDirectory(prefix="toolcrib-dmg-") as temporary:
        stage = Path(temporary, "stage")
        app = application(bundle, stage)
        sign(app, os.environ.get("APPLE_IDENTITY", "-"), Path(temporary, "rights.plist"))
        (stage / "Applications").symlink_to("/Applications")
        made = ["hdiutil", "create", "-ov", "-volname", "Toolcrib", "-format", "UDZO"]
        subprocess.run([*made, "-srcfolder", stage, image], check=True)
    print(image)
    return 0


def application(bundle: Path, folder: Path) -> Path:
    """Lay the bundle out as macOS wants it: code in Frameworks, all else in Resources.

    Each folder holds a link to what is in the other, so that programs find their files in both.
    """
    contents = folder / "Toolcrib.app" / "Contents"
    (contents / "MacOS").mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy2(bundle / name, contents / "MacOS" / name)
    inside = bundle / "_internal"
    for file in sorted(f for f in inside.rglob("*") if f.is_symlink() or f.is_file()):
        place = file.relative_to(inside)
        own, other = ("Frameworks", "Resources") if is_code(file) else ("Resources", "Frameworks")
        for side in (own, other):
            (contents / side / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, contents / own / place, follow_symlinks=False)
        up = Path(*[".."] * len(place.parts))
        (contents / other / place).symlink_to(up / own / place)
    (contents / "Info.plist").write_bytes(plistlib.dumps(about()))
    return contents.parent


def is_code(file: Path) -> bool:
    """True for a file that is signed as code, or a link to one."""
    with file.open("rb") as opened:
        return opened.read(4) in CODE


def about() -> dict[str, object]:
    """Return what macOS reads of the application."""
    return {
        "CFBundleName": "Toolcrib",
        "CFBundleIdentifier": "io.toolcrib.Toolcrib",
        "CFBundleExecutable": PROGRAMS[0],
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": own_version(),
        "CFBundleVersion": own_version(),
        "LSMinimumSystemVersion": "13.0",
        "NSHighResolutionCapable": True,
    }


def sign(app: Path, identity: str, rights: Path) -> None:
    """Sign every piece of code, the innermost first, then the whole."""
    rights.write_bytes(plistlib.dumps(RIGHTS))
    command = ["codesign", "--force", "--options", "runtime", "--sign", identity]
    command += [] if identity == "-" else ["--timestamp"]
    inner = [f for f in (app / "Contents" / "Frameworks").rglob("*") if not f.is_symlink()]
    for file in sorted((f for f in inner if f.is_file()), key=lambda f: -len(f.parts)):
        subprocess.run([*command, file], check=True)
    own = [*command, "--entitlements", rights]
    subprocess.run([*own, app / "Contents" / "MacOS" / PROGRAMS[1]], check=True)
    subprocess.run([*own, app], check=True)


if __name__ == "__main__":
    given = [Path(word).resolve() for word in sys.argv[1:]]
    sys.exit(main(*(given + [ROOT / "dist" / "toolcrib", ROOT / "dist"][len(given) :])))
