"""Dated copies of host files, readable by their owner only."""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import ToolcribError


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
    """Write a copy with mode 0600 and return its path; it is on the disk when this returns."""
    home = folder / host
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))
    place = hashlib.sha256(str(file).encode()).hexdigest()[:8]
    for number in range(1000):
        path = home / f"{stamp}-{number:03d}-{place}-{label}-{file.name}"
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        return path
    raise ToolcribError("No backup could be written.", f"Look into {home}.")


def read(path: str) -> bytes | None:
    """The bytes of a copy, None when it is gone."""
    try:
        return Path(path).read_bytes() if path else None
    except OSError:
        return None


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
