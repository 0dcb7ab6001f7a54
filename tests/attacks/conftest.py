import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import apsw
import pytest

from app.core.context import AppContext

FAKES = Path(__file__).parents[1] / "fakes"


def load(name: str) -> ModuleType:
    """A module of tests/fakes."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FAKES / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def world(tmp_path: Path, ctx: AppContext, db: apsw.Connection):
    return load("host_world").HostWorld(tmp_path, ctx, db)


@pytest.fixture
def faults() -> ModuleType:
    module = load("faults")
    if not module.SUPPORTED:
        pytest.skip("system calls are traced on Linux on x86-64 only")
    return module


@pytest.fixture
def raw_host() -> ModuleType:
    return load("raw_host")
