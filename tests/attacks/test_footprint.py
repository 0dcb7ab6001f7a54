"""What each program writes and whom it talks to, watched by strace in a throwaway HOME.

docs/security.md's section "What each program reads, writes and sends" has a row for each of them.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.encoder.runtime import NO_TELEMETRY
from app.gateway.backend.rendezvous import Place
from app.gateway.menu.search import LOADING
from resources.sample.config import write_sample_config, write_sample_home
from tests.fakes.traced import Footprint, trace

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
_WAIT_SECONDS = 60.0
_OPENING = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "host", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


class Machine:
    """A HOME whose hosts name the sample servers, and programs traced in it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = write_sample_home(base / "home")
        self.state = self.home / "sample-state"  # of the servers, not of Toolcrib
        self.own = self.home / ".local" / "share" / "toolcrib"
        self.own.parent.mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(base / "tmp"),
            "QT_QPA_PLATFORM": "offscreen",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "TOOLCRIB_MODELS": os.environ["TOOLCRIB_MODELS"],
            "TOOLCRIB_TEST_RUN": os.environ["TOOLCRIB_TEST_RUN"],
            "TOOLCRIB_STANDALONE": "1",
        }
        (base / "tmp").mkdir()
        self._runs = 0

    def run(self, *command: str | Path, **more) -> Footprint:
        self._runs += 1
        program = BIN / command[0] if command[0] != sys.executable else command[0]
        return trace([program, *command[1:]], self.base / f"trace-{self._runs}", self.env, **more)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """After a scan, so that there is something to route, serve and show."""
    made = Machine(tmp_path_factory.mktemp("machine"))
    made.scanned = made.run("toolcrib", "scan", "--yes")
    assert made.scanned.code == 0, made.scanned.output
    yield made


def test_scan_starts_the_servers_and_writes_its_own_folder_only(machine: Machine) -> None:
    assert machine.scanned.outside(machine.own, machine.state) == []
    assert machine.scanned.addresses == frozenset()
    assert machine.own / "toolcrib.db" in machine.scanned.written


@pytest.mark.parametrize(
    "verb",
    [
        ["footprint"],
        ["route", "what is the weather"],
        ["check"],
        ["export", "cursor", "--mode", "through", "--dry-run"],
        ["profile", "off", "tracker"],
        ["backend", "login", "on"],  # which shows the file only
    ],
    ids=lambda words: words[0],
)
def test_a_verb_writes_its_own_folder_only(machine: Machine, verb: list[str]) -> None:
    footprint = machine.run("toolcrib", *verb)
    assert "Traceback" not in footprint.output
    assert footprint.outside(machine.own) == []
    assert footprint.addresses == frozenset()


def test_import_reads_the_file_and_writes_its_own_folder_only(machine: Machine) -> None:
    config = write_sample_config(machine.base / "config.json", machine.state)
    footprint = machine.run("toolcrib", "import", config)
    assert config in footprint.read
    assert footprint.outside(machine.own) == []
    assert footprint.addresses == frozenset()


def test_usage_reads_records_and_writes_its_own_folder_only(machine: Machine) -> None:
    record = machine.home / ".claude" / "projects" / "p" / "s.jsonl"
    record.parent.mkdir(parents=True)
    record.write_text("{}\n")
    footprint = machine.run("toolcrib", "usage", "read", "--yes")
    assert footprint.code == 0 and record in footprint.read, footprint.output
    assert footprint.outside(machine.own) == []
    assert footprint.addresses == frozenset()


def test_lock_writes_the_lock_and_its_own_folder_only(machine: Machine) -> None:
    project = machine.base / "project"
    project.mkdir()
    write_sample_config(project / ".mcp.json", machine.state)
    footprint = machine.run("toolcrib", "lock", "--project", project, "--yes")
    assert footprint.code == 0, footprint.output
    assert footprint.outside(machine.own, machine.state, project) == []
    assert footprint.addresses == frozenset()
    footprint = machine.run("toolcrib", "check", "--project", project)
    assert footprint.code == 0, footprint.output
    assert footprint.outside(machine.own) == []


def test_export_writes_the_file_it_shows_and_its_own_folder_only(machine: Machine) -> None:
    cursor = machine.home / ".cursor"
    assert machine.run("toolcrib", "profile", "off", "tracker").code == 0  # or nothing is written
    footprint = machine.run("toolcrib", "export", "cursor", "--mode", "pruned")
    assert footprint.code == 0, footprint.output
    assert "toolcrib-gateway" in (cursor / "mcp.json").read_text()
    assert footprint.outside(machine.own, cursor) == []
    assert footprint.addresses == frozenset()


