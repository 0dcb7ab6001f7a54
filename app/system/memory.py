"""Unused memory, given back to the system."""

import sys


def give_back() -> None:
    """Have the C library release freed memory, where it can (glibc); costs milliseconds.

    It keeps freed memory of up to 64 MB by itself. Worth it after work that needs much, once.
    """
    if sys.platform == "linux":
        import ctypes  # starting a server has loaded it

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
