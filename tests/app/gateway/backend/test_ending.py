"""The end of a backend: at once on a signal and on a request, not at its next tick."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.gateway.backend.rendezvous import Place

ROOT = Path(__file__).parents[4]
# a backend that would look at its sessions, and at what it was asked, in five minutes
SERVE = "from app.gateway.backend import server; server._TICK = 300; server.serve()"


@pytest.fixture
def backend(home: Path, place: Place) -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", SERVE], env=env, stderr=subprocess.PIPE) as one:
        while not Path(place.descriptor).exists():
            assert one.poll() is None, one.stderr and one.stderr.read()
        yield one
        one.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_at_once(
    backend: subprocess.Popen[bytes], control: Callable[[str], dict[str, Any]], number: int
) -> None:
    assert control("status")["pid"] == backend.pid
    backend.send_signal(number)
    assert backend.wait(20) == 0


def test_a_request_ends_it_at_once(
    backend: subprocess.Popen[bytes], control: Callable[[str], dict[str, Any]]
) -> None:
    control("stop")
    assert backend.wait(20) == 0
