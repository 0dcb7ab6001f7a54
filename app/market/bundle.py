"""Bundles (.mcpb), unpacked and read by their manifest.

A bundle is a stranger's archive. Nothing of it is unpacked before its checksum is right, and an
archive that would leave its folder, hold links or grow without end is refused whole.
"""

import os
import re
import stat
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

import orjson

from app.core.errors import ToolcribError
from app.core.text import visible
from app.hosts.display import changes_what_runs
from app.market import guards
from app.market.entry import Input
from store.typed import Json, list_or_empty, object_or_empty

MANIFEST = "manifest.json"
_PIECE = 1 << 20
_MANIFEST_BYTES = 1 << 20
_LONGEST_PATH = 240
_MOST_WORDS = 200
_PROGRAMS = ("node", "python", "python3", "uv", "npx", "uvx", "deno", "bun")
_KINDS = {"string": "string", "number": "number", "boolean": "boolean", "directory": "filepath",
          "file": "filepath"}  # fmt: skip
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.I)
NOTHING = "Nothing was unpacked, and nothing was added."


class BundleError(ToolcribError):
    """A bundle that cannot be fetched or used."""


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """Limits of one bundle."""

    download: int = 300 << 20  # bytes
    unpacked: int = 1 << 30
    files: int = 50_000
    ratio: int = 200  # of unpacked to packed bytes, from a MB on
    seconds: float = 20.0  # without a byte
    longest: float = 1_800.0  # seconds in all


@dataclass(frozen=True, slots=True)
class Bundle:
    """An unpacked bundle as its manifest says; `${user_config.KEY}` is in words and values."""

    folder: Path
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    several: frozenset[str] = frozenset()  # keys of inputs with several values


# ---- the archive


def unpack(name: str, archive: IO[bytes], folder: Path, limits: BundleLimits | None = None) -> None:
    """Unpack into a new folder; BundleError for an archive that is not to be trusted."""
    bounds = limits or BundleLimits()

    def refuse(what: str) -> BundleError:
        return BundleError(f"The bundle of {name} is refused: {what}", NOTHING)

    size = archive.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            problem = _problem(entries, size, bounds)
            if problem:
                raise refuse(problem)
            left = bounds.unpacked
            for entry in entries:
                left -= _write(opened, entry, folder, left)
                if left < 0:
                    raise refuse("it grows beyond the size that it states.")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise refuse(f"it could not be unpacked: {error.strerror}.") from error
        raise refuse("it is no archive that can be read.") from error
    except (ValueError, zipfile.LargeZipFile) as error:
        raise refuse("it is no archive that can be read.") from error


def _problem(entries: list[zipfile.ZipInfo], packed: int, limits: BundleLimits) -> str:
    """The reason not to unpack, by what the archive says of itself; "" for none."""
    if len(entries) > limits.files:
        return f"it has {len(entries):,} files."
    size = sum(entry.file_size for entry in entries)
    if size > limits.unpacked:
        return f"it would take {size >> 20:,} MB."
    if size > _PIECE and size > limits.ratio * max(1, packed):
        return f"it would grow to {size // max(1, packed):,} times its size."
    seen: set[str] = set()
    for entry in entries:
        shown = visible(entry.filename[:80])
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            return f"“{shown}” is a link or a device."
        if entry.flag_bits & 0x1:
            return f"“{shown}” is encrypted."
        if _leaves(entry.filename):
            return f"“{shown}” would be written outside of its folder."
        key = entry.filename.rstrip("/").casefold()
        if key in seen and not entry.is_dir():
            return f"“{shown}” is in it twice."
        seen.add(key)
    return ""


def _leaves(path: str) -> bool:
    """True if a path is not plainly one below the folder, on any system."""
    parts = path.rstrip("/").split("/")
    odd = not path or len(path) > _LONGEST_PATH or re.search(r"[\\:\x00-\x1f]", path)
    return bool(odd) or any(
        part in ("", ".", "..") or part != part.rstrip(". ") or _RESERVED.fullmatch(part)
        for part in parts
    )


