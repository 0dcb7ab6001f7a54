"""The installer for Windows: `python packaging/windows.py`, after the bundle; needs Inno Setup."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.core.own_code import own_version  # noqa: E402 - needs the path above


def main() -> int:
    """Build dist/toolcrib-VERSION-setup.exe."""
    if not (ROOT / "dist" / "toolcrib" / "toolcrib-gateway.exe").is_file():
        raise SystemExit("There is no bundle in dist/toolcrib: python packaging/build.py")
    compiler = shutil.which("iscc")
    if compiler is None:
        raise SystemExit("Inno Setup's iscc is not on PATH: winget install JRSoftware.InnoSetup")
    script = ROOT / "packaging" / "windows.iss"
    return subprocess.call([compiler, "/Qp", f"/DVersion={own_version()}", str(script)])


if __name__ == "__main__":
    sys.exit(main())
