"""Projects of the hosts' records: some hosts keep the sessions of a folder below its name."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

_BY_PROJECT = {"claude-code": 0, "qwen-code": 1}  # folders between the project's and the record
_ODD = re.compile(r"[^A-Za-z0-9]")
_MOST_LOOKS = 2_000  # folders that finding a project may list


def project_key(host: str, file: str) -> str:
    """The name that a host gives to a session's project, "" where it gives none."""
    above = _BY_PROJECT.get(host)
    return "" if above is None else PurePath(file).parents[above].name


def encoded(path: str) -> str:
    """A folder's path as these hosts spell it in a name."""
    return _ODD.sub("-", path)


def project_folder(key: str, root: Path = Path("/")) -> Path | None:
    """The folder that a project's name is of, None where there is none or more than one."""
    start = encoded(str(root)).rstrip("-")
    if not key.startswith(f"{start}-"):
        return None
    looks = [_MOST_LOOKS]
    folders = list(_folders(root, key[len(start) :], looks))
    return folders[0] if len(folders) == 1 and looks[0] >= 0 else None


def _folders(folder: Path, rest: str, looks: list[int]) -> Iterator[Path]:
    """Folders below this one whose encoded path ends in `rest`."""
    looks[0] -= 1
    if looks[0] < 0:
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:  # one that may not be entered
        return
    for name in names:
        part = f"-{encoded(name)}"
        if rest == part:
            yield folder / name
        elif rest.startswith(f"{part}-"):
            yield from _folders(folder / name, rest[len(part) :], looks)
