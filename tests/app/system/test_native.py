"""What differs between systems: locks and descriptors here, and Windows' own ways simulated."""

import ctypes
import errno
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from app.system.native import native
from store import files

ROOT = Path(__file__).parents[3]
SYSTEM = ROOT / "app" / "system"
posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX")


def load(file: Path, name: str) -> ModuleType:
    """A module anew, under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kernel:
    """The calls of kernel32 that windows.py makes; handles are numbers above a hundred."""

    def __init__(self) -> None:
        self.running = {7}
        self.takes_processes = True
        self.open: dict[int, tuple[str, int]] = {}
        self.limits: dict[int, int] = {}
        self.held: list[tuple[int, int]] = []
        names = [name for name in dir(self) if name[0].isupper()]
        for name in names:  # bound methods take no attributes, functions of a library do
            bound = getattr(self, name)
            setattr(self, name, _function(bound))

    def CreateJobObjectW(self, _security: None, _name: None) -> int:
        return self._opened("job", 0)

    def OpenProcess(self, _rights: int, _inherit: bool, pid: int) -> int | None:
        return self._opened("process", pid) if pid in self.running else None

    def SetInformationJobObject(self, job: int, kind: int, limits: object, size: int) -> int:
        given = limits._obj  # type: ignore[attr-defined]
        assert kind == 9 and size == ctypes.sizeof(given)
        self.limits[job] = given.BasicLimitInformation.LimitFlags
        return 1

    def AssignProcessToJobObject(self, job: int, process: int) -> int:
        if self.takes_processes:
            self.held.append((job, self.open[process][1]))
        return int(self.takes_processes)

    def WaitForSingleObject(self, process: int, _milliseconds: int) -> int:
        return 0x102 if self.open[process][1] in self.running else 0

    def CloseHandle(self, handle: int) -> int:
        del self.open[handle]
        for job, pid in self.held:
            if job == handle and self.limits.get(job) == 0x2000:  # KILL_ON_JOB_CLOSE
                self.running.discard(pid)
        return 1

    def _opened(self, kind: str, pid: int) -> int:
        handle = 100 + len(self.open) + len(self.limits)
        self.open[handle] = (kind, pid)
        return handle


def _function(bound: Callable[..., object]) -> Callable[..., object]:
    return lambda *args: bound(*args)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> ModuleType:
    """app/system/windows.py over that kernel."""
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("O_NOINHERIT", "O_BINARY"):
        monkeypatch.setattr(os, name, 0, raising=False)
    monkeypatch.setattr(ctypes, "WinDLL", lambda _name, use_last_error: kernel, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: 5, raising=False)
    return load(SYSTEM / "windows.py", "windows_simulated")


def test_a_job_ends_its_process_when_its_last_handle_closes(
    windows: ModuleType, kernel: Kernel
) -> None:
    job = windows.end_with_us(7)
    assert kernel.held == [(job, 7)] and list(kernel.open) == [job]  # no handle of the process
    assert not windows.has_ended(7) and not windows.parent_gone(7)
    windows.close_job(job)
    assert windows.has_ended(7) and windows.parent_gone(7) and kernel.open == {}


def test_a_job_that_cannot_hold_the_process_is_closed_and_said(
    windows: ModuleType, kernel: Kernel
) -> None:
    with pytest.raises(OSError):
        windows.end_with_us(8)  # it has ended meanwhile
    kernel.takes_processes = False
    with pytest.raises(OSError):
        windows.end_with_us(7)
    assert kernel.open == {} and kernel.running == {7}


def test_the_limits_of_a_job_have_the_size_that_windows_wants(windows: ModuleType) -> None:
    is_64_bit = ctypes.sizeof(ctypes.c_void_p) == 8
    assert ctypes.sizeof(windows._Limits) == (144 if is_64_bit else 112)


def test_what_only_a_backend_needs_is_refused_on_windows(windows: ModuleType) -> None:
    for refused in (windows.poller, windows.quick_pipe, windows.socket_pair):
        with pytest.raises(OSError):
            refused()
    assert windows.peer_id(None) == -1 and not windows.is_own(SYSTEM.stat())


@pytest.fixture
def windows_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """store/files.py over msvcrt's locks, which are made of this system's locks here."""
    import fcntl

    byte = 1 << 30

    def locking(handle: int, mode: int, count: int) -> None:
        assert os.lseek(handle, 0, os.SEEK_CUR) == byte and count == 1
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            number = errno.EDEADLK if mode == fake.LK_LOCK else errno.EACCES
            raise OSError(number, "held") from error

    fake = SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        yield load(ROOT / "store" / "files.py", "files_simulated")


@posix_only
@pytest.mark.parametrize("system", ["this one", "windows"])
def test_a_file_is_held_by_one_until_it_closes_it(
    system: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    module = files if system == "this one" else request.getfixturevalue("windows_files")
    file = tmp_path / "lock"
    file.write_bytes(b"notes")
    one, other = (os.open(file, os.O_RDWR) for _ in range(2))
    assert module.lock(one) and not module.lock(other)
    assert os.read(one, 5) == b"notes"  # its place in the file is as it was
    os.close(one)
    assert module.lock(other)
    os.close(other)


@posix_only
@pytest.mark.parametrize("system", ["this one", "windows"])
def test_who_waits_gets_the_lock_once_it_is_free(
    system: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    module = files if system == "this one" else request.getfixturevalue("windows_files")
    one, other = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert module.lock(one)
    waiting = threading.Thread(target=module.lock, args=(other,), kwargs={"waits": True})
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    os.close(one)
    waiting.join(10)
    assert not waiting.is_alive()
    os.close(other)


@posix_only
def test_a_file_system_without_locks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(_handle: int, _flags: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="no locks"):
        files.lock(0)


@posix_only
def test_descriptors_pass_between_processes_and_are_closed_to_children(tmp_path: Path) -> None:
    one, other = native.socket_pair()
    file = os.open(tmp_path / "passed", os.O_RDWR | os.O_CREAT)
    native.send_descriptors(one, b"!", [file, 0])
    data, descriptors = native.receive_descriptors(other, 16, 8)
    assert data == b"!" and len(descriptors) == 2
    os.write(descriptors[0], b"through the copy")
    assert os.pread(file, 99, 0) == b"through the copy"
    assert not any(os.get_inheritable(descriptor) for descriptor in descriptors)
    for descriptor in (file, *descriptors):
        os.close(descriptor)
    one.close()
    other.close()
