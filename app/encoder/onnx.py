"""Runs an exported encoder with onnxruntime; numpy, onnxruntime and tokenizers load on demand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.encoder.weights import ModelFiles
from app.errors import ToolcribError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

# padded tokens of one batch: larger ones leave the CPU cache (2048 takes 1.6 times as long)
BATCH_TOKENS = 256
# no 256 tokens are longer, save for runs of white space; the tokenizer reads whatever it is given
LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Encoder:
    """Texts to unit-length float32 vectors; safe to share between threads."""

    files: ModelFiles
    _session: Any = field(repr=False)  # onnxruntime.InferenceSession, which has no types
    _tokenizer: "Tokenizer" = field(repr=False)

    @classmethod
    def load(cls, files: ModelFiles, threads: int = 1) -> "Encoder":
        """Load an exported model (about 0.6 s of CPU and 180 MB for the default one)."""
        import onnxruntime
        from tokenizers import Tokenizer

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
                f"Delete {files.onnx.parent}; it is made again.",
            ) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(files.max_tokens)
        return cls(files, session, tokenizer)

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
        tokens = [self._tokens(prompt + text) for text in texts]
        rows = np.empty((len(texts), self.dims), dtype=np.float32)
        for batch in _batches([len(t.ids) for t in tokens]):
            rows[batch] = self._run([tokens[i] for i in batch])
        return rows

    def encode_bytes(self, text: str, *, query: bool = False) -> bytes:
        """One text as little-endian float32, the form of the store."""
        row: bytes = self.encode([text], query=query)[0].astype("<f4").tobytes()
        return row

    def _tokens(self, text: str) -> "Encoding":
        # lone surrogates, which JSON may carry, are refused by the tokenizer
        clean = text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
        return self._tokenizer.encode(clean)

    def _run(self, tokens: "Sequence[Encoding]") -> Any:
        import numpy as np

        width = max(len(t.ids) for t in tokens)
        ids = np.full((len(tokens), width), self.files.pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(tokens):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        names = [i.name for i in self._session.get_inputs()]
        return self._session.run(None, {name: given[name] for name in names})[0]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices grouped by similar length, so that little of a batch is padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
