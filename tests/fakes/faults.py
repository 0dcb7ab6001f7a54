"""Runs a function in a child process and lets any of its system calls fail, or be its last.

Every call that changes a file is a fault point: the child is traced, so nothing in the program
under test knows of it. Linux on x86-64 only.
"""

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"
KILL = 0  # what to do at a fault point; any other number is the errno to answer with

_TRACE_ME, _POKE_USER, _SYSCALL, _SET_OPTIONS, _INFO = 0, 6, 24, 0x4200, 0x420E
_GOOD_STOPS, _KILL_WITH_US = 1, 1 << 20
_RAX, _ORIG_RAX = 10 * 8, 15 * 8
_OPEN_AT, _CREATE = 257, os.O_CREAT
_NAMES = {
    1: "write",
    18: "pwrite64",
    20: "writev",
    73: "flock",
    74: "fsync",
    75: "fdatasync",
    77: "ftruncate",
    82: "rename",
    83: "mkdir",
    84: "rmdir",
    86: "link",
    87: "unlink",
    91: "fchmod",
    92: "chown",
    93: "fchown",
    190: "fsetxattr",
    199: "fremovexattr",
    258: "mkdirat",
    263: "unlinkat",
    285: "fallocate",
    316: "renameat2",
}
_TAKES_SPACE = frozenset({"write", "pwrite64", "writev", "mkdir", "fsetxattr", "create"})

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


@dataclass(slots=True)
class Outcome:
    """How a traced run ended: the calls it made, and its exit code or minus the signal."""

    calls: list[str] = field(default_factory=list)
    code: int = 0
    text: str = ""  # of the exception that the function raised


def run(
    action: Callable[[], object],
    *,
    at: int = -1,
    fault: int = KILL,
    on: Callable[[int, str], None] = lambda _index, _name: None,
) -> Outcome:
    """Run the action; at its call number `at` the fault comes. Code 3: it raised, see `text`.

    ENOSPC lasts: every later call that takes space fails too. `on` is called before each call,
    while the child stands still.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(action, writer)
    os.close(writer)
    outcome = Outcome()
    try:
        _follow(child, outcome, at, fault, on)
        with os.fdopen(reader, encoding="utf-8", errors="replace") as answer:
            outcome.text = answer.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return outcome


def _child(action: Callable[[], object], answer: int) -> None:
    code = 0
    try:
        _ptrace(_TRACE_ME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        action()
    except BaseException:
        os.kill(os.getpid(), signal.SIGSTOP)  # from here on nothing is counted
        os.write(answer, traceback.format_exc().encode())
        code = 3
    finally:
        os._exit(code)


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> int:
    result = int(_libc.ptrace(request, pid, address, data))
    if result < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return result


def _follow(
    child: int, outcome: Outcome, at: int, fault: int, on: Callable[[int, str], None]
) -> None:
    os.waitpid(child, 0)
    _ptrace(_SET_OPTIONS, child, 0, _GOOD_STOPS | _KILL_WITH_US)
    counting, failing, pass_on = True, 0, 0
    while True:
        with contextlib.suppress(ProcessLookupError):  # killed
            _ptrace(_SYSCALL, child, 0, pass_on)
        _, status = os.waitpid(child, 0)
        pass_on = 0
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            outcome.code = os.waitstatus_to_exitcode(status)
            return
        stopped = os.WSTOPSIG(status)
        if stopped == signal.SIGSTOP:
            counting = False
        elif stopped != signal.SIGTRAP | 0x80:
            pass_on = stopped
        elif failing:
            _ptrace(_POKE_USER, child, _RAX, -failing)
            failing = 0
        elif counting and (name := _entered(child)):
            index = len(outcome.calls)
            outcome.calls.append(name)
            on(index, name)
            if index == at and fault == KILL:
                os.kill(child, signal.SIGKILL)
            lasting = fault == errno.ENOSPC and 0 <= at < index and name in _TAKES_SPACE
            if fault != KILL and (index == at or lasting):
                _ptrace(_POKE_USER, child, _ORIG_RAX, -1)
                failing = fault


def _entered(child: int) -> str:
    """The name of the call that the child is about to make, "" where it changes no file."""
    info = ctypes.create_string_buffer(88)
    try:
        _ptrace(_INFO, child, len(info), ctypes.addressof(info))
    except OSError:  # killed meanwhile
        return ""
    kind = info.raw[0]
    if kind != 1:
        return ""
    number, *args = struct.unpack_from("=7Q", info.raw, 24)
    if number == _OPEN_AT:
        return "create" if args[2] & _CREATE else ""
    return _NAMES.get(number, "")
