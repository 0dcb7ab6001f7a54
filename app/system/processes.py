"""Process trees: marked at the start so that a stop finds every child, whatever it did since.

Light on purpose (the gateway imports it): Linux is read through /proc, only other systems load
psutil.
"""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.system.commands import child_environment, find_command
from app.system.native import native
from app.system.orphans import Watcher

MARK_VARIABLE = "TOOLCRIB_TREE"
_POLL_SECONDS = 0.02
_TWITCH_SECONDS = 0.02  # CPU that a resting process may use: timers, a wake-up
_HURRY_SECONDS = 0.15  # the rest of each wait once a caller waits for the end
_CHUNK = 32_768
_PR_SET_CHILD_SUBREAPER = 36
_WINDOWS = sys.platform == "win32"
_LINUX = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Member:
    """One live or dead process of a tree, as the system's process table shows it."""

    pid: int
    parent: int
    session: int
    started: float  # in the system's own unit; with the pid it is unique
    cpu: float  # seconds, its own and its waited-for children's
    zombie: bool = False


@dataclass(slots=True)
class Tree:
    """One started process and everything it started; the mark is in the environment of all."""

    pid: int
    mark: str
    poll: Callable[[], int | None]  # the exit code of the first process, None while it runs
    close_stdin: Callable[[], None]
    unwatch: Callable[[], None]  # once it is gone
    seen: dict[int, float] = field(default_factory=dict)  # pid -> started, of every member met


@dataclass(frozen=True, slots=True)
class PreparedCommand:
    """Arguments of subprocess.Popen; never printed, they hold secrets."""

    argv: list[str] = field(repr=False)
    env: dict[str, str] = field(repr=False)
    cwd: str | None
    mark: str
    options: dict[str, Any]


def prepare(
    command: str,
    args: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str = "",
    environ: Mapping[str, str] = os.environ,
) -> PreparedCommand:
    """The start of a child in a group of its own, with the mark in its environment.

    Raises ToolcribError when the command or the folder does not exist.
    """
    if cwd and not Path(cwd).expanduser().is_dir():
        raise ToolcribError(f"The folder {cwd} does not exist.", "Correct cwd in the host's file.")
    merged = child_environment(environ, env or {})
    program = find_command(command, merged, cwd)
    mark = os.urandom(16).hex()
    outer = environ.get(MARK_VARIABLE, "")
    # an outer tree must still find its grandchildren
    merged[MARK_VARIABLE] = f"{outer}:{mark}"
    folder = str(Path(cwd).expanduser()) if cwd else None
    return PreparedCommand([program, *args], merged, folder, mark, _group_options())


def start(
    prepared: PreparedCommand, *, bufsize: int = -1
) -> tuple["subprocess.Popen[bytes]", Tree]:
    """Start the child with pipes on all three streams; raises ToolcribError when it cannot."""
    process = _popen(prepared, bufsize)
    watcher = Watcher(process, prepared.mark)

    def close_stdin() -> None:
        watcher.close_stdin()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()

    return process, Tree(process.pid, prepared.mark, process.poll, close_stdin, watcher.end)


def start_for_one_answer(prepared: PreparedCommand) -> tuple["subprocess.Popen[bytes]", Tree]:
    """Start a child that ends with its input; nothing else holds the pipe of that."""
    process = _popen(prepared, -1)
    return process, Tree(process.pid, prepared.mark, process.poll, lambda: None, lambda: None)


def _popen(prepared: PreparedCommand, bufsize: int) -> "subprocess.Popen[bytes]":
    become_subreaper()
    try:
        return subprocess.Popen(
            started_as(prepared.argv),
            env=prepared.env,
            cwd=prepared.cwd,
            bufsize=bufsize,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **prepared.options,
        )
    except (OSError, ValueError) as error:
        raise start_error(prepared, error) from error


