"""Calls of POSIX systems: one user's sockets, descriptors passed between processes, sessions.

app/system/windows.py has the same names. Adapters import this: builtins and `os` only.
"""

import _socket
import os
import sys

from store.typed import TYPE_CHECKING

assert sys.platform != "win32"

if TYPE_CHECKING:
    import select
    from collections.abc import Sequence

AF_UNIX = _socket.AF_UNIX
DONT_WAIT = _socket.MSG_DONTWAIT
OPEN_OWN = os.O_CLOEXEC | os.O_NOFOLLOW  # flags: no link is followed, no child inherits it
OPEN_AT_ONCE = os.O_NONBLOCK  # flag: opening a pipe does not wait for its other end
READABLE, WRITABLE = 1, 4  # POLLIN, POLLOUT
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1  # macOS, sys/un.h

pread, pwrite, readv = os.pread, os.pwrite, os.readv
user_id = os.getuid
socket_pair = _socket.socketpair
session = os.getsid


def is_own(status: os.stat_result) -> bool:
    """True where a file belongs to this user and is closed to all others."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def parent_gone(parent: int) -> bool:
    """True if the process that started us has ended."""
    return os.getppid() != parent


def ticks() -> int:
    """The unit of CPU time in /proc: so many a second."""
    return os.sysconf("SC_CLK_TCK")


def environment() -> list[bytes]:
    """The variables of this process as NAME=value."""
    return [name + b"=" + value for name, value in os.environb.items()]


def poller() -> "select.poll":
    """A new, empty poll object."""
    import select

    return select.poll()


def peer_id(link: "_socket.socket") -> int:
    """The user at the other end of a local socket, -1 where the system does not say."""
    if sys.platform == "darwin":
        data = link.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
    elif hasattr(_socket, "SO_PEERCRED"):
        data = link.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:
        return -1
    return int.from_bytes(data[4:8], sys.byteorder)


def send_descriptors(link: "_socket.socket", data: bytes, descriptors: "Sequence[int]") -> None:
    """Send bytes, and with them copies of these descriptors."""
    rights = b"".join(one.to_bytes(4, sys.byteorder) for one in descriptors)
    link.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])


def receive_descriptors(link: "_socket.socket", size: int, most: int) -> "tuple[bytes, list[int]]":
    """Return the next bytes, at most `size`, and the descriptors (at most `most`) with them."""
    flags = 0
    if sys.platform == "linux":  # elsewhere the descriptors are closed to children afterwards
        flags = _socket.MSG_CMSG_CLOEXEC
    data, ancillary, _, _ = link.recvmsg(size, _socket.CMSG_SPACE(4 * most), flags)
    descriptors = [
        int.from_bytes(rights[at : at + 4], sys.byteorder)
        for level, kind, rights in ancillary
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS)
        for at in range(0, len(rights) // 4 * 4, 4)
    ]
    if sys.platform != "linux":
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
    return data, descriptors


def start_detached(program: str, command: "Sequence[str]", environ: dict[str, str]) -> None:
    """Start a program in a session of its own, in /, without streams; a child of no process."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.chdir("/")
        os.execve(program, list(command), environ)
    finally:
        os._exit(1)


if sys.platform == "linux":

    def shared_page(size: int) -> int:
        """A descriptor of new memory that processes can share; OSError where there is none."""
        page = os.memfd_create("toolcrib")
        os.ftruncate(page, size)
        return page

    def quick_pipe() -> tuple[int, int]:
        """A pipe (reader, writer) that never waits."""
        return os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def move_bytes(reader: int, writer: int, size: int) -> int:
        """Move bytes from a pipe into another file in one step of the kernel."""
        return os.splice(reader, writer, size, flags=os.SPLICE_F_NONBLOCK)

else:

    def shared_page(size: int) -> int:
        """Raise OSError: only Linux can move bytes so that the pipe shows how many."""
        raise OSError

    def quick_pipe() -> tuple[int, int]:
        """Raise OSError."""
        raise OSError

    def move_bytes(reader: int, writer: int, size: int) -> int:
        """Raise OSError."""
        raise OSError
