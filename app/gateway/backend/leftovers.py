"""Files that backends leave in their folder: removed as soon as no process can be using them."""

import os
import socket
from contextlib import suppress

from app.core.safe_write import remove_leftovers
from app.gateway.backend.rendezvous import Place, ensure_folder
from app.system.native import native
from store.files import lock as hold

_SUFFIXES = (".sock", ".lock", ".txt")  # of a build; a half-written .txt has two more words


def sweep(place: Place) -> None:
    """Remove what ended backends of any build left, then the folder if it is empty.

    A build whose lock is held, or whose socket answers, is left alone.
    """
    if not ensure_folder(place.folder):
        return
    names = os.listdir(place.folder)
    builds = {name.partition(".")[0] for name in names if _is_ours(name)}
    for build in builds:
        with suppress(OSError):
            _sweep_build(place.folder, build, names)
    remove_leftovers(place.folder)
    with suppress(OSError):  # not empty: another build runs
        os.rmdir(place.folder)


def other_builds(place: Place) -> list[Place]:
    """Places of other builds that have a socket: their backends may run since before an update."""
    try:
        names = os.listdir(place.folder)
    except OSError:
        return []
    builds = sorted(name.partition(".")[0] for name in names if _is_ours(name))
    others = dict.fromkeys(build for build in builds if build != place.build)
    return [Place(place.home, build) for build in others if f"{build}.sock" in names]


def _is_ours(name: str) -> bool:
    build, _, rest = name.partition(".")
    return len(build) == 16 and f".{rest.partition('.')[0]}" in _SUFFIXES


def _sweep_build(folder: str, build: str, names: list[str]) -> None:
    """Remove a build's files unless it runs, or an election is under way."""
    path = f"{folder}/{build}.lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | native.OPEN_OWN, 0o600)
    try:
        if not hold(lock) or _answers(f"{folder}/{build}.sock"):
            return
        for name in names:
            if name.startswith(f"{build}.") and name != f"{build}.lock":
                with suppress(OSError):
                    os.unlink(f"{folder}/{name}")
        os.unlink(path)  # while it is held: who waits for it sees that it is another's now
    finally:
        os.close(lock)


def _answers(path: str) -> bool:
    with socket.socket(native.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(1.0)
        try:
            link.connect(path)
        except TimeoutError:
            return True
        except OSError:
            return False
        return True
