"""The floor: a cosine below which no tool of this catalogue fits.

It depends on the encoder, the catalogue and its requests, so every scan sets one, by the tools' own
requests or by chit-chat, and labelled queries calibrate it. With enough requests it depends on the
query too: one that is near to the world (app.ranking.world), to what people ask software for in
general, must be nearer to the catalogue.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import apsw

from app.ranking.dense import Encoding, MatrixRetriever, request_lead
from app.ranking.query.language import ENGLISH, GLOSSED, is_english, language_of
from app.ranking.requests import texts_mark
from app.ranking.world import BLOB as WORLD_BLOB
from app.ranking.world import Blobs, World, kept_world, own_places, stored_world, world_mark
from store import queries, requests, vectors

if TYPE_CHECKING:
    from app.ranking.dense import Matrix

# This share of the project's own chit-chat is refused where no good query is known.
REFUSED = 0.5
REFUSED_KNOWING = 0.65  # and where good ones are: they hold the floor down
FALSE_REFUSALS = 0.01  # of known good queries, at most
# If tools have this many requests, each is compared with the rest of the catalogue as if it had
# not been written, and this share of them may be refused: nothing is tuned on queries.
LEAST_REQUESTS = 60
REFUSED_REQUESTS = 0.015  # chosen on our own queries (docs/decisions/19-floor.md)
SHARE = 0.7  # of a query's likeness to the world, by which it must be nearer to the catalogue
# A translation word for word is less near to its tool than the sentences that set the floor.
WORD_BY_WORD = 0.03
NONE = -1.0  # a floor that refuses nothing
BLOB = "floor"  # the plain one, which earlier builds read, too
BY_WORLD = "floor by world"


def own_chit_chat(kind: str = "chit-chat") -> tuple[str, ...]:
    """The project's small talk that no tool should answer; `chit-chat-heldout` is for judging."""
    from importlib.resources import files  # loads pathlib and more: not for the gateway

    file = files("resources").joinpath("queries", "chit_chat.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return tuple(row["query"] for row in rows if row["kind"] == kind)


def calibrated_floor(chit_chat: Sequence[float], good: Sequence[float] = ()) -> float:
    """The floor from the best cosines of chit-chat, and of queries known to have a tool.

    Without any chit-chat it is 0, which refuses nothing.
    """
    if not chit_chat:
        return 0.0
    if not good:
        return quantile(chit_chat, REFUSED)
    return min(quantile(chit_chat, REFUSED_KNOWING), quantile(good, FALSE_REFUSALS))


@dataclass(frozen=True, slots=True)
class Floor:
    """A catalogue's floor for each query."""

    plain: float  # for queries in other languages, and for all where there is no world
    least: float = NONE  # what chit-chat sets, whatever the world says
    number: float = NONE  # and what is added to SHARE of a query's likeness to the world
    world: World | None = None
    without: tuple[int, ...] = ()  # places of the world that are the catalogue's own

    def of(self, query: str, vector: bytes, *, translated: bool = False) -> float:
        """The floor of one query (its vector as float32 bytes), in whatever language.

        `translated`: the vector is of its translation, word for word.
        With a world 8 MB of numbers are read: 0.2 ms of CPU.
        """
        if self.world is None or not (translated or is_english(query)):
            return self.plain
        import numpy

        row = numpy.frombuffer(vector, dtype="<f4")[numpy.newaxis]
        (likeness,) = self.world.likeness(row, self.without)
        floor = max(self.least, self.number + SHARE * likeness)
        return floor - WORD_BY_WORD if translated else floor


def load_floor(db: apsw.Connection, model: str, dims: int) -> Floor:
    """The floor that the last scan set for this encoder; one of 0 when none did.

    Without the world's vectors, as an earlier build leaves a store, it is the plain one.
    """
    return read_floor(partial(queries.blob, db), model, dims)


def read_floor(blob: Blobs, model: str, dims: int) -> Floor:
    """The same from wherever the results of a scan are kept."""
    scanned, kept = blob(BLOB), blob(BY_WORLD)
    known = scanned is not None and scanned[0].startswith(f"{model}:")
    plain = float(scanned[1]) if scanned is not None and known else 0.0
    if kept is None or not kept[0].startswith(f"{model}:"):
        return Floor(plain)
    values = json.loads(kept[1])
    same = scanned is not None and kept[0] == scanned[0]  # an earlier build may have scanned since
    world = kept_world(blob, values["world"], dims) if same else None
    return Floor(plain, values["least"], values["number"], world, tuple(values["without"]))


def floor_for(query: str, floor: float) -> float:
    """The floor of one search: none in a language of which no word can be read.

    A query without a known word in a language that has a list of them asks for no tool's work.
    """
    return floor if language_of(query) in (ENGLISH, *GLOSSED) else NONE


def floor_is_stale(db: apsw.Connection, model: str, texts: str) -> bool:
    """True if the catalogue, its requests (`texts` is their mark) or the world changed since."""
    return queries.blob_fingerprint(db, BLOB) != _fingerprint(model, texts)


def lacks_world(db: apsw.Connection, model: str) -> bool:
    """True if setting the floor needs the world's vectors, and the store does not hold them."""
    return requests.vector_count(db, model) >= LEAST_REQUESTS and queries.blob_fingerprint(
        db, WORLD_BLOB
    ) != world_mark(model)


def set_scan_floor(
    db: apsw.Connection,
    encoder: Encoding,
    clock: Callable[[], float],
    world: World | None = None,
) -> None:
    """Set the floor of this catalogue; runs inside the caller's transaction.

    Encodes 30 short texts and compares at most 2,000 requests with the catalogue and the world:
    1 s of CPU. Where the catalogue has enough requests and the store lacks the world's vectors
    (a store's first scan, and after a change of the world), they are stored: `world`, which is made
    outside of any transaction, or else one that is encoded here, at 10 s more.
    """
    chit_chat = [encoder.encode_bytes(text, query=True) for text in own_chit_chat()]
    kept = vectors.load_usable(db, encoder.key)
    lead = request_lead(*requests.counts(db))
    matrix = MatrixRetriever(kept, requests.vectors(db, encoder.key), lead)
    best = [max(row.values(), default=0.0) for row in matrix.all(chit_chat)]
    written = matrix.held_out()
    least = floor = calibrated_floor(best)
    mark, at = _fingerprint(encoder.key, texts_mark(db, encoder.key)), clock()
    queries.delete_blob(db, BY_WORLD)
    if len(written) >= LEAST_REQUESTS:
        floor = max(floor, quantile(written, REFUSED_REQUESTS))
        world = world or stored_world(db, world_mark(encoder.key), encoder.dims)
        world = world or World.encode(encoder)
        if world is not None:
            if queries.blob_fingerprint(db, WORLD_BLOB) != world.mark:
                world.save(db, at)
            values = _by_world(world, matrix.request_rows(), written, own_places(db))
            data = json.dumps({"least": least, **values}).encode()
            queries.save_blob(db, BY_WORLD, fingerprint=mark, data=data, at=at)
    queries.save_blob(db, BLOB, fingerprint=mark, data=str(floor).encode(), at=at)


def _by_world(
    world: World, rows: "Matrix", best: Sequence[float], without: Sequence[int]
) -> dict[str, object]:
    """The number that REFUSED_REQUESTS of the catalogue's own requests stay under.

    Chit-chat has no such number: it is far from the world as from the catalogue, so half of it in
    these units is less than half of it by cosine (over 167 tools five in a hundred fewer of other
    chit-chat were refused, and the same answerable queries).
    """
    near = world.likeness(rows, without)
    less = [cosine - SHARE * likeness for cosine, likeness in zip(best, near, strict=True)]
    number = quantile(less, REFUSED_REQUESTS)
    return {"number": number, "without": list(without), "world": world.mark}


def _fingerprint(model: str, texts: str) -> str:
    """Begins with the model, as load_floor() looks for it."""
    return f"{texts}+{world_mark(model)}"


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them stay under, between neighbours in proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
