"""Build backend: setuptools, with the four packages below toolcrib/_lib in wheels.

An editable install keeps app, ui, store and resources at the top. What is published also depends
on the data wheel of the encoder: the setting `release=yes` says so, and so does a source archive.
`core=yes` builds toolcrib-core: the same without the window, Qt and plots.
"""

import base64
import hashlib
import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from setuptools import build_meta

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app/", "ui/", "store/", "resources/")
WINDOW_ONLY = ("PySide6-Essentials", "pyqtgraph")
ENTRY_POINTS = """\
[console_scripts]
toolcrib = toolcrib.start:{}
toolcrib-gateway = toolcrib.start:gateway
toolcrib-team = toolcrib.start:team
"""

get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
build_editable = build_meta.build_editable


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build by setuptools, then move the packages; return the wheel's file name."""
    settings = config_settings or {}
    is_core = settings.get("core") == "yes"
    is_release = settings.get("release") == "yes" or (ROOT / "PKG-INFO").exists()
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # would keep modules that are gone
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, build_meta.build_wheel(folder, None, metadata_directory))
        members = read(made)
        name = made.name
    if is_core:
        name = name.replace("toolcrib-", "toolcrib_core-", 1)
    write(Path(wheel_directory, name), moved(members, is_core=is_core, is_release=is_release))
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Build by setuptools, and add this folder, which builds the wheel."""
    name = build_meta.build_sdist(sdist_directory, config_settings)
    plain = Path(sdist_directory, name)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(plain) as source:
            source.extractall(folder, filter="data")
        (top,) = Path(folder).iterdir()
        shutil.copytree(
            ROOT / "packaging",
            top / "packaging",
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )
        with tarfile.open(plain, "w:gz") as target:
            target.add(top, top.name)
    return name


def read(wheel):
    """Return the files of a wheel but RECORD: name to bytes."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith(("/", "/RECORD"))]
        return {name: archive.read(name) for name in names}


def moved(members, *, is_core, is_release):
    """Return the files of our wheel, made of those that setuptools put into one."""
    files = {
        "toolcrib/__init__.py": b'"""Toolcrib; its packages are below _lib, see start.py."""\n',
        "toolcrib/start.py": (ROOT / "packaging" / "start.py").read_bytes(),
    }
    for name, data in members.items():
        if is_core and name.startswith("ui/"):
            continue
        if name.startswith(PACKAGES):
            files[f"toolcrib/_lib/{name}"] = data
            continue
        folder, _, rest = name.partition("/")
        if is_core:
            folder = folder.replace("toolcrib-", "toolcrib_core-", 1)
        files[f"{folder}/{rest}"] = dist_info(rest, data, is_core=is_core, is_release=is_release)
    return files


def dist_info(name, data, *, is_core, is_release):
    """Return one file of the wheel's metadata as it is for the moved packages."""
    if name == "entry_points.txt":
        return ENTRY_POINTS.format("command_line" if is_core else "toolcrib").encode()
    if name == "top_level.txt":
        return b"toolcrib\n"
    if name != "METADATA":
        return data
    head, gap, body = data.decode().partition("\n\n")
    lines = head.splitlines()
    if is_core:
        lines[lines.index("Name: toolcrib")] = "Name: toolcrib-core"
        unwanted = tuple(f"Requires-Dist: {package}" for package in WINDOW_ONLY)
        lines = [line for line in lines if not line.startswith(unwanted)]
    if is_release:
        lines.append(f"Requires-Dist: toolcrib-encoder=={encoder_version()}")
    return ("\n".join(lines) + gap + body).encode()


def encoder_version():
    """Return the version of the data wheel whose hashes are in the code."""
    text = (ROOT / "app" / "encoder" / "packaged.py").read_text(encoding="utf-8")
    return re.search(r'^VERSION = "(.+?)"', text, re.MULTILINE).group(1)


def write(wheel, files):
    """Write a wheel of these files (name to bytes) with their RECORD; all of mode 644."""
    (folder,) = {name.partition("/")[0] for name in files if ".dist-info/" in name}
    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    record = f"{folder}/RECORD"
    files = {**files, record: "\n".join([*rows, f"{record},,", ""]).encode()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def digest(data):
    """Return the sha256 in the form of RECORD."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