def _write(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, left: int) -> int:
    """Write one file, no more than is left; its bytes."""
    target = folder.joinpath(*PurePosixPath(entry.filename).parts)
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with opened.open(entry) as source, target.open("xb") as out:
        while size <= left and (piece := source.read(_PIECE)):
            size += len(piece)
            out.write(piece)
    runs = (entry.external_attr >> 16) & 0o100
    target.chmod(0o700 if runs else 0o600)
    return size


# ---- the manifest


def read_manifest(name: str, folder: Path) -> Bundle:
    """The bundle in a folder; BundleError where its manifest cannot be used."""

    def refuse(what: str) -> BundleError:
        return BundleError(f"The bundle of {name} cannot be started: {what}", NOTHING)

    fields = _manifest(folder / MANIFEST)
    if fields is None:
        raise refuse("it has no manifest that can be read.")
    server = _map(fields.get("server"))
    config = _map(server.get("mcp_config"))
    config |= _map(_map(config.get("platform_overrides")).get(_platform()))
    command = _filled(config.get("command"), folder)
    args = tuple(_filled(one, folder) for one in _texts(config.get("args")))
    env = {key: _filled(text, folder) for key, text in _map(config.get("env")).items()}
    if not command:
        raise refuse("its manifest names no command.")
    if command not in _PROGRAMS and not _is_inside(Path(command), folder):
        raise refuse(f"its command “{visible(command[:80])}” is not in it.")
    if str(server.get("type")) == "binary" and _is_inside(Path(command), folder):
        Path(command).chmod(0o700)
    changing = next((key for key in env if changes_what_runs(key)), "")
    if changing or not all(map(_KEY.fullmatch, env)):
        raise refuse(f"it sets “{visible((changing or next(iter(env)))[:80])}”.")
    words = (command, *args, *env.values())
    if guards.plain_words_problem(words):
        raise refuse("its command holds a character that is not drawn.")
    inputs = tuple(_inputs(_map(fields.get("user_config"))))
    several = frozenset(
        key for key, one in _map(fields.get("user_config")).items()
        if _map(one).get("multiple") is True
    )  # fmt: skip
    return Bundle(folder, command, args, env, inputs, several)


def _manifest(file: Path) -> Json | None:
    try:
        if file.is_symlink() or file.stat().st_size > _MANIFEST_BYTES:
            return None
        fields = orjson.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return fields if isinstance(fields, dict) else None


def _inputs(config: Json) -> Iterator[Input]:
    for key, given in list(config.items())[:60]:
        one = _map(given)
        if not _KEY.fullmatch(key):
            continue
        default = one.get("default")
        kept = "\n".join(_texts(default)) if isinstance(default, list) else _text(default)
        yield Input(
            name=key,
            description=_text(one.get("description")) or _text(one.get("title")),
            required=one.get("required") is True,
            secret=one.get("sensitive") is True,
            format=_KINDS.get(str(one.get("type")), "string"),
            default=_placed(kept, None),
        )  # fmt: skip


def _filled(text: object, folder: Path) -> str:
    return _placed(_text(text), folder)


def _placed(text: str, folder: Path | None) -> str:
    """A text with the folders that a manifest may name."""
    home = Path.home()
    known = {"HOME": home, "DESKTOP": home / "Desktop", "DOCUMENTS": home / "Documents",
             "DOWNLOADS": home / "Downloads", "/": os.sep, "pathSeparator": os.sep}  # fmt: skip
    if folder is not None:
        known["__dirname"] = folder
    for key, place in known.items():
        text = text.replace(f"${{{key}}}", str(place))
    return text


def _is_inside(path: Path, folder: Path) -> bool:
    whole = folder.resolve()
    real = (path if path.is_absolute() else folder / path).resolve()
    return real.is_relative_to(whole) and real.is_file()


def _platform() -> str:
    return {"win32": "win32", "darwin": "darwin"}.get(sys.platform, "linux")


def _map(value: object) -> Json:
    return dict(object_or_empty(value))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)[:4_000] if isinstance(value, str | int | float) else ""


def _texts(value: object) -> list[str]:
    return [_text(one) for one in list_or_empty(value)[:_MOST_WORDS]]
