"""`native`: the calls of the system that this process runs on, from posix.py or windows.py."""

import sys

if sys.platform == "win32":
    from app.system import windows as native
else:
    from app.system import posix as native

__all__ = ["native"]
