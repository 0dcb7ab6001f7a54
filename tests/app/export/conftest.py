from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "data" / "hosts"


@pytest.fixture
def samples() -> Path:
    return SAMPLES
