"""Somebody swaps the files of an exported encoder, which run as code of ours in every program."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import ModelFiles, ensure_model


@pytest.fixture
def copied(tmp_path: Path) -> ModelFiles:
    """The default encoder in a folder that may be damaged."""
    paths = Paths.default()
    model = ensure_model(Paths(tmp_path, paths.models))
    folder = shutil.copytree(model.onnx.parent, tmp_path / "copy")
    return replace(model, onnx=folder / "model.onnx", tokenizer=folder / "tokenizer.json")


def test_a_graph_of_the_same_size_with_one_byte_changed_is_not_loaded(copied: ModelFiles) -> None:
    data = bytearray(copied.onnx.read_bytes())
    data[len(data) // 2] ^= 1
    copied.onnx.write_bytes(data)
    with pytest.raises(ToolcribError, match="not the file that was exported") as caught:
        Encoder.load(copied)
    assert str(copied.onnx.parent) in caught.value.hint


def test_a_changed_tokenizer_is_not_loaded(copied: ModelFiles) -> None:
    import hashlib

    kept = replace(
        copied, tokenizer_sha256=hashlib.sha256(copied.tokenizer.read_bytes()).hexdigest()
    )
    assert Encoder.load(kept)
    copied.tokenizer.write_bytes(copied.tokenizer.read_bytes() + b" ")
    with pytest.raises(ToolcribError, match="not the file that was exported"):
        Encoder.load(kept)


def test_a_file_that_is_gone_is_a_sentence(copied: ModelFiles) -> None:
    copied.onnx.unlink()
    with pytest.raises(ToolcribError, match="cannot be read"):
        Encoder.load(copied)
