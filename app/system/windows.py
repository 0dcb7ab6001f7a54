"""The names of app/system/posix.py on Windows, and jobs, which end with the process that has them.

Windows has no socket that tells its user and passes descriptors on, so no backend: each host gets
a gateway of its own. What only a backend needs raises OSError here.
"""

import _socket
import ctypes
import os
import sys

from store.typed import TYPE_CHECKING

assert sys.platform == "win32"

if TYPE_CHECKING:
    from collections.abc import Sequence

AF_UNIX = 1
DONT_WAIT = 0
OPEN_OWN = os.O_NOINHERIT | os.O_BINARY
OPEN_AT_ONCE = 0
READABLE, WRITABLE = 1, 4
_PROCESS_SET_QUOTA, _PROCESS_TERMINATE, _SYNCHRONIZE = 0x0100, 0x0001, 0x00100000
_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_KILL_ON_JOB_CLOSE = 0x2000


class _BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


def user_id() -> int:
    """0: Windows has no number for a user; files carry 0 as their owner."""
    return 0


def session(pid: int) -> int:
    """0: sessions of Windows are those of users, not of process trees."""
    return 0


def ticks() -> int:
    """The unit of CPU time: microseconds."""
    return 1_000_000


def is_own(status: os.stat_result) -> bool:
    """Return False: modes do not say who may read a file."""
    return False


def environment() -> list[bytes]:
    """The variables of this process as NAME=value."""
    return [f"{name}={value}".encode("utf-8", "replace") for name, value in os.environ.items()]


def peer_id(link: "_socket.socket") -> int:
    """Return -1: the system does not say who is at the other end."""
    return -1


class Poller:
    """Windows cannot wait for pipes; raises OSError."""

    def __init__(self) -> None:
        raise OSError("Windows cannot wait for pipes.")

    def register(self, descriptor: int, events: int) -> None:
        """Watch a descriptor."""

    def poll(self, milliseconds: float | None = None) -> list[tuple[int, int]]:
        """The descriptors that are ready."""
        return []


def poller() -> Poller:
    """Raise OSError."""
    return Poller()


def send_descriptors(link: "_socket.socket", data: bytes, descriptors: "Sequence[int]") -> None:
    """Raise OSError."""
    raise OSError


def receive_descriptors(link: "_socket.socket", size: int, most: int) -> "tuple[bytes, list[int]]":
    """Raise OSError."""
    raise OSError


def socket_pair() -> "tuple[_socket.socket, _socket.socket]":
    """Raise OSError."""
    raise OSError


def pread(descriptor: int, size: int, offset: int) -> bytes:
    """Raise OSError."""
    raise OSError


def pwrite(descriptor: int, data: bytes, offset: int) -> int:
    """Raise OSError."""
    raise OSError


def readv(descriptor: int, buffers: "Sequence[memoryview]") -> int:
    """Raise OSError."""
    raise OSError


def shared_page(size: int) -> int:
    """Raise OSError."""
    raise OSError


def quick_pipe() -> tuple[int, int]:
    """Raise OSError."""
    raise OSError


def move_bytes(reader: int, writer: int, size: int) -> int:
    """Raise OSError."""
    raise OSError


def start_detached(program: str, command: "Sequence[str]", environ: dict[str, str]) -> None:
    """Start a program without a console or streams, which outlives this process."""
    import subprocess

    subprocess.Popen(
        command,
        executable=program,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP,
        close_fds=True,
    )


def has_ended(pid: int) -> bool:
    """True where no process of this number runs."""
    kernel = _kernel()
    process = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
    if not process:
        return True
    ended: int = kernel.WaitForSingleObject(process, 0)
    kernel.CloseHandle(process)
    return ended == 0


parent_gone = has_ended  # its number stays the parent's there


def end_with_us(pid: int) -> int:
    """Return a job that holds a process and all that it starts from now on.

    The system ends them when the job's last handle is closed, so also when this process is
    killed. Raises OSError where the process is gone, or in a job that takes no others.
    """
    kernel = _kernel()
    job: int | None = kernel.CreateJobObjectW(None, None)
    if not job:
        raise OSError(ctypes.get_last_error(), "no job")
    limits = _Limits()
    limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
    size = ctypes.sizeof(limits)
    process = kernel.OpenProcess(_PROCESS_SET_QUOTA | _PROCESS_TERMINATE, False, pid)
    held = (
        process
        and kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), size)
        and kernel.AssignProcessToJobObject(job, process)
    )
    number = ctypes.get_last_error()
    if process:
        kernel.CloseHandle(process)
    if not held:
        kernel.CloseHandle(job)
        raise OSError(number, "the process cannot be put into a job")
    return job


def close_job(job: int) -> None:
    """End what the job still holds."""
    _kernel().CloseHandle(job)


def _kernel() -> ctypes.WinDLL:
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    handle = ctypes.c_void_p  # c_int, the default, cuts a handle of 64 bits
    kernel.CreateJobObjectW.restype = handle
    kernel.OpenProcess.restype = handle
    kernel.CreateJobObjectW.argtypes = (handle, ctypes.c_wchar_p)
    kernel.OpenProcess.argtypes = (ctypes.c_uint32, ctypes.c_int, ctypes.c_uint32)
    kernel.SetInformationJobObject.argtypes = (handle, ctypes.c_int, handle, ctypes.c_uint32)
    kernel.AssignProcessToJobObject.argtypes = (handle, handle)
    kernel.WaitForSingleObject.argtypes = (handle, ctypes.c_uint32)
    kernel.CloseHandle.argtypes = (handle,)
    return kernel
