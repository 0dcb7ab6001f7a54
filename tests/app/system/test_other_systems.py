"""What macOS and Windows do differently, simulated: commands, variables, signals, files, trees."""

# Where os.name is "nt" pathlib makes no paths on Linux.
# ruff: noqa: PTH102, PTH110, PTH114, PTH115, PTH119, PTH120, PTH123, PTH208

import ctypes
import io
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from app.cli import console
from app.core import safe_write
from app.core.paths import Paths
from app.encoder.weights import DEFAULT_MODEL
from app.system import commands, ending, processes
from app.system.processes import MARK_VARIABLE, started_as
from tests.app.system.test_native import SYSTEM, load
from tests.fakes.process_waits import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="simulated on Linux")
LONGEST_WINDOWS = 260  # characters of a path, where long paths are not switched on
MOST_HOME = len(r"C:\Users\a-name-of-twenty-chars\AppData\Local\toolcrib")


def put(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("", encoding="utf-8")
    file.chmod(0o755)
    return file


# ---- commands and variables


def test_a_variable_of_the_host_replaces_ours_in_any_case_on_windows() -> None:
    ours = {"PATH": "C:\\a", "SYSTEMROOT": "C:\\Windows", "HTTP_PROXY": "x"}
    env = commands.child_environment(ours, {"Path": "C:\\mine", "http_proxy": "y"}, windows=True)
    assert env["Path"] == "C:\\mine" and "PATH" not in env
    assert env["http_proxy"] == "y" and "HTTP_PROXY" not in env
    assert env["SYSTEMROOT"] == "C:\\Windows"
    both = commands.child_environment({"HTTP_PROXY": "x"}, {"http_proxy": "y"}, windows=False)
    assert (both["HTTP_PROXY"], both["http_proxy"]) == ("x", "y")
    assert commands.variable({"Path": "p"}, "PATH", windows=True) == "p"
    assert commands.variable({"Path": "p"}, "PATH", windows=False) == ""


def test_a_command_is_found_by_its_ending_in_the_order_of_pathext(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    put(first / "npx")  # a shell script for others, which Windows cannot start
    shim, program = put(first / "npx.cmd"), put(second / "npx.exe")
    path = os.pathsep.join(map(str, (first, second)))
    known = commands.endings({"PathExt": ".COM;.EXE;.BAT;.CMD"}, windows=True)
    assert commands.which("npx", path, known) == str(shim)
    assert commands.which("npx.exe", path, known) == str(program)
    assert commands.which(str(first / "npx"), "", known) == str(shim)
    assert commands.which("node", path, known) is None
    assert commands.endings({}, windows=True) == (".com", ".exe", ".bat", ".cmd")
    assert commands.endings({"PATHEXT": ".PY"}, windows=False) == ("",)


def test_no_command_is_taken_from_the_folder_that_a_host_works_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "project" / "npx.cmd")
    real = put(tmp_path / "nodejs" / "npx.cmd")
    monkeypatch.chdir(tmp_path / "project")
    known = commands.endings({}, windows=True)
    assert commands.which("npx", str(real.parent), known) == str(real)
    assert commands.which("npx", str(tmp_path / "none"), known) is None


def test_a_shim_is_started_by_cmd_with_its_arguments_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMSPEC", r"C:\Windows\System32\cmd.exe")
    argv = [r"C:\nodejs\npx.cmd", "-y", "mcp-remote", "https://a.b/?x=1&y=2"]
    line = started_as(argv, windows=True)
    assert isinstance(line, str) and line.startswith(r'"C:\Windows\System32\cmd.exe" /d /s /c ')
    assert "x^=1" not in line and "^&y=2" in line
    for untouched in ([r"C:\nodejs\node.exe", "a&b"], ["/usr/bin/npx", "a&b"]):
        assert started_as(untouched, windows=True) == untouched
    assert started_as(argv, windows=False) == argv


# ---- signals


@pytest.mark.parametrize("system", ["this one", "windows"])
def test_a_signal_ends_a_wait_and_a_read(system: str) -> None:
    code = (
        "import os, sys\n"
        "from app.system.ending import end_waiter\n"
        f"wait = end_waiter(windows={system == 'windows'})\n"
        "print('ready', flush=True)\n"
        + ("sys.stdin.read()\n" if system == "windows" else "os._exit(0 if wait(60) else 5)\n")
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SYSTEM.parents[1])},
    )
    with process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        for _ in range(60):  # one that comes just before the read is seen after it
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
                break
        assert process.returncode == 0


def test_windows_has_no_hang_up_and_nothing_asks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.delattr(signal, "SIGHUP")
        simulated = load(Path(ending.__file__), "ending_simulated")
    assert simulated._NUMBERS == (signal.SIGTERM, signal.SIGINT)


# ---- files


