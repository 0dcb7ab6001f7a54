"""Real gateways over stocked stores, driven by a raw host."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402
import raw_host  # noqa: E402

from app.core.paths import Paths  # noqa: E402
from app.encoder.weights import ensure_model  # noqa: E402


def probe(mode: str = "ok", **env: str) -> dict[str, Any]:
    return {
        "command": sys.executable,
        "args": [str(FAKES / "probe_upstream.py")],
        "env": {"PROBE_MODE": mode, **env},
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def stocked(home: Path, tmp_path: Path) -> Callable[..., Path]:
    """stocked({"probe": "ok"}, settings) fills the store; modes stand for probe servers."""

    def fill(servers: dict[str, Any], settings: dict[str, Any] | None = None) -> Path:
        config = {}
        for name, one in servers.items():
            if isinstance(one, str):
                one = probe(one, PROBE_NAME=name, PROBE_LOG=str(tmp_path / f"{name}.log"))
            config[name] = one
        return gateway_store.stock(home, config, settings=settings)

    return fill


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str], list[dict[str, Any]]]:
    """What a probe server received."""

    def read(name: str) -> list[dict[str, Any]]:
        file = tmp_path / f"{name}.log"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    return read


@pytest.fixture
def gateway(home: Path) -> Iterator[Callable[..., raw_host.RawHost]]:
    """gateway("--server", "probe") starts one; all are closed at the end."""
    started: list[raw_host.RawHost] = []

    def start(*args: str, answers: dict[str, Any] | None = None) -> raw_host.RawHost:
        env = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
        command = raw_host.gateway_command("--profile", "default", *args)
        host = raw_host.RawHost(command, env, answers)
        started.append(host)
        return host

    yield start
    for host in started:
        host.close()


@pytest.fixture
def probe_command() -> list[str]:
    return [sys.executable, str(FAKES / "probe_upstream.py")]


@pytest.fixture(scope="session")
def encoder_at_hand() -> None:
    """The exported encoder is there, for gateways that load it."""
    models = Path(os.environ["TOOLCRIB_MODELS"])
    ensure_model(Paths(models.parent, models))


@pytest.fixture
def modern_launch() -> dict[str, Any]:
    """The launch of a server that only knows the stateless revision."""
    return {"command": sys.executable, "args": [str(FAKES / "modern_upstream.py")], "env": {}}


@pytest.fixture
def both_launch() -> Callable[..., dict[str, Any]]:
    """both_launch("both"): a server with all that the conformance suite asks for."""

    def make(eras: str, **env: str) -> dict[str, Any]:
        script = str(FAKES / "conformance_server.py")
        return {"command": sys.executable, "args": [script], "env": {"SERVER_ERAS": eras, **env}}

    return make


@pytest.fixture
def encoderless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No model in reach: words only, and no memory or time for the encoder."""
    monkeypatch.setenv("TOOLCRIB_MODELS", str(tmp_path / "no-models"))
    assert os.environ["TOOLCRIB_MODELS"]
