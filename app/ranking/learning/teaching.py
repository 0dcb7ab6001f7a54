"""Teaching a catalogue by its requests: the examples, and their result in the store.

numpy is loaded when something is taught or read, never by importing this module.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import apsw

from app.ranking.dense import Encoding
from app.ranking.floor import LEAST_REQUESTS
from app.ranking.requests import texts_mark
from store import queries, requests, vectors
from store.connection import transaction
from store.search import WEIGHTS

if TYPE_CHECKING:
    from app.ranking.learning.taught import Taught

BLOB = "taught by requests"
FORMAT = 2  # of the stored bytes and of how they were trained
MOST_TOOLS = 1_500  # above, training would take minutes; there a tool's server counts instead
MOST_TRAINED = 2_000  # requests, from all parts of the catalogue


def is_stale(db: apsw.Connection, texts: str) -> bool:
    """True if the catalogue or its requests (`texts` is their mark) changed since training."""
    return queries.blob_fingerprint(db, BLOB) != _fingerprint(texts)


def teach_requests(
    db: apsw.Connection,
    encoder: Encoding,
    clock: Callable[[], float],
    keep_going: Callable[[], bool] = lambda: True,
) -> bool:
    """Teach the catalogue by its requests and store the result; whether it was not stopped.

    Too few requests or too many tools are taught nothing, which is stored, too. Nothing is encoded
    but words are looked up; the store is locked only to save.
    """
    taught = _taught(db, encoder, keep_going)
    if taught is None:
        return False
    with transaction(db):
        data = taught.to_bytes() if taught.keys else b""
        mark = _fingerprint(texts_mark(db, encoder.key))
        queries.save_blob(db, BLOB, fingerprint=mark, data=data, at=clock())
    return True


def load(db: apsw.Connection, model: str) -> "Taught | None":
    """The result of training with this model, if there is one in this format."""
    return read_taught(queries.blob(db, BLOB), model)


def read_taught(blob: tuple[str, bytes] | None, model: str) -> "Taught | None":
    """The same of a stored result with its fingerprint."""
    if blob is None or not blob[0].startswith(_fingerprint(f"{model}:")) or not blob[1]:
        return None
    from app.ranking.learning.past_use import UnreadableError
    from app.ranking.learning.taught import Taught

    try:
        return Taught.from_bytes(blob[1])
    except UnreadableError:
        return None


def _taught(
    db: apsw.Connection, encoder: Encoding, keep_going: Callable[[], bool]
) -> "Taught | None":
    import numpy as np

    from app.ranking.learning.base import BaseScores
    from app.ranking.learning.taught import Lesson, Taught, teach

    stored = vectors.load_usable(db, encoder.key)
    written = [row for row in requests.usable(db, encoder.key) if row[0] in stored]
    nothing = Taught((), np.zeros((0, encoder.dims), np.float32), np.zeros(0, bool))
    if len(written) < LEAST_REQUESTS or not 2 <= len(stored) <= MOST_TOOLS:
        return nothing
    matrix = np.frombuffer(b"".join(stored.values()), dtype="<f4").reshape(len(stored), -1)
    base = BaseScores(
        db,
        encoder,
        tools=matrix,
        keys=list(stored),
        requests=[(id_, vector) for id_, _text, vector in written],
        weights=(*WEIGHTS[:-1], 0.0),  # a request's own words would find it
    )
    places = np.linspace(0, len(written) - 1, min(MOST_TRAINED, len(written))).astype(int)
    rows, owners, scores = base.of_requests(places, [written[place][1] for place in places])
    if len(np.unique(owners)) < 2:
        return nothing
    taught = teach(Lesson(rows, owners, scores, matrix), keep_going)
    if taught is None:
        return None
    has_requests = np.isin(list(stored), [row[0] for row in written])
    return Taught(tuple(stored), taught, has_requests)


def _fingerprint(texts: str) -> str:
    return f"{FORMAT}:{texts}"
