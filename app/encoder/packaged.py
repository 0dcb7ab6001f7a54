"""The default encoder as a package carries it: in a bundle, or as the data wheel toolcrib-encoder.

The wheel is built by packaging/wheels.py from this repository's own export. Any uploader
can be its author, so its files count only by the hashes below.
"""

from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "toolcrib_encoder"
VERSION = "6.0.0"  # the first number is app.encoder.weights.FORMAT
ENCODER_SHA256 = {
    "model.onnx": "cf7bb41177639681aa6b218ad9c2e61c8c6afd19b7b34f1261235c14b57ab05d",
    "tokenizer.json": "624b305ea85161c32297f58453d5bc8d35c8f8461ee73ead5d4a90e4e12cb004",
}


def bundled_folder() -> Path:
    """Return the folder where a bundle carries its encoder."""
    return Path(str(files("resources"))) / "models"


def wheel_folders() -> Iterator[Path]:
    """Yield the folder of the data wheel if it is installed; the package is not imported."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        yield Path(folder)
