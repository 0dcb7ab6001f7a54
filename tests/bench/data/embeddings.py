"""Embeddings kept on disk, so that a benchmark encodes each text once."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import DEFAULT_MODEL, ensure_model, packaged_weights

_CHUNK = 512  # texts encoded between two commits


class CachedEncoder:
    """An encoder that remembers; keyed by model and text."""

    def __init__(self, encoder: Encoder, folder: Path | None) -> None:
        self._encoder = encoder
        self._known: dict[str, bytes] = {}
        self._db = None if folder is None else _open(folder)
        self._base: CachedEncoder | None = None
        self.text_count = 0  # texts that encode_bytes() and encode_query() were asked for

    @property
    def key(self) -> str:
        """The name of the model and its weights."""
        return self._encoder.key

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return self._encoder.dims

    @property
    def models(self) -> Path:
        """The folder of the exported encoders."""
        return self._encoder.files.onnx.parents[1]

    @property
    def base(self) -> "CachedEncoder":
        """The default encoder without our delta, as others measure with it; else this one."""
        folder = packaged_weights() if self._encoder.files.name == DEFAULT_MODEL else None
        if folder is None:
            return self
        if self._base is None:
            files = ensure_model(Paths(self.models.parent, self.models), str(folder))
            self._base = CachedEncoder(Encoder.load(files), None)
            self._base._db = self._db
        return self._base

    def close(self) -> None:
        """Close the file on disk."""
        if self._db is not None:
            self._db.close()

    def encode_bytes(self, text: str, *, query: bool = False) -> bytes:
        """A text's unit vector as float32 bytes."""
        self.text_count += 1
        name = self._name(text, query)
        if name not in self._known:
            self.encode([text], query=query)
        return self._known[name]

    def encode_query(self, text: str) -> tuple[bytes, bytes]:
        """A query's unit vector and the inner one beside it."""
        self.text_count += 1
        self.encode_queries([text])
        name = self._name(text, True)
        return self._known[name], self._known[f"{name} inner"]

    def has_word(self, word: str) -> bool:
        """True if the encoder knows the word."""
        return self._encoder.has_word(word)

    def encode_queries(self, texts: Sequence[str]) -> None:
        """Encode what was never seen, for encode_query() and encode() to find."""
        names = {self._name(text, True): text for text in texts}
        self._read([row for n in names for row in (n, f"{n} inner") if row not in self._known])
        pending = [n for n in names if n not in self._known or f"{n} inner" not in self._known]
        for start in range(0, len(pending), _CHUNK):
            made: list[tuple[str, bytes]] = []
            for name in pending[start : start + _CHUNK]:
                vector, inner = self._encoder.encode_query(names[name])
                made += [(name, vector), (f"{name} inner", inner)]
            self._keep(made)

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """One row per text; only texts never seen are encoded."""
        import numpy as np

        names = [self._name(text, query) for text in texts]
        self._read([name for name in names if name not in self._known])
        new = {n: t for n, t in zip(names, texts, strict=True) if n not in self._known}
        pending = list(new.items())
        for start in range(0, len(pending), _CHUNK):
            self._add(pending[start : start + _CHUNK], query)
        rows = b"".join(self._known[name] for name in names)
        return np.frombuffer(rows, dtype="<f4").reshape(len(names), self.dims)

    def _name(self, text: str, query: bool) -> str:
        files = self._encoder.files
        prompt = files.query_prompt if query else files.document_prompt
        whole = f"{self.key}\0{prompt}{text}".encode("utf-8", "replace")
        return hashlib.sha256(whole).hexdigest()

    def _read(self, names: Sequence[str]) -> None:
        if self._db is None:
            return
        for name in names:
            row = self._db.execute("SELECT data FROM embeddings WHERE key = ?", (name,)).fetchone()
            if row:
                self._known[name] = bytes(row[0])

    def _add(self, pending: Sequence[tuple[str, str]], query: bool) -> None:
        rows = self._encoder.encode([text for _name, text in pending], query=query)
        self._keep(
            [(n, r.astype("<f4").tobytes()) for (n, _t), r in zip(pending, rows, strict=True)]
        )

    def _keep(self, made: Sequence[tuple[str, bytes]]) -> None:
        self._known.update(made)
        if self._db is not None:
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", made)


def _open(folder: Path) -> apsw.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(folder / "embeddings.db"))
    db.set_busy_timeout(30_000)
    db.execute(
        "CREATE TABLE IF NOT EXISTS embeddings (key TEXT PRIMARY KEY, data BLOB NOT NULL)"
        " WITHOUT ROWID"
    )
    return db
