import os
from pathlib import Path

import pytest

from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import ModelFiles, ensure_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    """The default encoder, exported once a run (or once for all, where TOOLCRIB_MODELS says)."""
    given = os.environ.get("TOOLCRIB_MODELS")
    home = tmp_path_factory.mktemp("encoder")
    return ensure_model(Paths(home, Path(given) if given else home / "models"))


@pytest.fixture(scope="session")
def encoder(model: ModelFiles) -> Encoder:
    """The default encoder, loaded."""
    return Encoder.load(model)
