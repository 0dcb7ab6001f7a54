"""Small catalogues in a real store, and an encoder whose vectors come from words."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from app.catalog.catalog import Catalog, load_catalog
from app.ranking.keyword import keyword_row
from app.ranking.summary import embedded_text, make_summary
from app.ranking.text import content_words
from store import requests, servers, tools, vectors
from store.connection import open_store, transaction
from store.records import EntryRecord, NewTool, ServerSpec, Summary, ToolRecord, Vector
from store.search import save_keywords

ANIMALS = [
    "tiger",
    "seal",
    "otter",
    "heron",
    "lynx",
    "gecko",
    "moose",
    "raven",
    "bison",
    "koala",
    "lemur",
    "stork",
    "walrus",
    "ferret",
    "badger",
    "condor",
    "iguana",
    "jaguar",
    "marten",
    "ocelot",
]


@dataclass(frozen=True, slots=True)
class WordEncoder:
    """Unit vectors made from the words of a text: the same words, the same direction."""

    key: str = "words@1"
    dims: int = 32
    words: frozenset[str] = frozenset()  # of its vocabulary

    def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    def encode_bytes(self, text: str, *, query: bool = False) -> bytes:
        return self._vector(text).tobytes()

    def encode_query(self, text: str) -> tuple[bytes, bytes]:
        return self.encode_bytes(text), self.encode_bytes(text)

    def has_word(self, word: str) -> bool:
        return word in self.words

    def _vector(self, text: str) -> np.ndarray:
        total = np.full(self.dims, 1e-3, dtype=np.float32)
        for word in content_words(text) or [text]:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).standard_normal(self.dims).astype(np.float32)
        return total / np.linalg.norm(total)


def fill(
    db: apsw.Connection, listed: Iterable[tuple[str, str, str]], encoder: WordEncoder | None
) -> list[ToolRecord]:
    """Put (server, name, description) rows into a store and index them; the tools."""
    by_server: dict[str, list[NewTool]] = {}
    for server, name, description in listed:
        raw = {"name": name, "description": description, "inputSchema": {"type": "object"}}
        digest = hashlib.sha256(f"{name}\0{description}".encode()).hexdigest()
        by_server.setdefault(server, []).append(NewTool(name, raw, digest))
    with transaction(db):
        for server, new in by_server.items():
            entry = EntryRecord("manual", "manual", "", server)
            spec = ServerSpec("stdio", key=server, command=server)
            id_ = servers.place(db, entry, spec, name=server, trusted=True)
            tools.save_list(db, id_, new, at=1.0)
        found = tools.tools(db)
        tools.trust(db, [tool.id for tool in found])
        tools.save_summaries(db, [Summary(t.id, make_summary(t), "made", t.hash) for t in found])
        save_keywords(db, [keyword_row(tool) for tool in found])
        if encoder and found:
            rows = encoder.encode([embedded_text(tool, make_summary(tool)) for tool in found])
            vectors.save(
                db,
                [
                    Vector(t.id, encoder.key, "summary", t.hash, row.tobytes())
                    for t, row in zip(found, rows, strict=True)
                ],
            )
    return tools.tools(db)


def embed_requests(db: apsw.Connection, encoder: WordEncoder) -> None:
    """Give every live request that lacks one its vector."""
    waiting = requests.pending(db, encoder.key)
    rows = encoder.encode([text for _, text in waiting])
    with transaction(db):
        made = [(id_, row.tobytes()) for (id_, _), row in zip(waiting, rows, strict=True)]
        requests.save_vectors(db, encoder.key, made)


def filled(
    path: Path, listed: Iterable[tuple[str, str, str]], encoder: WordEncoder | None = None
) -> tuple[apsw.Connection, Catalog]:
    """A new store with these tools, and its catalogue for the default profile."""
    db = open_store(path)
    fill(db, listed, encoder)
    return db, load_catalog(db)