def started_as(argv: Sequence[str], *, windows: bool = _WINDOWS) -> Sequence[str] | str:
    """Return what Popen gets: on Windows one line for a file that cmd.exe starts (npx.cmd)."""
    if not windows:
        return argv
    from app.system.quoting import cmd_line, started_by_cmd

    if not started_by_cmd(argv[0]):
        return argv
    return cmd_line(os.environ.get("COMSPEC", "cmd.exe"), argv[0], argv[1:])


def start_error(prepared: PreparedCommand, error: OSError | ValueError) -> ToolcribError:
    """The sentence for a child that the system refused to start."""
    name = prepared.argv[0]
    if isinstance(error, PermissionError):
        return ToolcribError(f"{name} may not be run.", "Make it executable.")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return ToolcribError(f"{name} could not be started: {reason or error}.", "")


def stop(
    trees: Sequence[Tree],
    *,
    grace: float = 5.0,
    term: float = 2.0,
    hurry: Callable[[], bool] = lambda: False,
    idle: float = math.inf,
) -> None:
    """End the trees together: close stdin, wait `grace` s, TERM, wait `term` s, KILL everything.

    Blocks at most grace + term + 2 s; members that left the group or the session are ended too.
    Both waits are cut to 0.15 s from the moment that `hurry` says so, the first one also when no
    tree has worked for `idle` s: such a server does not heed the end of its input.
    """
    for tree in trees:
        members(tree)  # children of a process that ends now are remembered
        tree.close_stdin()
    at_rest = _at_rest(trees, idle)
    _wait(lambda: all(t.poll() is not None for t in trees) or at_rest(), grace, hurry=hurry)
    if _signal_all(trees, gently=True):
        _wait(lambda: _all_gone(trees), term, hurry=hurry)
    for _ in range(3):  # a child may be forked between the look and the kill
        if not _signal_all(trees, gently=False):
            break
        _wait(lambda: _all_gone(trees), 0.7)
    for tree in trees:
        _reap(tree)
        tree.unwatch()


def running(tree: Tree) -> tuple[int, ...]:
    """Process ids of the tree that still run."""
    return tuple(member.pid for member in members(tree) if not member.zombie)


def cpu_seconds(tree: Tree) -> float:
    """CPU time used so far by the tree's living members; a sign of progress, not an account."""
    return sum(member.cpu for member in members(tree))


def members(tree: Tree) -> tuple[Member, ...]:
    """All processes of the tree: by mark, by session, by parent, or met before."""
    root_alive = tree.poll() is None
    own = os.getpid()
    table = {member.pid: member for member in _process_table() if member.pid != own}
    tree_members: dict[int, Member] = {}
    for member in table.values():
        by_session = member.session == tree.pid and (root_alive or member.parent == own)
        by_memory = tree.seen.get(member.pid) == member.started
        root = member.pid == tree.pid and root_alive
        if root or by_session or by_memory or _has_mark(member.pid, tree.mark):
            tree_members[member.pid] = member
    _add_children(tree_members, table)
    tree.seen.update({member.pid: member.started for member in tree_members.values()})
    return tuple(tree_members.values())


def become_subreaper() -> bool:
    """Adopt orphans of our children (Linux); False where the system cannot."""
    if not _LINUX:
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _group_options() -> dict[str, Any]:
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        options = {"creationflags": flags}
    return options


def _add_children(tree_members: dict[int, Member], table: Mapping[int, Member]) -> None:
    grown = True
    while grown:
        fresh = {
            m.pid: m
            for m in table.values()
            if m.parent in tree_members and m.pid not in tree_members
        }
        tree_members.update(fresh)
        grown = bool(fresh)


def _wait(
    done: Callable[[], bool], seconds: float, *, hurry: Callable[[], bool] = lambda: False
) -> bool:
    deadline = time.monotonic() + seconds
    hurried = False
    pause = 0.002
    while not done():
        if not hurried and hurry():
            hurried, deadline = True, min(deadline, time.monotonic() + _HURRY_SECONDS)
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, _POLL_SECONDS)
    return True


