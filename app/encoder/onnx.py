"""Runs an exported encoder with onnxruntime; numpy, onnxruntime and tokenizers load on demand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.core.errors import ToolcribError
from app.encoder.runtime import load_runtime
from app.encoder.weights import ModelFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from app.core.context import AppContext

# no 256 tokens are longer, save for runs of white space; the tokenizer reads whatever it is given
LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Encoder:
    """Texts to unit-length float32 vectors; safe to share between threads."""

    files: ModelFiles
    _session: Any = field(repr=False)  # onnxruntime.InferenceSession, which has no types
    _tokenizer: "Tokenizer" = field(repr=False)
    _inputs: tuple[str, ...] = field(repr=False)

    @classmethod
    def load(cls, files: ModelFiles, threads: int = 1) -> "Encoder":
        """Load an exported model (about 0.3 s of CPU and 80 MB for the default one).

        Raises ToolcribError when its files are not those that were exported.
        """
        _check(files.onnx, files.sha256, files.remedy)
        _check(files.tokenizer, files.tokenizer_sha256, files.remedy)
        from tokenizers import Tokenizer

        onnxruntime = load_runtime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(files.onnx), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = Tokenizer.from_file(str(files.tokenizer))
        except Exception as error:  # both raise bare or private exceptions
            raise ToolcribError(
                f"The encoder {files.name} cannot be loaded: {str(error)[:200]}",
                files.remedy,
            ) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(files.max_tokens)
        return cls(files, session, tokenizer, tuple(i.name for i in session.get_inputs()))

    @classmethod
    def shared(cls, ctx: "AppContext", files: ModelFiles) -> "Encoder":
        """The encoder that another part of this process holds already, else a loaded one."""
        held = ctx.shared.get(files)
        if not isinstance(held, cls):
            held = ctx.shared[files] = cls.load(files)
        return held

    @property
    def key(self) -> str:
        """The name vectors are stored under."""
        return self.files.key

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return self.files.dims

    def encode(self, texts: Sequence[str], *, query: bool = False) -> "NDArray[np.float32]":
        """One row per text, unit length; `query` uses the model's query prompt if it has one."""
        import numpy as np

        prompt = self.files.query_prompt if query else self.files.document_prompt
        rows = np.empty((len(texts), self.dims), dtype=np.float32)
        # one by one: in an int8 batch a vector would depend on its neighbours
        for row, text in enumerate(texts):
            rows[row] = self._run(prompt + text)[0]
        return rows

    def encode_bytes(self, text: str, *, query: bool = False) -> bytes:
        """One text as little-endian float32, the form of the store."""
        row: bytes = self.encode([text], query=query)[0].astype("<f4").tobytes()
        return row

    def encode_query(self, text: str) -> tuple[bytes, bytes]:
        """A query's unit vector, and that of the layer before the last, in one run.

        The inner one keeps more of a query's words: past use knows like queries by both. Models
        without layers have their vector twice.
        """
        outputs = self._run(self.files.query_prompt + text)
        vector, inner = (row.astype("<f4").tobytes() for row in (outputs[0], outputs[-1]))
        return vector, inner

    def has_word(self, word: str) -> bool:
        """True if the model's vocabulary has the word whole, as it has the usual English ones."""
        return self._tokenizer.token_to_id(word) is not None

    def _tokens(self, text: str) -> list[int]:
        # lone surrogates, which JSON may carry, are refused by the tokenizer
        clean = text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
        return self._tokenizer.encode(clean).ids

    def _run(self, text: str) -> list[Any]:
        """The graph's outputs for a text."""
        import numpy as np

        ids = np.array([self._tokens(text)], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        outputs = self._session.run(None, {name: given[name] for name in self._inputs})
        return [rows[0] for rows in outputs]


def _check(file: Path, sha256: str, hint: str) -> None:
    """Raise ToolcribError unless this is the file that was exported."""
    import hashlib  # 3.5 MB of libcrypto that a search by words does not need

    try:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise ToolcribError(f"{file} cannot be read: {error.strerror}.", hint) from error
    if sha256 and digest != sha256:
        raise ToolcribError(f"{file} is not the file that was exported.", hint)
