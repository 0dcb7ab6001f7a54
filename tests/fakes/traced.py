"""A program under strace: which files it wrote, made or removed, and whom it talked to."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

_CALLS = (
    "bind,connect,sendto,sendmsg,sendmmsg,open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,"
    "link,linkat,symlink,symlinkat,unlink,unlinkat,truncate,mknod,mknodat"
)
_CALL = re.compile(r"^(?P<name>\w+)\((?P<args>.*)\)\s+= (?P<result>-?\w+)")
_FD = r"(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"
_PATH = re.compile(_FD + r'"(?P<path>(?:[^"\\]|\\.)*)"')
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
_ADDRESS = re.compile(r"sa_family=(AF_INET6?|AF_UNIX|AF_NETLINK)[^}]*")
_NAMES_FILES = ("open", "openat", "creat")
_IN_MEMORY = Path("/dev/shm")
_SECONDS = 300.0  # of nothing but waiting: strace and a busy machine slow all down


@dataclass(frozen=True)
class Footprint:
    """What a program and its children did; only calls that succeeded are in `written`."""

    output: str
    code: int
    read: frozenset[Path]
    written: frozenset[Path]
    addresses: frozenset[str]  # of sockets, connections and datagrams, tried or made

    def outside(self, *folders: Path) -> list[Path]:
        """What was written outside these folders; devices and pipes are no files."""
        own = [folder.resolve() for folder in folders]
        files = self.written - {file for file in self.written if _is_device(file)}
        return sorted(f for f in files if not any(f.is_relative_to(folder) for folder in own))


def _is_device(file: Path) -> bool:
    """True for devices, semaphores and processes' own pages; what else is in memory is a file."""
    in_memory = file.is_relative_to(_IN_MEMORY)
    semaphore = file.parent == _IN_MEMORY and file.name.startswith("sem.")
    return semaphore or (file.parts[1:2] in (("dev",), ("proc",)) and not in_memory)


def strace() -> str:
    """The program; a test that cannot have it is skipped, but never where CI runs."""
    found = shutil.which("strace")
    if found is None and (os.environ.get("CI") or os.environ.get("TOOLCRIB_NEEDS_STRACE")):
        pytest.fail("strace is not installed; .ci/run installs it")
    if found is None:
        pytest.skip("strace is not installed")
    return found


def trace(
    command: Sequence[str | Path],
    folder: Path,
    env: Mapping[str, str],
    *,
    until: Callable[[subprocess.Popen[str]], None] | None = None,
    stdin: str = "",
    seconds: float = _SECONDS,
) -> Footprint:
    """Run a program and its children to their end, or until `until` returns and a signal ends it.

    `until` may wait for the end itself.
    """
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "trace"
    words = [strace(), "-ff", "-qq", "-y", "-s", "4096", "-e", f"trace={_CALLS}", "-o", str(out)]
    process = subprocess.Popen(
        [*words, "--seccomp-bpf", *map(str, command)],
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        if until is not None:
            until(process)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        output, _ = process.communicate(stdin, timeout=seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return _footprint(folder, output, process.returncode)


def _footprint(folder: Path, output: str, code: int) -> Footprint:
    read: set[Path] = set()
    written: set[Path] = set()
    addresses: set[str] = set()
    for file in folder.glob("trace.*"):
        for line in file.read_text(errors="replace").splitlines():
            match = _CALL.match(line)
            if match is None:
                continue
            name, args, result = match["name"], match["args"], match["result"]
            if name in ("bind", "connect", "sendto", "sendmsg", "sendmmsg"):
                addresses.update(found[0] for found in _ADDRESS.finditer(args))
            elif not result.startswith("-1"):
                writes = name not in _NAMES_FILES or name == "creat" or _WRITES.search(args)
                (written if writes else read).update(_paths(args))
    return Footprint(output, code, frozenset(read), frozenset(written), frozenset(addresses))


def _paths(args: str) -> Iterator[Path]:
    for match in _PATH.finditer(args):
        text = match["path"].encode().decode("unicode_escape").encode("latin-1").decode()
        yield Path(os.path.normpath(Path(match["folder"] or "/") / text))
