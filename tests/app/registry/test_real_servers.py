"""The twelve pinned real servers, read for real (make servers installs them)."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from app.hosts.launch import STDIO, LaunchSpec
from app.indexing.reading import Limits
from app.registry.probe import ProbeOptions, probe

pytestmark = pytest.mark.servers
LAUNCHES = Path(__file__).parents[2] / "servers" / "launches.py"
TOOLS = {
    "everything": 16,
    "filesystem": 14,
    "memory": 9,
    "github": 26,
    "gitlab": 9,
    "slack": 8,
    "postgres": 1,
    "hubspot": 21,
    "grafana": 79,
    "time": 2,
    "git": 12,
    "sqlite": 6,
}


@pytest.fixture(scope="module")
def launches() -> ModuleType:
    spec = importlib.util.spec_from_file_location("server_launches", LAUNCHES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", TOOLS)
def test_a_real_server_is_read(launches: ModuleType, name: str, tmp_path: Path) -> None:
    reason = launches.missing(name)
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    entry = launches.mcp_servers(tmp_path, only=[name])[name]
    env = {**entry.get("env", {}), "HOME": str(tmp_path)}
    launch = LaunchSpec(STDIO, entry["command"], tuple(entry["args"]), env=env)
    reading = probe(launch, options=ProbeOptions(Limits(grace_seconds=1.0)))
    assert (reading.status, reading.problem) == ("read", "")
    assert len(reading.tools) == TOOLS[name]
    assert not any(tool.problem for tool in reading.tools)
    if name == "everything":
        assert reading.instructions
        assert reading.prompts
        assert reading.templates
    assert "dummy" not in repr(reading)
