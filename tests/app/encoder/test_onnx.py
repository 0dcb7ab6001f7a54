import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.settings import Settings
from app.encoder.onnx import Encoder
from app.encoder.weights import ModelFiles, packaged_weights
from app.hosts.launch import STDIO, LaunchSpec
from app.indexing.reading import Limits
from app.ranking.summary import summarise
from app.registry.probe import ProbeOptions, probe
from tests.fakes.tool_texts import tool_texts
from tests.servers import launches

# what sentence-transformers makes of each line's texts, after the float32 graph that the export
# begins with; both with our delta
TORCH = """
import json, sys
from pathlib import Path
import torch
from sentence_transformers import SentenceTransformer
sys.path.append(sys.argv[2])
from app.encoder.delta import merge_delta
from app.encoder.export import load, write_graph
loaded = load(sys.argv[1])
merge_delta(loaded[0].model)
write_graph(loaded, Path(sys.argv[3]))
loaded[0].model.config.output_hidden_states = False
loaded[0].model.encoder.layer = loaded[0].model.encoder.layer[:1]  # its outputs are all that counts
write_graph(loaded, Path(sys.argv[3]).with_name("plain.onnx"))
model = SentenceTransformer(sys.argv[1], device="cpu")
merge_delta(model[0].model)
bert = model[0].model
whole = bert.encoder.layer
for line in sys.stdin:
    texts, inner = json.loads(line), []
    bert.encoder.layer = whole
    rows = model.encode(texts, normalize_embeddings=True).tolist()
    bert.encoder.layer = whole[:-1]
    with torch.no_grad():
        for text in texts:
            given = model.tokenizer([text], truncation=True, max_length=256, return_tensors="pt")
            inner.append(bert(**given).last_hidden_state[0].mean(0).tolist())
    print(json.dumps([rows, inner]), flush=True)
"""
Vectors = Callable[[list[str]], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of float32.onnx and plain.onnx, once `published` has written them."""
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="module")
def published(graphs: Path) -> Iterator[Vectors]:
    """Gives texts to a process with torch: their vectors, and those of the layer before."""
    root = Path(__file__).parents[3]
    arguments = [str(packaged_weights()), str(root), str(graphs / "float32.onnx")]
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", TORCH, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def vectors(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        process.stdin.write(json.dumps(texts) + "\n")
        process.stdin.flush()
        rows, inner = json.loads(process.stdout.readline())
        return np.array(rows, dtype=np.float32), np.array(inner, dtype=np.float32)

    yield vectors
    process.stdin.close()
    process.stdout.close()
    assert process.wait(30) == 0


def test_onnx_gives_what_sentence_transformers_gives(
    encoder: Encoder, graphs: Path, published: Vectors
) -> None:
    assert_agreement(encoder, tool_texts(60), graphs, published)


@pytest.mark.servers
def test_onnx_agrees_on_the_tools_of_the_real_servers(
    encoder: Encoder, tmp_path: Path, graphs: Path, published: Vectors
) -> None:
    reason = launches.missing()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    texts = []
    for entry in launches.mcp_servers(tmp_path).values():
        env = {**entry.get("env", {}), "HOME": str(tmp_path)}
        launch = LaunchSpec(STDIO, entry["command"], tuple(entry["args"]), env=env)
        reading = probe(launch, options=ProbeOptions(Limits(grace_seconds=1.0)))
        texts += [summarise(tool.name, str(tool.raw.get("description"))) for tool in reading.tools]
    assert len(set(texts)) >= 200
    assert_agreement(encoder, texts, graphs, published)


def assert_agreement(encoder: Encoder, texts: list[str], folder: Path, published: Vectors) -> None:
    """Each text as a query finds the same ten by the float32 graph, nearly the same by int8.

    Cosines are at least 0.9999 and 0.995; so are those of the inner vectors, which are what a
    model gives that has lost its last layer.
    """
    exact = folder / "float32.onnx"
    expected, inner = published(texts)
    assert [o.name for o in onnx.load(exact).graph.output] == ["embedding", "inner"]
    assert [o.name for o in onnx.load(folder / "plain.onnx").graph.output] == ["embedding"]
    float32 = Encoder.load(replace(encoder.files, onnx=exact, sha256=""))
    plain, plain_inner = _both(float32, texts)
    inner /= np.linalg.norm(inner, axis=1, keepdims=True)
    assert (plain_inner * inner).sum(axis=1).min() >= 0.9999
    assert (_both(encoder, texts)[1] * inner).sum(axis=1).min() >= 0.995
    assert (plain * expected).sum(axis=1).min() >= 0.9999
    assert (_top_ten(plain) == _top_ten(expected)).all()
    found = encoder.encode(texts)
    assert (found * expected).sum(axis=1).min() >= 0.995
    pairs = list(zip(_others(found), _others(expected), strict=True))
    assert np.mean([one[0] == other[0] for one, other in pairs]) >= 0.9
    assert np.mean([len({*one} & {*other}) / 10 for one, other in pairs]) >= 0.95


def _both(encoder: Encoder, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    pairs = [encoder.encode_query(text) for text in texts]
    rows, inner = (
        np.stack([np.frombuffer(row, "<f4") for row in of]) for of in zip(*pairs, strict=True)
    )
    return rows, inner


def _top_ten(rows: np.ndarray) -> np.ndarray:
    # scores nearer to each other than float32's noise are ties, and ties go by position
    return np.argsort(-np.round(rows @ rows.T, 5), axis=1, kind="stable")[:, :10]


def _others(rows: np.ndarray) -> list[list[int]]:
    """Per row, the ten nearest of the other rows."""
    scores = rows @ rows.T
    np.fill_diagonal(scores, -1)
    nearest: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :10].tolist()
    return nearest


def test_parts_of_a_process_share_one_encoder_and_let_it_go(
    model: ModelFiles, tmp_path: Path
) -> None:
    own = tmp_path / "model.onnx"  # not of the run's own, which is kept
    shutil.copy(model.onnx, own)
    files = replace(model, onnx=own)
    ctx = AppContext(Paths(tmp_path, tmp_path), Settings())
    first = Encoder.shared(ctx, files)
    assert Encoder.shared(ctx, replace(files)) is first
    assert Encoder.shared(AppContext(ctx.paths, Settings()), files) is not first
    del first
    assert not ctx.shared


def test_rows_come_in_the_order_of_the_texts_whatever_their_lengths(encoder: Encoder) -> None:
    texts = ["read a file", "x " * 400, "", "send mail to the whole team", "读取文件"]
    together = encoder.encode(texts)
    alone = np.vstack([encoder.encode([text]) for text in texts])
    assert together.dtype == np.float32
    assert together.shape == (5, encoder.dims)
    np.testing.assert_array_equal(together, alone)  # no text depends on its neighbours
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 384)


def test_strange_texts_are_encoded(encoder: Encoder) -> None:
    found = encoder.encode(["\ud800", "👩‍🔧", "ق" * 100_000, " " * 200_000, "\x00\u202e"])
    assert np.isfinite(found).all()


def test_the_vocabulary_has_the_usual_english_words(encoder: Encoder) -> None:
    typed = ("retro", "shoes", "brnach", "policies", "swicth", "")
    assert [word for word in typed if encoder.has_word(word)] == ["retro", "shoes", "policies"]


def test_bytes_are_the_row_in_little_endian_float32(encoder: Encoder) -> None:
    data = encoder.encode_bytes("read a file")
    np.testing.assert_array_equal(np.frombuffer(data, "<f4"), encoder.encode(["read a file"])[0])


def test_a_query_is_encoded_once_for_both_its_vectors(model: ModelFiles) -> None:
    asks = Encoder.load(replace(model, query_prompt="query: "))
    vector, inner = asks.encode_query("read a file")
    assert vector == asks.encode_bytes("read a file", query=True)
    assert inner != vector
    assert np.linalg.norm(np.frombuffer(inner, "<f4")) == pytest.approx(1, abs=1e-5)


def test_a_graph_without_layers_gives_its_vector_twice(model: ModelFiles, tmp_path: Path) -> None:
    whole = onnx.load(model.onnx)
    del whole.graph.output[1]
    onnx.save(whole, tmp_path / "model.onnx")
    plain = Encoder.load(replace(model, onnx=tmp_path / "model.onnx", sha256=""))
    vector, inner = plain.encode_query("read a file")
    assert vector == inner == plain.encode_bytes("read a file", query=True)


def test_prompts_of_a_model_go_in_front(model: ModelFiles, encoder: Encoder) -> None:
    asks = Encoder.load(replace(model, query_prompt="query: ", document_prompt="passage: "))
    np.testing.assert_allclose(
        asks.encode(["a file"], query=True), encoder.encode(["query: a file"]), atol=1e-6
    )
    np.testing.assert_allclose(
        asks.encode(["a file"]), encoder.encode(["passage: a file"]), atol=1e-6
    )


def test_a_damaged_model_says_what_to_delete(model: ModelFiles, tmp_path: Path) -> None:
    broken = tmp_path / "model.onnx"
    broken.write_bytes(b"not a graph")
    with pytest.raises(ToolcribError) as caught:
        Encoder.load(replace(model, onnx=broken, sha256=""))
    assert str(tmp_path) in caught.value.hint


INTERRUPTED = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "numpy._core._add_newdocs":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from app.encoder.runtime import load_runtime
try:
    load_runtime()
except KeyboardInterrupt:
    print("stopped")
"""


def test_an_interrupt_while_the_runtime_is_loaded_stays_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("stopped\n", "")
