"""The int8 graph against the float32 one, on a small graph with outliers as real ones have."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from app.encoder import export, quantize
from app.encoder.quantize import agreement, quantized, sample_texts, vectors

WORDS, WIDTH = 4000, 256
Feeds = list[dict[str, np.ndarray]]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Rows of a table, two products, the mean: two channels are a hundred times the rest, and
    every twentieth word is two hundred times as loud as the others between the products.
    """
    random = np.random.default_rng(7)
    table = random.normal(size=(WORDS, WIDTH))
    table[:, [3, 90]] *= 100
    loudness = np.ones((WORDS, 1))
    loudness[::20] = 200
    wide = random.normal(size=(WIDTH, 2 * WIDTH)) / 16
    wide[[3, 90]] /= 100
    narrow = random.normal(size=(2 * WIDTH, WIDTH)) / 16
    weights = {"table": table, "wide": wide, "narrow": narrow, "loudness": loudness}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"], name="rows"),
        helper.make_node("MatMul", ["rows", "wide"], ["up"], name="up"),
        helper.make_node("Relu", ["up"], ["kept"]),
        helper.make_node("Gather", ["loudness", "input_ids"], ["loud"], name="loud"),
        helper.make_node("Mul", ["kept", "loud"], ["heard"]),
        helper.make_node("MatMul", ["heard", "narrow"], ["down"], name="down"),
        helper.make_node("LpNormalization", ["down"], ["even"], axis=2, p=2),
        helper.make_node("ReduceMean", ["even"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("LpNormalization", ["mean"], ["embedding"], axis=1, p=2),
    ]
    made = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )
    file = tmp_path / "model.onnx"
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, file)
    return file


@pytest.fixture
def feeds() -> Feeds:
    random = np.random.default_rng(11)
    return [{"input_ids": random.integers(0, WORDS, (1, n))} for n in (3, 8, 20, 60) * 5]


def test_a_small_graph_agrees_where_plain_int8_does_not(
    graph: Path, feeds: Feeds, tmp_path: Path
) -> None:
    plain = tmp_path / "plain.onnx"
    quantize_dynamic(graph, plain, per_channel=True, weight_type=QuantType.QInt8)
    assert agreement([*vectors(graph, feeds)], plain, feeds) < 0.95
    assert quantized(graph, feeds, tmp_path / "small.onnx") >= 0.995


def test_without_a_scale_for_each_token_the_loud_ones_drown_the_others(
    graph: Path, feeds: Feeds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantize, "_scale_tokens", lambda _model, _nodes: None)
    assert quantized(graph, feeds, tmp_path / "small.onnx") < 0.99


def test_products_are_int8_and_the_table_is_half(graph: Path, feeds: Feeds, tmp_path: Path) -> None:
    small = tmp_path / "small.onnx"
    quantized(graph, feeds, small)
    model = onnx.load(small)
    types = {t.name: t.data_type for t in model.graph.initializer}
    assert types["wide_quantized"] == TensorProto.UINT8
    assert types["narrow_quantized"] == TensorProto.UINT8
    assert types["table"] == TensorProto.FLOAT16
    assert small.stat().st_size < graph.stat().st_size * 0.5


def test_a_graph_that_agrees_takes_the_place(graph: Path, feeds: Feeds) -> None:
    before = graph.stat().st_size
    assert export.shrink(graph, feeds) == "int8"
    assert graph.stat().st_size < before
    assert [f.name for f in graph.parent.iterdir()] == ["model.onnx"]


def test_a_graph_that_does_not_agree_is_left_as_it_was(
    graph: Path, feeds: Feeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = graph.read_bytes()
    monkeypatch.setattr(export, "LEAST_AGREEMENT", 1.1)
    assert export.shrink(graph, feeds) == "float32"
    assert graph.read_bytes() == before
    assert [f.name for f in graph.parent.iterdir()] == ["model.onnx"]


def test_sample_texts_are_queries_and_tools_of_ours() -> None:
    texts = sample_texts()
    assert len(texts) >= 200
    assert all(text.strip() for text in texts)
