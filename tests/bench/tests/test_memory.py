"""`bench memory` with real gateways, a real backend and real servers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.options import NEEDS_CONSENT
from tests.bench.memory import ALL_SHARED, BACKEND, OWN, run

PROBE = Path(__file__).parents[2] / "fakes" / "probe_upstream.py"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    file = tmp_path / "mcp.json"
    servers = {n: {"command": sys.executable, "args": [str(PROBE), n]} for n in ("one", "two")}
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.exhaustive
def test_two_hosts_share_what_they_may_and_the_counts_are_of_real_processes(config):
    (table,) = run(config, (1, 2)).tables
    processes = {(row[0], row[1]): row[2] for row in table.rows}
    # per host: the gateway or adapter, two servers; a watcher beside each server; the backend
    assert processes[("1", OWN)] == 5 and processes[("2", OWN)] == 10
    assert processes[("1", BACKEND)] == 6 and processes[("2", BACKEND)] == 11
    assert processes[("2", ALL_SHARED)] == 7
    assert all(row[3] > 5 for row in table.rows)
    assert [row[4] for row in table.rows if row[1] == OWN] == [100, 100]


def test_nothing_is_started_without_consent(config):
    command = [sys.executable, "-m", "tests.bench", "memory", str(config)]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert answer.returncode == NEEDS_CONSENT and not answer.stdout
