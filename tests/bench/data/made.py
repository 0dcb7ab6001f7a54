"""A made catalogue of any size, for performance figures only."""

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

import apsw

from app.ranking.keyword import keyword_row
from app.ranking.summary import make_summary
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store import servers, tools, vectors
from store.connection import transaction
from store.records import READ, EntryRecord, NewTool, ServerSpec, Summary, Vector
from store.search import save_keywords
from store.typed import Json

_VERBS = ("create", "list", "get", "update", "delete", "search", "merge", "export", "watch")
_THINGS = (
    "issue", "file", "page", "branch", "message", "event", "contact", "table", "metric", "order",
    "invoice", "photo", "comment", "release", "ticket", "channel", "folder", "secret", "job",
)  # fmt: skip
_FIELDS = ("title", "body", "owner", "path", "limit", "since", "labels", "format", "cursor")


def fill(db: apsw.Connection, *, server_count: int, tools_each: int, encoding: str) -> None:
    """Put that many made servers and tools into the store, counted and indexed by words."""
    rng = random.Random(server_count * 1000 + tools_each)
    count = counter(encoding)
    with transaction(db):
        for number in range(server_count):
            name = f"made-{number:02d}"
            entry = EntryRecord("manual", "manual", "", name)
            spec = ServerSpec("stdio", key=name, command="made", args=(name,))
            server_id = servers.place(db, entry, spec, name=name, trusted=True)
            tools.save_list(db, server_id, list(_tools(rng, tools_each)), at=1.0)
            servers.set_status(db, server_id, READ)
            db.execute(
                "UPDATE servers SET capabilities = ?, read_at = 1 WHERE id = ?",
                (json.dumps({"tools": {}}), server_id),
            )
        records = [t for t in tools.tools(db) if t.server.startswith("made-")]
        tools.save_token_counts(db, [count_tool(count, t) for t in records])
        tools.save_summaries(db, [Summary(t.id, make_summary(t), "made", t.hash) for t in records])
        save_keywords(db, [keyword_row(t) for t in records])


@dataclass(frozen=True, slots=True)
class MadeEncoder:
    """Vectors as long as the default encoder's, made of the text's hash: what they cost is real."""

    key: str = "made@1"
    dims: int = 384

    def encode_bytes(self, text: str, *, query: bool = False) -> bytes:
        """A unit vector as float32 bytes; the same text, the same vector."""
        import numpy as np

        prompt = f"query: {text}" if query else text
        seed = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8], "big")
        row = np.random.default_rng(seed).standard_normal(self.dims)
        return (row / np.linalg.norm(row)).astype("<f4").tobytes()

    def encode_query(self, text: str) -> tuple[bytes, bytes]:
        """A query's vector, which is its inner one as well."""
        vector = self.encode_bytes(text, query=True)
        return vector, vector

    def has_word(self, word: str) -> bool:
        """It knows none."""
        return False


def embed(db: apsw.Connection, encoder: MadeEncoder) -> None:
    """Give every tool of the store a vector."""
    with transaction(db):
        vectors.save(
            db,
            [
                Vector(t.id, encoder.key, "summary", t.hash, encoder.encode_bytes(t.tool_id))
                for t in tools.tools(db)
            ],
        )


def _tools(rng: random.Random, count: int) -> Iterator[NewTool]:
    for number in range(count):
        verb, thing = rng.choice(_VERBS), rng.choice(_THINGS)
        raw = {
            "name": f"{verb}_{thing}_{number}",
            "description": f"{verb.title()} the {thing} that matches. " * rng.randint(1, 6),
            "inputSchema": _schema(rng, thing),
        }
        text = json.dumps(raw, sort_keys=True)
        yield NewTool(str(raw["name"]), raw, hashlib.sha256(text.encode()).hexdigest())


def _schema(rng: random.Random, thing: str) -> Json:
    fields = rng.sample(_FIELDS, rng.randint(1, 6))
    return {
        "type": "object",
        "properties": {
            f: {"type": "string", "description": f"The {f} of the {thing}"} for f in fields
        },
        "required": fields[:1],
    }
