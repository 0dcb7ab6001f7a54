"""Turns a sentence-transformers model into one ONNX graph; the only user of torch.

Runs in a child process of app.encoder.weights. Pooling and L2 normalisation are inside the graph,
which gives a text's embedding and, of models with layers, the mean of its tokens one layer before.
"""

import hashlib
import json
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.core.safe_write import put_folder
from app.encoder.delta import merge_delta, with_delta
from app.encoder.quantize import LEAST_AGREEMENT, Feed, quantized, sample_texts
from app.encoder.weights import DEFAULT_MODEL, FORMAT, folder_name, model_key, source_hash
from store.typed import Json

LONGEST = 256  # tokens; longer texts are cut, as the default model was trained
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("embedding", "inner")


def main(source: str, name: str, models: str) -> None:
    """Export the model at `source` (a folder or a hub name) below the folder `models`."""
    warnings.filterwarnings("ignore")
    say("Loading the model", 0.1)
    model = load(source)
    if name == DEFAULT_MODEL:
        merge_delta(model[0].model)
    folder = Path(tempfile.mkdtemp(prefix=".part-", dir=models))
    try:
        say("Exporting the graph", 0.5)
        inputs = write_graph(model, folder / "model.onnx")
        write_tokenizer(model, folder / "tokenizer.json")
        is_folder = Path(source).is_dir()
        sha256 = source_hash(Path(source)) if is_folder else file_hash(folder / "model.onnx")
        if name == DEFAULT_MODEL:
            sha256 = with_delta(sha256)
        say("Making it small", 0.7)
        precision = shrink(folder / "model.onnx", sample_feeds(model, inputs))
        about = describe(model, folder / "model.onnx") | {
            "name": name,
            "key": model_key(name, sha256),
            "inputs": inputs,
            "precision": precision,
            "tokenizer_sha256": file_hash(folder / "tokenizer.json"),
        }
        (folder / "model.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
        folder.chmod(0o755)  # mkdtemp's is closed; other users of a shared folder may read it
        put_folder(folder, Path(models) / folder_name(str(about["key"])))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def load(source: str) -> Any:
    """The sentence-transformers model, in the form that exports best."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    # "eager" is attention in plain products and sums: fewer nodes than the fused form exports to
    eager = {"attn_implementation": "eager"}
    model = SentenceTransformer(source, device="cpu", model_kwargs=eager).eval()
    config = getattr(getattr(model[0], "model", None), "config", None)
    if config is not None:
        config.output_hidden_states = True
    return model


def say(step: str, done: float) -> None:
    """Report progress to the parent process."""
    sys.stdout.write(json.dumps({"step": step, "done": done}) + "\n")
    sys.stdout.flush()


def write_graph(model: Any, file: Path) -> list[str]:
    """Write the graph; returns the names of its inputs."""
    import torch

    class Graph(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch's inside
        """The whole model as a function of token ids."""

        def __init__(self, names: list[str]) -> None:
            super().__init__()
            self.model = model
            self.names = names

        def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """Unit-length embeddings of a batch, and means of the layer before the last."""
            given = dict(zip(self.names, values, strict=True))
            outputs = self.model(dict(given))
            rows = [outputs["sentence_embedding"]]
            if "all_layer_embeddings" in outputs:
                counted = given["attention_mask"].unsqueeze(-1).float()
                inner = outputs["all_layer_embeddings"][-2]
                rows.append((inner * counted).sum(1) / counted.sum(1))
            return tuple(torch.nn.functional.normalize(row, p=2.0, dim=1) for row in rows)

    sample = model.tokenizer(["read a file", "x"], padding=True, return_tensors="pt")
    names = [name for name in INPUTS if name in sample]
    axes = {name: {0: "batch", 1: "tokens"} for name in names}
    graph = Graph(names)
    with torch.no_grad():
        outputs = list(OUTPUTS[: len(graph(*(sample[name] for name in names)))])
    torch.onnx.export(
        graph,
        tuple(sample[name] for name in names),
        str(file),
        input_names=names,
        output_names=outputs,
        dynamic_axes=axes | {name: {0: "batch"} for name in outputs},
        opset_version=17,
        dynamo=False,
    )
    return names


def sample_feeds(model: Any, inputs: Sequence[str]) -> list[Feed]:
    """The graph's inputs for texts of ours."""
    feeds = []
    for text in sample_texts():
        encoded = model.tokenizer([text], truncation=True, max_length=LONGEST, return_tensors="np")
        feeds.append({name: encoded[name] for name in inputs})
    return feeds


def shrink(file: Path, feeds: Sequence[Feed]) -> str:
    """Put the int8 graph in the place of `file` if the two agree; "int8", else "float32"."""
    small = file.with_name("small.onnx")
    if quantized(file, feeds, small) < LEAST_AGREEMENT:
        small.unlink()
        return "float32"
    small.replace(file)
    return "int8"


def write_tokenizer(model: Any, file: Path) -> None:
    """Write the fast tokenizer alone; onnx.py sets its own cut and padding."""
    fast = model.tokenizer.backend_tokenizer
    file.write_text(fast.to_str(), encoding="utf-8")


def describe(model: Any, onnx: Path) -> Json:
    """Description of an export, as app.encoder.weights and onnx read it."""
    prompts = model.prompts or {}
    return {
        "format": FORMAT,
        "dims": model.get_embedding_dimension(),
        "max_tokens": min(LONGEST, model.max_seq_length or LONGEST),
        "query_prompt": prompts.get("query") or "",
        "document_prompt": prompts.get("document") or prompts.get("passage") or "",
        "bytes": onnx.stat().st_size,
        "sha256": file_hash(onnx),
        "made_at": time.time(),
    }


def file_hash(file: Path) -> str:
    """sha256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
