"""Builds what is published: `python packaging/wheels.py [FOLDER]` (dist/wheels).

toolcrib (wheel and source), toolcrib-core (no window) and toolcrib-encoder (the default encoder's
graph and tokenizer as data). Then `pip install --find-links FOLDER toolcrib`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

import wheel_backend  # noqa: E402 - needs the path above

from app.core.paths import Paths  # noqa: E402
from app.encoder.packaged import ENCODER_SHA256, PACKAGE, VERSION  # noqa: E402
from app.encoder.weights import ensure_model  # noqa: E402

SOURCES = ("app", "ui", "store", "resources", "packaging")
DOCUMENTS = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
METADATA = f"""\
Metadata-Version: 2.4
Name: toolcrib-encoder
Version: {VERSION}
Summary: The encoder of Toolcrib as data: all-MiniLM-L6-v2 with Toolcrib's changes, int8 ONNX.
License-Expression: Apache-2.0
License-File: NOTICE
Requires-Python: >=3.11

Data only. Toolcrib reads these files if their SHA-256 are those in its code.
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: toolcrib packaging/wheels.py
Root-Is-Purelib: true
Tag: py3-none-any
"""


def main(folder: Path) -> int:
    """Build all four files into `folder` and print their sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    build_encoder(folder)
    build_programs(folder)
    for file in sorted(folder.glob("toolcrib*")):
        print(f"{file.stat().st_size / 1e6:6.1f} MB  {file}")
    return 0


def build_encoder(folder: Path) -> Path:
    """Build the data wheel of this checkout's own export; its hashes must be those in the code."""
    home = Paths.default()
    exports = home.models if "TOOLCRIB_MODELS" in os.environ else ROOT / ".venv" / "models"
    model = ensure_model(Paths(home.home, exports), progress=lambda step, _: print(step))
    source = model.onnx.parent
    for name, expected in ENCODER_SHA256.items():
        digest = hashlib.sha256((source / name).read_bytes()).hexdigest()
        if digest != expected:
            raise SystemExit(
                f"{source / name} has the SHA-256 {digest}, and app/encoder/packaged.py another"
                " one. Exports differ in last bits between processors and package versions: to"
                " publish this one, put its SHA-256 and a new version there."
            )
    names = ("model.onnx", "tokenizer.json", "model.json")
    info = f"{PACKAGE}-{VERSION}.dist-info"
    files = {
        f"{PACKAGE}/__init__.py": b'"""The encoder of Toolcrib, as data."""\n',
        **{f"{PACKAGE}/{source.name}/{name}": (source / name).read_bytes() for name in names},
        f"{info}/METADATA": METADATA.encode(),
        f"{info}/WHEEL": WHEEL.encode(),
        f"{info}/licenses/NOTICE": (ROOT / "NOTICE").read_bytes(),
    }
    wheel = folder / f"{PACKAGE}-{VERSION}-py3-none-any.whl"
    wheel_backend.write(wheel, files)
    return wheel


def build_programs(folder: Path) -> None:
    """Build toolcrib and toolcrib-core from a copy of the sources, so that nothing old is in."""
    target = folder.resolve()
    with tempfile.TemporaryDirectory(prefix="toolcrib-wheels-") as copy:
        for name in SOURCES:
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, Path(copy, name), ignore=unwanted)
        for name in DOCUMENTS:
            shutil.copy(ROOT / name, copy)
        release = {"release": "yes"}
        for call in (
            f"build_sdist({str(target)!r})",
            f"build_wheel({str(target)!r}, {release})",
            f"build_wheel({str(target)!r}, {release | {'core': 'yes'}})",
        ):
            # a process each: setuptools keeps in memory which folders it has made
            code = f"import wheel_backend; wheel_backend.{call}"
            environ = {**os.environ, "PYTHONPATH": str(Path(copy, "packaging"))}
            command = [sys.executable, "-c", code]
            subprocess.run(command, cwd=copy, env=environ, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist" / "wheels"))
