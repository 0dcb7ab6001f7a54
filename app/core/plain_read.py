"""Reading a file that may have been swapped: never waits for a pipe, never reads a device."""

import errno
import os
import stat

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_plain(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file, at most that many; OSError where it is larger or no plain file."""
    handle = open_plain(path)
    with os.fdopen(handle, "rb") as file:
        if os.fstat(handle).st_size > most:
            raise OSError(errno.EFBIG, "it is too large", os.fspath(path))
        return file.read(most)


def open_plain(path: str | os.PathLike[str]) -> int:
    """A descriptor of a plain file, open for reading; OSError where it is none."""
    handle = os.open(path, _OPEN | getattr(os, "O_CLOEXEC", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a plain file", os.fspath(path))
    return handle
