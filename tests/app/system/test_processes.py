"""Trees of real processes: started, watched and gone."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.system import processes

linux = pytest.mark.skipif(sys.platform != "linux", reason="the subreaper is a Linux thing")


def run(code: str, **more: str) -> tuple["subprocess.Popen[bytes]", processes.Tree]:
    script = textwrap.dedent(code)
    return processes.start(processes.prepare(sys.executable, ["-c", script], env=more))


def until(done: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def close(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    process.wait(5)


def read_pid(process: "subprocess.Popen[bytes]") -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_a_child_that_heeds_stdin_close_is_not_signalled() -> None:
    process, tree = run("import sys; sys.stdin.read(); sys.exit(3)")
    processes.stop([tree], grace=10)
    assert process.returncode == 3
    assert processes.running(tree) == ()
    close(process)


def test_a_child_that_ignores_stdin_close_and_term_is_killed() -> None:
    process, tree = run(
        """
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(1, flush=True)
        time.sleep(60)
        """
    )
    read_pid(process)
    processes.stop([tree], grace=0.1, term=0.1)
    assert process.poll() == -9
    close(process)


def test_a_child_that_rests_after_stdin_close_is_asked_to_end_early() -> None:
    process, tree = run("import time; print(1, flush=True); time.sleep(60)")
    read_pid(process)
    began = time.monotonic()
    processes.stop([tree], grace=50, idle=0.3)
    assert process.returncode == (-15 if os.name == "posix" else 15)
    assert time.monotonic() - began < 25
    close(process)


def test_a_child_that_still_works_after_stdin_close_may_finish() -> None:
    process, tree = run(
        """
        import sys, time
        print(1, flush=True)
        sys.stdin.read()
        while time.process_time() < 2.5:
            pass
        sys.exit(4)
        """
    )
    read_pid(process)
    processes.stop([tree], grace=50, idle=1.5)
    assert process.returncode == 4
    close(process)


@linux
def test_a_grandchild_in_a_session_of_its_own_is_ended_by_its_mark() -> None:
    process, tree = run(
        """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                                 start_new_session=True, stdin=subprocess.DEVNULL)
        print(child.pid, flush=True)
        """
    )
    escaped = read_pid(process)
    until(lambda: process.poll() is not None)
    assert escaped in processes.running(tree)
    processes.stop([tree], grace=0.1)
    assert gone(escaped)
    close(process)


@linux
def test_a_grandchild_that_clears_its_environment_is_ended_as_well() -> None:
    process, tree = run(
        """
        import os, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                                 start_new_session=True, env={}, stdin=subprocess.DEVNULL)
        print(child.pid, flush=True)
        sys.stdin.read()
        """
    )
    escaped = read_pid(process)
    processes.stop([tree])
    assert gone(escaped)
    close(process)


@linux
def test_an_orphan_leaves_no_zombie_behind() -> None:
    process, tree = run(
        """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                                 stdin=subprocess.DEVNULL)
        print(child.pid, flush=True)
        """
    )
    orphan = read_pid(process)
    until(lambda: process.poll() is not None)
    processes.stop([tree], grace=0.1)
    assert not Path(f"/proc/{orphan}").exists()
    close(process)


def test_several_trees_are_stopped_in_the_time_of_one() -> None:
    started = [run("import time; time.sleep(60)") for _ in range(4)]
    before = time.monotonic()
    processes.stop([tree for _, tree in started], grace=0.3)
    assert time.monotonic() - before < 2.5
    for process, tree in started:
        assert processes.running(tree) == ()
        close(process)


def test_a_tree_inside_a_tree_is_found_from_the_outside() -> None:
    outer = processes.prepare(sys.executable, [], environ=os.environ)
    inner = processes.prepare(sys.executable, [], environ=outer.env)
    assert outer.mark in inner.env[processes.MARK_VARIABLE]
    assert inner.mark in inner.env[processes.MARK_VARIABLE]


def test_the_portable_way_ends_a_tree_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_LINUX", False)
    process, tree = run(
        """
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                                 start_new_session=True, stdin=subprocess.DEVNULL)
        while time.process_time() < 0.05:  # the clock has steps of 10 ms
            pass
        print(child.pid, flush=True)
        time.sleep(60)
        """
    )
    escaped = read_pid(process)
    assert {process.pid, escaped} <= set(processes.running(tree))
    assert processes.cpu_seconds(tree) > 0
    processes.stop([tree], grace=0.1)
    assert gone(escaped)
    close(process)


def test_cpu_seconds_grow_while_the_tree_works() -> None:
    process, tree = run("print(1, flush=True)\nwhile True: pass")
    read_pid(process)
    start = processes.cpu_seconds(tree)
    until(lambda: processes.cpu_seconds(tree) > start + 0.05)
    processes.stop([tree], grace=0)
    close(process)


def test_a_command_that_does_not_exist_is_a_sentence() -> None:
    with pytest.raises(ToolcribError, match="no-such-command-here was not found") as caught:
        processes.prepare("no-such-command-here", ["--token", "hunter2"])
    assert "hunter2" not in str(caught.value)


def test_a_file_that_may_not_be_run_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "server.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    with pytest.raises(ToolcribError, match="may not be run"):
        processes.prepare(str(tmp_path / "server.sh"), [])


def test_a_missing_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ToolcribError, match="does not exist"):
        processes.prepare(sys.executable, [], cwd=str(tmp_path / "nowhere"))


def test_a_file_that_is_no_program_is_a_sentence(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_bytes(b"\x7fELF not really")
    script.chmod(0o755)
    with pytest.raises(ToolcribError, match="could not be started"):
        processes.start(processes.prepare(str(script), []))


def test_printing_what_is_prepared_shows_no_secret() -> None:
    prepared = processes.prepare(sys.executable, ["--token=hunter2"], env={"KEY": "hunter2"})
    assert "hunter2" not in repr(prepared)
