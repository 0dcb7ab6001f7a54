"""CPU time of processes, whole and at a moment, for ratios within one run."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil


def cpu_now(pid: int) -> float:
    """Seconds of CPU all threads of a process have used so far, to the nanosecond (Linux)."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9


def cpu_of(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Seconds of CPU (user and system) one whole run of a command takes."""
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    return wait_for(process)


def wait_for(process: "subprocess.Popen[bytes]") -> float:
    """Wait for a process to end well; the seconds of CPU that it and its children took."""
    used = 0.0
    if sys.platform != "win32":  # which counts for no process that has ended
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        used = usage.ru_utime + usage.ru_stime
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return used


def peak_megabytes() -> int:
    """The most memory that this process has held so far."""
    if sys.platform == "win32":
        peak = psutil.Process().memory_info().peak_wset >> 20
    else:
        import resource

        unit = 20 if sys.platform == "darwin" else 10  # macOS counts bytes, Linux 1,024 of them
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> unit
    return int(peak)


class CpuClock:
    """CPU milliseconds of this process between two points."""

    def __init__(self) -> None:
        self._start = time.process_time()

    def ms(self) -> float:
        """Milliseconds since this clock was made."""
        return (time.process_time() - self._start) * 1000
