"""Killed processes, full and failing disks: old bytes or new ones, and nothing left over."""

import subprocess
import sys
from pathlib import Path

RUNS = Path(__file__).with_name("kill_runs.py")


def runs(*options):
    """One run of the command that also makes 10,000 of them."""
    command = [sys.executable, str(RUNS), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_write_that_ends_at_any_system_call_leaves_the_old_or_the_new_file(faults):
    runs("--runs", "150")


def test_the_store_and_the_backends_files_may_lose_any_system_call(faults):
    """Every call of a backend's start and end, each kind of fault; of an update; of a new list."""
    runs("--every", "--only", "backend")
    runs("--every", "--only", "upgraded store", "--faults", "kill")
    runs("--every", "--only", "list into the store", "--faults", "kill")


def test_every_single_system_call_of_an_export_may_be_the_last(faults):
    runs("--every", "--only", "export", "--faults", "kill")