@pytest.fixture
def windows_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renames as Windows has them: refused where a file is open, and without renameat2."""
    replace, rename = os.replace, os.rename

    def refuse_open(*paths: str) -> None:
        links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
        held = {os.readlink(link) for link in links if os.path.islink(link)}
        if held & {os.path.realpath(path) for path in paths}:
            raise PermissionError(13, "in use by another process", paths[0])

    def checked_replace(source: str, target: str) -> None:
        refuse_open(source, target)
        replace(source, target)

    def checked_rename(source: str, target: str) -> None:
        refuse_open(source, target)
        assert not os.path.exists(target), "Windows does not rename over a file"
        rename(source, target)

    def no_library(_name: None, use_errno: bool) -> None:
        raise TypeError("argument 1 must be str, not None")

    monkeypatch.setattr(os, "name", "nt")
    monkeypatch.setattr(os, "replace", checked_replace)
    monkeypatch.setattr(os, "rename", checked_rename)
    monkeypatch.setattr(ctypes, "CDLL", no_library)


def test_no_open_file_is_renamed(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    file, new, folder = (str(tmp_path / name) for name in ("file", "new", "folder"))
    os.mkdir(folder + ".made")
    Path(folder + ".made", "inside").write_text("x", encoding="utf-8")
    request.getfixturevalue("windows_files")  # pathlib is of no use from here on
    for data in (b"one", b"two"):
        safe_write.write_file(file, data)
        with open(file, "rb") as opened:
            assert opened.read() == data
    safe_write.make_file(new, b"new", mode=0o600)
    with pytest.raises(FileExistsError):
        safe_write.make_file(new, b"other", mode=0o600)
    safe_write.put_folder(folder + ".made", folder)
    assert sorted(os.listdir(os.path.dirname(file))) == ["file", "folder", "new"]


def test_leftovers_go_by_their_age_where_files_cannot_be_locked(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    old, fresh = (safe_write.temporary_name(str(tmp_path / "x")) for _ in range(2))
    for path in (old, fresh):
        with open(path, "wb"):
            pass
    os.utime(old, (0, 0))
    folder = str(tmp_path)
    request.getfixturevalue("windows_files")
    safe_write.remove_leftovers(folder)
    assert os.listdir(folder) == [os.path.basename(fresh)]


def test_toolcribs_own_paths_are_no_long_ones() -> None:
    home = Paths(Path("home"), Path("home", "models"))
    longest = home.models / f"{DEFAULT_MODEL.replace('/', '--')}@{'0' * 12}" / "tokenizer.json"
    copy = home.home / "backups" / f"{'0' * 64}-2026-11-26T15-00-00-000000.json"
    for path in (home.database, home.logs / "server" / ("n" * 64), longest, copy):
        temporary = safe_write.temporary_name(str(path))
        assert MOST_HOME + max(len(str(path)), len(temporary)) < LONGEST_WINDOWS


# ---- code pages


@pytest.mark.parametrize("code_page", ["cp1252", "cp437", "cp932", "ascii"])
def test_a_terminal_without_our_characters_gets_them_spelled(
    code_page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=code_page)
    monkeypatch.setattr(sys, "stdout", stream)
    console.mend_streams()
    print("1,234 tokens ≈ · ●", file=sys.stdout, flush=True)
    assert raw.getvalue().startswith(b"1,234 tokens ")


# ---- processes without /proc


@pytest.fixture
def without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS and Windows: the table comes from psutil."""
    monkeypatch.setattr(processes, "_LINUX", False)


def test_a_tree_is_found_and_ended_without_proc(without_proc: None) -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    process, tree = processes.start(processes.prepare(sys.executable, ["-c", child]))
    with process:
        processes._wait(lambda: len(processes.running(tree)) >= 2, 20)
        assert len(processes.running(tree)) >= 2
        assert processes.cpu_seconds(tree) >= 0
        processes.stop([tree], grace=0.0)
        assert processes.running(tree) == ()
    assert not processes.become_subreaper()


def test_a_mark_is_read_from_a_process_without_proc(without_proc: None) -> None:
    env = {**os.environ, MARK_VARIABLE: ":abc"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=env) as one:
        until(lambda: processes._has_mark(one.pid, "abc"))  # its variables come after its start
        assert not processes._has_mark(one.pid, "other")


# ---- macOS


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """app/system/posix.py as macOS loads it."""
    monkeypatch.setattr(sys, "platform", "darwin")
    return load(SYSTEM / "posix.py", "posix_simulated")


def test_the_user_at_the_other_end_is_known_on_macos(mac: ModuleType) -> None:
    credentials = (0).to_bytes(4, "little") + (501).to_bytes(4, sys.byteorder) + bytes(68)

    def getsockopt(level: int, name: int, size: int) -> bytes:
        assert (level, name, size) == (0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED, struct xucred
        return credentials

    assert mac.peer_id(SimpleNamespace(getsockopt=getsockopt)) == 501


def test_what_only_linux_can_is_refused_on_macos(mac: ModuleType) -> None:
    for refused in (mac.quick_pipe, lambda: mac.shared_page(9), lambda: mac.move_bytes(0, 1, 9)):
        with pytest.raises(OSError):
            refused()


def test_descriptors_that_come_in_are_closed_to_children_on_macos(mac: ModuleType) -> None:
    one, other = mac.socket_pair()
    mac.send_descriptors(one, b"!", [0])
    _, descriptors = mac.receive_descriptors(other, 16, 8)
    assert [os.get_inheritable(number) for number in descriptors] == [False]
    for number in descriptors:
        os.close(number)
    one.close()
    other.close()
