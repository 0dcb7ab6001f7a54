"""What is killed leaves no server behind, and no child of one."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from odd_gateway import FAKES, ROOT, start, stock


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return stock(tmp_path_factory.mktemp("odd") / "home")


SCAN = """
import sys
from app.registry.probe import probe
from app.hosts.launch import LaunchSpec
env = {"FAKE_MODE": "escape,hang-list", "FAKE_PIDS": sys.argv[2]}
probe(LaunchSpec("stdio", sys.executable, ("-S", "-E", sys.argv[1]), env=env))
"""


def assert_gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.skipif(sys.platform != "linux", reason="the watcher looks into /proc")
@pytest.mark.parametrize("way", ["pruned", "through"])
def test_a_killed_gateway_leaves_no_server_and_no_child_of_one(home, way):
    odd = start(home, way)
    odd.call("family")
    tree = odd.host.until(lambda: len(odd.host.tree()) >= 4 and odd.host.tree())
    odd.host.process.kill()
    try:
        assert_gone(tree)
    finally:
        odd.host.close()
        for process in tree:
            with contextlib.suppress(psutil.Error):
                process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="the watcher looks into /proc")
def test_a_killed_scan_leaves_no_server_and_no_child_of_one(tmp_path):
    pids = tmp_path / "pids"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCAN, str(FAKES / "fake_server.py"), str(pids)]
    scan = subprocess.Popen(command, env=env)
    deadline = time.monotonic() + 30
    while not pids.exists() or len(pids.read_text(encoding="utf-8").split()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    tree = psutil.Process(scan.pid).children(recursive=True)
    assert len(tree) >= 3
    scan.kill()
    scan.wait()
    try:
        assert_gone(tree)
    finally:
        for process in tree:
            with contextlib.suppress(psutil.Error):
                process.kill()
