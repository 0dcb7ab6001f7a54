"""Hosts that share one backend, each an adapter process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import raw_host
from backend_processes import end_backends, running_backends

from app.gateway.backend.rendezvous import Place

ROOT = Path(__file__).parents[4]


@pytest.fixture
def place(home: Path) -> Place:
    home.mkdir(parents=True, exist_ok=True)
    return Place(str(home))


@pytest.fixture
def backends(home: Path) -> Iterator[Callable[[], list[psutil.Process]]]:
    """The backend processes over this test's home; all are ended at the end."""

    yield lambda: running_backends(home)
    end_backends(home)


@pytest.fixture
def adapter(
    home: Path, backends: Callable[[], list[psutil.Process]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., raw_host.RawHost]]:
    """adapter("--server", "probe") starts what a host's file names; the backend comes with it."""
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "60")
    started: list[raw_host.RawHost] = []

    def start(*args: str, answers: dict[str, Any] | None = None, **env: str) -> raw_host.RawHost:
        words = args if "--profile" in args else ("--profile", "default", *args)
        outer = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT), **env}
        host = raw_host.RawHost(raw_host.gateway_command(*words), outer, answers)
        started.append(host)
        return host

    yield start
    for host in started:
        host.close()


@pytest.fixture
def control(place: Place) -> Callable[[str], dict[str, Any]]:
    """control("status"): what the backend answers to a program of the user."""

    def ask(verb: str) -> dict[str, Any]:
        code = (
            "import json, sys; from app.gateway.backend.client import request;"
            "from app.gateway.backend.rendezvous import Place;"
            "print(json.dumps(request(Place(sys.argv[1]), sys.argv[2])))"
        )
        out = subprocess.run(
            [sys.executable, "-c", code, place.home, verb],
            cwd=ROOT,
            env={**os.environ},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        return json.loads(out.stdout)

    return ask
