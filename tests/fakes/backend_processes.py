"""The backends over a home, and their end."""

import signal
from pathlib import Path

import psutil


def running_backends(home: Path) -> list[psutil.Process]:
    """The backend processes whose data folder this is."""
    rows = []
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[-1:] != ["serve"]:
            continue
        try:
            environ = process.environ()
        except psutil.Error:
            continue
        if environ.get("TOOLCRIB_HOME") == str(home):
            rows.append(process)
    return rows


def end_backends(home: Path) -> None:
    """End them; each must go by itself within ten seconds of SIGTERM."""
    for process in running_backends(home):
        process.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(running_backends(home), timeout=10)
    for process in alive:
        process.kill()
    assert not alive, "a backend did not end within ten seconds of SIGTERM"
