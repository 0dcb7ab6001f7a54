"""Dated copies of host files, readable by their owner only."""

import hashlib
import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.core.safe_write import remove_leftovers, write_file
from store.files import private_folder

_LARGEST = 100_000_000  # bytes of a host file, as for reading one


@dataclass(frozen=True, slots=True)
class Backup:
    """One copy of a host file as it was before a write."""

    host: str
    path: Path  # of the copy
    file: Path  # of the host's file
    at: float  # seconds since the epoch
    size: int
    export_id: int = 0


def keep(folder: Path, host: str, file: Path, data: bytes, *, at: float, label: str) -> Path:
    """Write a copy with mode 0600 and return its path; it is on the disk when this returns.

    Only for the one writer of host files: no other process takes the same name.
    """
    home = folder / host
    for made in (folder, home):
        private_folder(made)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))
    for number in range(1000):
        path = home / f"{stamp}-{number:03d}-{_ending(file, label)}"
        if not os.path.lexists(path):
            write_file(path, data, mode=0o600)
            return path
    raise ToolcribError("No backup could be written.", f"Look into {home}.")


def copies_of(folder: Path, host: str, file: Path, label: str) -> list[Path]:
    """Copies of a file under a label, the oldest first."""
    home, ending = folder / host, _ending(file, label)
    every = home.iterdir() if home.is_dir() else ()
    return sorted(path for path in every if path.name.split("-", 3)[-1] == ending)


def _ending(file: Path, label: str) -> str:
    place = hashlib.sha256(str(file).encode()).hexdigest()[:8]
    return f"{place}-{label}-{file.name}"


def read(path: str) -> bytes | None:
    """The bytes of a copy, None when it is gone."""
    try:
        return read_plain(path, _LARGEST) if path else None
    except OSError:
        return None


def remove_unknown(folder: Path, known: Collection[str]) -> None:
    """Remove what a killed writer left: half copies, and copies that no record names."""
    for home in folder.iterdir() if folder.is_dir() else ():
        remove_leftovers(home)
        for path in home.iterdir() if home.is_dir() else ():
            if str(path) not in known:
                path.unlink(missing_ok=True)


def prune(folder: Path, host: str, most: int, needed: Sequence[str]) -> None:
    """Remove the oldest copies beyond `most` of each file, never one that undo still needs."""
    home = folder / host
    if not home.is_dir():
        return
    groups: dict[str, list[Path]] = {}
    for path in sorted(home.iterdir()):
        groups.setdefault(path.name.split("-", 3)[-1], []).append(path)
    for group in groups.values():
        for path in group[: max(0, len(group) - most)]:
            if str(path) not in needed:
                path.unlink(missing_ok=True)
