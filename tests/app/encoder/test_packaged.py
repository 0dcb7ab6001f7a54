"""The default encoder as the data wheel toolcrib-encoder carries it."""

import json
import shutil
import stat
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.encoder import packaged, weights
from app.encoder.onnx import Encoder
from app.encoder.weights import ModelFiles, ensure_model, find_model


@pytest.fixture
def wheel(tmp_path: Path, model: ModelFiles, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed data wheel with this machine's export, and its hashes in the code."""
    folder = tmp_path / "site" / packaged.PACKAGE
    shutil.copytree(model.onnx.parent, folder / model.onnx.parent.name)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setitem(packaged.ENCODER_SHA256, "model.onnx", model.sha256)
    monkeypatch.setitem(packaged.ENCODER_SHA256, "tokenizer.json", model.tokenizer_sha256)
    return folder / model.onnx.parent.name


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path, tmp_path / "models")


def without_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = weights.find_spec

    def find(name: str) -> ModuleSpec | None:
        return None if name == "sentence_transformers" else seen(name)

    monkeypatch.setattr(weights, "find_spec", find)


def test_the_wheels_encoder_is_used_without_an_export(
    wheel: Path, paths: Paths, model: ModelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_sentence_transformers(monkeypatch)
    found = ensure_model(paths)
    assert found.onnx == wheel / "model.onnx"
    assert found.key == model.key
    assert Encoder.load(found).dims == 384
    assert packaged.PACKAGE not in sys.modules
    assert not paths.models.exists()


def test_a_wheel_whose_graph_has_another_hash_is_not_loaded(wheel: Path, paths: Paths) -> None:
    """Also where the file beside it names the new hash: that came from the same hand."""
    import hashlib

    graph = bytearray((wheel / "model.onnx").read_bytes())
    graph[len(graph) // 2] ^= 1
    (wheel / "model.onnx").write_bytes(graph)
    about = json.loads((wheel / "model.json").read_text())
    about["sha256"] = hashlib.sha256(graph).hexdigest()
    (wheel / "model.json").write_text(json.dumps(about))
    found = find_model(paths)
    assert found
    with pytest.raises(ToolcribError, match="not the file that was exported") as caught:
        Encoder.load(found)
    assert caught.value.hint == "Install Toolcrib again."


def test_an_export_of_ones_own_goes_before_the_wheels(wheel: Path, model: ModelFiles) -> None:
    found = find_model(Paths(wheel, model.onnx.parent.parent))
    assert found and found.onnx == model.onnx != wheel / "model.onnx"


def test_another_encoder_names_the_packages_that_prepare_it(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_sentence_transformers(monkeypatch)
    with pytest.raises(ToolcribError, match="sentence-transformers is not installed") as caught:
        ensure_model(paths, "someone/else")
    assert "toolcrib[models]" in caught.value.hint
    assert not paths.models.exists()


def test_the_wheels_version_begins_with_the_format_of_exports() -> None:
    assert packaged.VERSION.split(".")[0] == str(weights.FORMAT)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_an_exported_folder_is_readable_by_every_user_of_the_machine(model: ModelFiles) -> None:
    """Else others who share it would silently search by words only."""
    folder = model.onnx.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o644}
