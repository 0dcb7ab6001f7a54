"""Bounded waits for what other processes do."""

import time
from pathlib import Path

import psutil


def until(condition, seconds=20.0):
    """Wait for a condition, bounded; what it came to."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def ended(process):
    """Wait until a process is gone, all of it: a thread that still ends still holds the sockets."""
    threads = Path(f"/proc/{process.pid}/task")
    until(
        lambda: (
            not process.is_running()
            or (process.status() == psutil.STATUS_ZOMBIE and len(list(threads.glob("*"))) <= 1)
        )
    )


def stopped(pid):
    """Whether every thread of a process stands still: a signal is sent before it is heeded."""
    stats = [stat.read_text() for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
