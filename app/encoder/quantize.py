"""Makes an exported graph smaller and twice as fast: int8 matrix products, float16 embeddings.

Plain dynamic int8 loses ranking: a few values of the activations are large, and one scale for
all of them leaves nothing for the rest. Two remedies keep the ranking. Where some channels are
large, that is moved into the weights (SmoothQuant, arXiv 2211.10438, section 4). Products that
make a vector shorter read what a few tokens alone make large; there each token gets a scale of
its own. Weights are unsigned: sums of signed ones saturate on x86 processors without VNNI, so
that one graph would give other vectors there. If the result does not agree with the float32
graph, it is not used.
"""

import copy
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from app.encoder.runtime import load_runtime
from store.typed import Json

LEAST_AGREEMENT = 0.99  # cosine to the float32 vectors, for every one of our texts
_MOVED = 0.7  # share of an outlier that the weights take; agrees best, 0.6 to 0.8 nearly as well
_LEAST = 1e-5  # a channel or token that is smaller than this counts as this
_LARGE_TABLE = 1_000_000  # numbers; smaller embedding tables are not worth a cast

Feed = Json  # a graph's inputs for one text
Vectors = Sequence[Any]  # a graph's outputs for one text


def sample_texts() -> list[str]:
    """Our own queries and tool descriptions: the ranges of activations are taken from them."""
    resources = files("resources")
    texts: list[str] = []
    for name in ("natural.jsonl", "more.jsonl"):
        lines = resources.joinpath("queries", name).read_text(encoding="utf-8").splitlines()
        texts += [json.loads(line)["query"] for line in lines]
    bed = tomllib.loads(resources.joinpath("queries", "testbed.toml").read_text(encoding="utf-8"))
    return texts + [line for server in bed.values() for line in server["tools"]]


def quantized(graph: Path, feeds: Sequence[Feed], target: Path) -> float:
    """Write the smaller graph to `target`; its lowest cosine to `graph` over the feeds."""
    import onnx

    model = onnx.load(graph)
    products = _products(model)
    shorter = []
    readers = defaultdict(list)
    for node, weights in products:
        if weights.shape[0] > weights.shape[1]:
            shorter.append(node)
        else:
            readers[node.input[0]].append((node, weights))
    largest, exact = _watched(model, list(readers), feeds)
    _smooth(model, readers, largest)
    _scale_tokens(model, shorter)
    _write(model, target)
    return agreement(exact, target, feeds)


def _write(model: Any, target: Path) -> None:
    import onnx

    load_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        copy.deepcopy(model),
        target,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QUInt8,
        extra_options={"MatMulConstBOnly": True, "DefaultTensorType": onnx.TensorProto.FLOAT},
    )
    small = onnx.load(target)
    _halve_tables(small)
    onnx.save(small, target)


def _products(model: Any) -> list[tuple[Any, Any]]:
    """The nodes that multiply activations by weights, with the weights (inputs x outputs)."""
    from onnx import numpy_helper

    known = {tensor.name: tensor for tensor in model.graph.initializer}
    return [
        (node, numpy_helper.to_array(known[node.input[1]]))
        for node in model.graph.node
        if node.op_type == "MatMul" and node.input[1] in known
    ]


def _smooth(model: Any, readers: Mapping[str, Sequence[tuple[Any, Any]]], largest: Json) -> None:
    """Divide each channel of the activations by a factor that its weights take over."""
    import numpy as np
    from onnx import helper, numpy_helper

    known = {tensor.name: tensor for tensor in model.graph.initializer}
    for count, (name, group) in enumerate(readers.items()):
        heaviest = np.max([np.abs(weights).max(axis=1) for _, weights in group], axis=0)
        factor = _positive(largest[name]) ** _MOVED / _positive(heaviest) ** (1 - _MOVED)
        factor = (factor / np.median(factor)).astype(np.float32)
        scale, smoothed = f"smooth_scale_{count}", f"smoothed_{count}"
        model.graph.initializer.append(numpy_helper.from_array(1 / factor, scale))
        at = list(model.graph.node).index(group[0][0])
        model.graph.node.insert(at, helper.make_node("Mul", [name, scale], [smoothed]))
        for node, weights in group:
            taken = numpy_helper.from_array(weights * factor[:, None], node.input[1])
            known[node.input[1]].CopyFrom(taken)
            node.input[0] = smoothed


def _scale_tokens(model: Any, nodes: Sequence[Any]) -> None:
    """Divide each token's activations by their largest value, and multiply the product by it."""
    import numpy as np
    from onnx import helper, numpy_helper

    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(np.array(_LEAST, np.float32), "least_top"))
    for node in nodes:
        activations, product, name = node.input[0], node.output[0], node.name
        size, largest, top = f"{name}_size", f"{name}_largest", f"{name}_top"
        node.input[0], node.output[0] = f"{name}_unit", f"{name}_scaled"
        before = [
            helper.make_node("Abs", [activations], [size]),
            helper.make_node("ReduceMax", [size], [largest], axes=[-1], keepdims=1),
            helper.make_node("Max", [largest, "least_top"], [top]),
            helper.make_node("Div", [activations, top], [node.input[0]]),
        ]
        at = list(graph.node).index(node)
        graph.node.insert(at + 1, helper.make_node("Mul", [node.output[0], top], [product]))
        for step in reversed(before):
            graph.node.insert(at, step)


def _positive(values: Any) -> Any:
    import numpy as np

    return np.maximum(values, _LEAST)


def _watched(model: Any, names: Sequence[str], feeds: Sequence[Feed]) -> tuple[Json, list[Vectors]]:
    """The largest absolute value of each channel of these tensors, and the model's vectors."""
    import numpy as np
    import onnx

    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    own = [output.name for output in model.graph.output]
    watched.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    session = _session(watched.SerializeToString())
    largest: Json = {}
    vectors = []
    for feed in feeds:
        outputs = session.run([*names, *own], feed)
        for name, values in zip(names, outputs[: len(names)], strict=True):
            top = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
            largest[name] = np.maximum(largest.get(name, top), top)
        vectors.append(outputs[len(names) :])
    return largest, vectors


def _halve_tables(model: Any) -> None:
    """Keep large embedding tables as float16; only the rows of a text are widened again."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    tables = {t.name: t for t in graph.initializer if np.prod(t.dims) >= _LARGE_TABLE}
    for at, node in reversed(list(enumerate(graph.node))):
        table = tables.get(node.input[0]) if node.op_type == "Gather" else None
        if table is None or table.data_type != TensorProto.FLOAT:
            continue
        half = numpy_helper.to_array(table).astype(np.float16)
        table.CopyFrom(numpy_helper.from_array(half, table.name))
        wide = node.output[0]
        node.output[0] = f"{wide}_half"
        cast = helper.make_node("Cast", [node.output[0]], [wide], to=TensorProto.FLOAT)
        graph.node.insert(at + 1, cast)


def agreement(exact: Sequence[Vectors], small: Path, feeds: Sequence[Feed]) -> float:
    """The lowest cosine of these vectors and the graph's for the same text, over all outputs."""
    return min(
        float((mine * its).sum())
        for one, other in zip(exact, vectors(small, feeds), strict=True)
        for mine, its in zip(one, other, strict=True)
    )


def vectors(graph: Path, feeds: Sequence[Feed]) -> Iterator[Vectors]:
    """The graph's vectors (numpy) for each text, one of every output."""
    session = _session(graph)
    return (session.run(None, feed) for feed in feeds)


def _session(graph: Path | bytes) -> Any:
    onnxruntime = load_runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # threads that wait in a loop for the next product take more CPU than the products
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
