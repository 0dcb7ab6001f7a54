import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import apsw
import pytest

from app.core.context import AppContext

_FAKES = Path(__file__).parents[2] / "fakes" / "host_world.py"
SAMPLES = Path(__file__).parents[2] / "data" / "hosts"


@pytest.fixture(scope="session")
def host_world() -> ModuleType:
    spec = importlib.util.spec_from_file_location("host_world", _FAKES)
    module = importlib.util.module_from_spec(spec)
    sys.modules["host_world"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def world(tmp_path: Path, ctx: AppContext, db: apsw.Connection, host_world: ModuleType):
    return host_world.HostWorld(tmp_path, ctx, db)


@pytest.fixture
def samples() -> Path:
    return SAMPLES