def test_the_gateway_writes_its_own_folder_only(machine: Machine) -> None:
    def serve(process) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        for message in _OPENING:
            _send(process, message)
        number, answer = 2, ""
        while "result" not in answer or LOADING in answer:  # words answer until it is loaded
            assert time.monotonic() < deadline, answer
            number += 1
            _send(process, _search(number))
            answer = _answer(process, number)

    footprint = machine.run("toolcrib-gateway", "--profile", "default", until=serve)
    assert footprint.outside(machine.own, machine.state) == []
    assert footprint.addresses == frozenset()
    assert any(file.name == "model.onnx" for file in footprint.read), "no query was encoded"


def test_the_backend_and_its_adapter_writes_its_own_folder_only(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(process) -> None:
        for message in (*_OPENING, _search(2)):
            _send(process, message)
        assert "result" in _answer(process, 2)
        process.stdin.close()
        process.stdin = None  # or communicate() flushes it
        process.wait(_WAIT_SECONDS)  # strace ends with the backend, which nobody needs any more

    machine.env |= {"TOOLCRIB_STANDALONE": "", "TOOLCRIB_BACKEND_IDLE": "0.5"}
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)  # which the machine has not
    run = Path(Place(str(machine.own)).folder)  # a short one where a socket's path is too long
    own = f'sa_family=AF_UNIX, sun_path="{run}/'
    met = False
    try:
        for _ in range(4):  # an adapter waits five seconds for a backend: few, under strace
            footprint = machine.run("toolcrib-gateway", "--profile", "default", until=serve)
            assert footprint.outside(machine.own, machine.state, run) == []
            assert [one for one in footprint.addresses if not one.startswith(own)] == []
            met = any(file.parent == run and file.suffix == ".txt" for file in footprint.written)
            if met and footprint.addresses:
                break
    finally:
        machine.env["TOOLCRIB_STANDALONE"] = "1"
    assert met and footprint.addresses and not run.exists()


def _search(number: int) -> dict:
    params = {"name": "search_tools", "arguments": {"query": "what is the weather"}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _send(process, message: dict) -> None:
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def _answer(process, number: int) -> str:
    """The line that answers this request; notes to the host are passed over."""
    while line := process.stdout.readline():
        if line.startswith("{") and json.loads(line).get("id") == number:
            return line
    raise AssertionError("the gateway ended")


def test_the_window_writes_its_own_folder_only(machine: Machine) -> None:
    pictures = machine.own / "cache"

    def look(process) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while not any(pictures.rglob("*.svg")) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    footprint = machine.run("toolcrib", until=look)
    assert footprint.outside(machine.own) == []
    assert footprint.addresses == frozenset()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_encoder_export_writes_its_folder_and_temporary_files_only(machine: Machine) -> None:
    models = machine.base / "models"
    code = (
        "import sys; from pathlib import Path; from app.core.paths import Paths;"
        "from app.encoder.weights import ensure_model;"
        "ensure_model(Paths(Path(sys.argv[1]), Path(sys.argv[1])))"
    )
    machine.env["PYTHONPATH"] = str(ROOT)
    footprint = machine.run(sys.executable, "-c", code, models, seconds=1500)
    assert footprint.code == 0, footprint.output
    assert footprint.outside(models, machine.base / "tmp") == []
    assert not any("AF_INET" in address for address in footprint.addresses)


def test_the_page_has_a_row_for_each_program_that_is_watched() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    section = page.split("## What each program reads, writes and sends")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (?!program|-)(?:[^|]+\|){4} `(test_\w+)` \|$", section, re.MULTILINE)
    here = re.findall(r"^def (test_\w+_writes_\w+)\(", Path(__file__).read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(here)
    assert "#what-each-program-reads-writes-and-sends" in (ROOT / "README.md").read_text()


def test_only_one_place_loads_the_packages_that_would_phone_home() -> None:
    """So that no import of onnxruntime comes before its telemetry is off."""
    loads = re.compile(r"^\s*(?:import|from) onnxruntime\b", re.MULTILINE)
    files = [file for name in ("app", "ui", "store") for file in (ROOT / name).rglob("*.py")]
    direct = [file for file in files if loads.search(file.read_text(encoding="utf-8"))]
    assert [file.name for file in direct] == ["quantize.py"]  # onnxruntime.quantization, after it
    text = direct[0].read_text(encoding="utf-8")
    assert text.index("load_runtime()\n") < loads.search(text).start()


def test_the_bundle_switches_telemetry_off_before_anything_runs() -> None:
    spec = (ROOT / "packaging" / "toolcrib.spec").read_text(encoding="utf-8")
    hook = ROOT / "packaging" / "no_telemetry.py"
    assert 'runtime_hooks=[str(ROOT / "packaging" / "no_telemetry.py")]' in spec
    environ: dict[str, str] = {}
    exec(
        hook.read_text(encoding="utf-8").replace("os.environ", "environ"),
        {"environ": environ},
    )
    assert environ.items() >= NO_TELEMETRY.items()
