"""Rendezvous with the backend: its folder, socket, lock and descriptor, and access to them.

Each adapter that a host starts imports this: builtins, `os` and app/system/native.py only.
"""

import _socket
import os
import sys

from app.system.native import native
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PROTOCOL = "1"
CONTROL = "control"  # the role of a program of the user that asks something; others are hosts
STATUS, STOP, STOP_SERVER = "status", "stop", "stop-server"  # what such a program asks
ROUTE = "route"  # and a query to rank
RENEW = "renew"  # and to take in other tokens of the HTTP endpoint
STANDALONE_VARIABLE = "TOOLCRIB_STANDALONE"  # set to anything: no backend for this process
MOVED_VARIABLE = "TOOLCRIB_MOVED"  # what a process that serves alone leaves to its next program
OFF_FILE = "backend.off"  # in the data folder: each host gets a gateway of its own
_CONNECT_SECONDS = 2  # that a connection may take where many call
_LONGEST_SOCKET_PATH = 100  # bytes; sun_path has 104 on macOS, 108 on Linux
_MODULES = (
    "", "core", "mcp", "gateway", "gateway/backend", "gateway/backend/web", "gateway/menu",
    "gateway/serving",
)  # fmt: skip


class Place:
    """The paths of one build's backend over one data folder."""

    __slots__ = ("build", "descriptor", "folder", "home", "lock", "socket")

    def __init__(self, home: str, build: str = "") -> None:
        """Paths of this build; of another one that runs by its `build`."""
        self.home = home
        self.build = build or build_id()
        self.folder = _run_folder(home)
        base = f"{self.folder}/{self.build}"
        self.socket, self.lock, self.descriptor = f"{base}.sock", f"{base}.lock", f"{base}.txt"

    @property
    def off(self) -> bool:
        """True if the user wants no backend."""
        return os.path.exists(f"{self.home}/{OFF_FILE}")


def supported() -> bool:
    """True if this system has all that the rendezvous needs; Windows serves standalone."""
    return sys.platform != "win32" and hasattr(_socket, "AF_UNIX")


def why_none(home: str) -> str:
    """Reason that there is no backend, as a sentence; "" where there may be one."""
    if not supported():
        return "Toolcrib's backend does not run on this system, and hooks ask it."
    if Place(home).off:
        return "Hooks ask Toolcrib's backend, which is off: toolcrib backend on"
    return ""


def build_id() -> str:
    """16 hex digits that differ between any two installs of different code."""
    from app.gateway.backend import __file__ as here

    app = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    program = backend_program()
    parts = [PROTOCOL, app, program, sys.version]
    for module in _MODULES:
        parts += _times_of_modules(f"{app}/{module}") or [str(os.stat(program).st_mtime_ns)]
    return _digest("\0".join(parts))


def backend_program() -> str:
    """Path of the interpreter; of a bundle's two programs the gateway, which is the backend."""
    if not getattr(sys, "frozen", False):
        return sys.executable
    folder, name = os.path.split(sys.executable)
    return os.path.join(folder, "toolcrib-gateway" + os.path.splitext(name)[1])


def _times_of_modules(folder: str) -> list[str]:
    """Names and times of a folder's modules; none inside a bundle's archive.

    The folder's own time changes once Python keeps compiled modules in it.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError:
        return []
    return [f"{name} {os.stat(f'{folder}/{name}').st_mtime_ns}" for name in names]


def _run_folder(home: str) -> str:
    """`run` in the data folder, or a short one of this user's where that path is too long."""
    folder = f"{home}/run"
    if len(os.fsencode(folder)) + 22 <= _LONGEST_SOCKET_PATH:
        return folder
    top = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    return f"{top}/toolcrib-{native.user_id()}-{_digest(home)[:8]}"


def ensure_folder(folder: str) -> bool:
    """Make the folder for this user alone; False where another user can reach into it."""
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        return _is_private(folder)
    except OSError:
        return False


def _is_private(folder: str) -> bool:
    status = os.lstat(folder)
    is_folder = (status.st_mode & 0o170000) == 0o040000
    return is_folder and native.is_own(status)


def read_token(place: Place) -> str:
    """The running backend's token; "" where there is none, or none that may be trusted."""
    try:
        if not _is_private(place.folder):
            return ""
        descriptor = os.open(place.descriptor, os.O_RDONLY | native.OPEN_OWN | native.OPEN_AT_ONCE)
    except OSError:
        return ""
    try:
        if not native.is_own(os.fstat(descriptor)):
            return ""
        lines = os.read(descriptor, 4096).decode("ascii", "replace").split("\n")
    except OSError:  # a folder, or a pipe without a writer
        return ""
    finally:
        os.close(descriptor)
    # protocol, build, pid, token, "end": a file cut short lacks the last word
    complete = len(lines) >= 5 and lines[0] == PROTOCOL and lines[1] == place.build
    return lines[3] if complete and lines[4] == "end" else ""


def descriptor_text(place: Place, token: str) -> str:
    """Text of the descriptor."""
    return "\n".join([PROTOCOL, place.build, str(os.getpid()), token, "end", ""])


def connect(place: Place, *, waits: bool = True) -> "_socket.socket | None":
    """A connection to a live backend of this user, None where there is none.

    It `waits` where so many call that the system lets no more in, but not for ever.
    """
    link = _socket.socket(native.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.setblocking(waits)
        _limit_sends(link, _CONNECT_SECONDS)
        link.connect(place.socket)
        link.setblocking(True)
        _limit_sends(link, 0)
        if native.peer_id(link) == native.user_id():
            return link
    except OSError:
        pass
    link.close()
    return None


def _limit_sends(link: "_socket.socket", seconds: int) -> None:
    """Limit the seconds that connecting may block, 0 without end; Python's own would not wait.

    The system's `struct timeval`: two numbers of eight bytes, or one of eight and one of four.
    """
    value = seconds.to_bytes(8, sys.byteorder) + bytes(8)
    link.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, value)


def hello(build: str, token: str, role: str, argv: "Sequence[str]") -> bytes:
    """The first bytes of a connection: a line with the sizes, then NUL-separated fields.

    Fields: parent pid, working folder, the arguments, then the environment as NAME=value.
    """
    try:
        folder = os.getcwdb()
    except OSError:
        folder = b"/"
    words = [os.fsencode(word) for word in argv]
    fields = [str(os.getppid()).encode(), folder, *words, *native.environment()]
    body = b"\0".join(fields)
    line = f"toolcrib/{PROTOCOL} {role} {build} {token} {len(words)} {len(body)}\n"
    return line.encode("ascii") + body


def _digest(text: str) -> str:
    """64-bit FNV-1a in hex: names files, protects nothing; hashlib would cost 3 ms of a start."""
    value = 0xCBF29CE484222325
    for byte in os.fsencode(text):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"