def _signal_all(trees: Sequence[Tree], *, gently: bool) -> int:
    pids = [pid for tree in trees for pid in running(tree)]
    for pid in pids:
        with suppress(OSError):
            if sys.platform == "win32":
                os.kill(pid, signal.CTRL_BREAK_EVENT if gently else signal.SIGTERM)
            else:
                os.kill(pid, signal.SIGTERM if gently else signal.SIGKILL)
    return len(pids)


def _at_rest(trees: Sequence[Tree], idle: float) -> Callable[[], bool]:
    """Return a check that is True once the trees have used next to no CPU for `idle` s."""
    began, used = time.monotonic(), 0.0

    def check() -> bool:
        nonlocal began, used
        if idle == math.inf:
            return False
        now = sum(map(_cpu_of_known, trees))
        if now > used + _TWITCH_SECONDS:
            began, used = time.monotonic(), now
        return time.monotonic() - began >= idle

    return check


def _cpu_of_known(tree: Tree) -> float:
    """CPU seconds of the members met so far; Linux needs no look at the whole process table."""
    if not _LINUX:
        return cpu_seconds(tree)
    return sum(m.cpu for pair in tree.seen.items() if (m := _known(*pair)) is not None)


def _all_gone(trees: Sequence[Tree]) -> bool:
    """True if nothing of the trees runs; the whole table is read only when that is likely."""
    known = [pair for tree in trees for pair in tree.seen.items()]
    if _LINUX and any((member := _known(*pair)) and not member.zombie for pair in known):
        return False
    return not any(running(tree) for tree in trees)


def _known(pid: int, started: float) -> Member | None:
    """A process met before, None when it is gone (Linux)."""
    with suppress(OSError):
        member = _proc_member(str(pid))
        return member if member.started == started else None
    return None


def _reap(tree: Tree) -> None:
    """Collect the orphans that the subreaper rule made our children."""
    if sys.platform != "win32":
        _wait(lambda: tree.poll() is not None, 0.2)
        for member in members(tree):
            if member.zombie and member.pid != tree.pid:
                with suppress(OSError):
                    os.waitpid(member.pid, os.WNOHANG)


def _process_table() -> Iterator[Member]:
    if not _LINUX:
        yield from _psutil_table()
        return
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries if entry.name.isdigit()]
    for name in names:
        with suppress(OSError):
            yield _proc_member(name)


def _proc_member(pid: str) -> Member:
    stat = _proc_bytes(pid, "stat")
    fields = stat.rpartition(b")")[2].split()  # the name before it may hold anything
    ticks = native.ticks()
    return Member(
        pid=int(pid),
        parent=int(fields[1]),
        session=int(fields[3]),
        started=float(fields[19]),
        cpu=sum(int(value) for value in fields[11:15]) / ticks,
        zombie=fields[0] in (b"Z", b"X"),
    )


def _proc_bytes(pid: str, name: str) -> bytes:
    """A small file of /proc; pathlib would take three times as long."""
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
    try:
        content = chunk = os.read(descriptor, _CHUNK)
        while len(chunk) == _CHUNK:
            chunk = os.read(descriptor, _CHUNK)
            content += chunk
        return content
    finally:
        os.close(descriptor)


def _has_mark(pid: int, mark: str) -> bool:
    if _LINUX:
        with suppress(OSError):
            return mark.encode() in _proc_bytes(str(pid), "environ")
        return False
    import psutil

    try:
        return mark in psutil.Process(pid).environ().get(MARK_VARIABLE, "")
    except (psutil.Error, OSError):
        return False


def _psutil_table() -> Iterator[Member]:
    import psutil

    for process in psutil.process_iter():
        try:
            with process.oneshot():
                times = process.cpu_times()
                yield Member(
                    pid=process.pid,
                    parent=process.ppid(),
                    session=native.session(process.pid),
                    started=process.create_time(),
                    cpu=times.user + times.system,
                    zombie=process.status() == psutil.STATUS_ZOMBIE,
                )
        except (psutil.Error, OSError):
            continue
