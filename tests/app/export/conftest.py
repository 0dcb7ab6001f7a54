from pathlib import Path

import apsw
import pytest

from app.context import AppContext
from tests.fakes.host_world import HostWorld


@pytest.fixture
def world(tmp_path: Path, ctx: AppContext, db: apsw.Connection) -> HostWorld:
    return HostWorld(tmp_path, ctx, db)
