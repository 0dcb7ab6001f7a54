"""The floor: a cosine below which no tool of this catalogue fits.

It depends on the encoder, the catalogue and its requests (from .14 to .39 over public sets), so
every scan sets one, by the tools' own requests or by chit-chat, and labelled queries calibrate it.
No other sign is better than the best cosine: on 1,040 held-out requests and 929 whose servers were
left out, margins to the next tools, the share of the query's words that tools hold and their
agreement with meaning move the AUC from .775 to .789, and an agreement of words rescues nobody.
"""

import json
from collections.abc import Callable, Sequence

import apsw

from app.routing.dense import Encoding, MatrixRetriever
from app.routing.language import is_english
from store import queries, requests, tools

# This share of the project's own chit-chat is refused where no good query is known. On half of
# four public sets and on our queries over 1,280 tools, with requests: 62 % of other chit-chat and
# 1.4 % of good queries (.65: 75 % and 3.3 %).
REFUSED = 0.5
REFUSED_KNOWING = 0.65  # and where good ones are: they hold the floor down
FALSE_REFUSALS = 0.01  # of known good queries, at most
# Where tools have this many requests, each is compared with the rest of the catalogue as if it had
# not been written, and this share of them may be refused: nothing is tuned on queries.
LEAST_REQUESTS = 60
REFUSED_REQUESTS = 0.02
NONE = -1.0  # a floor that refuses nothing
BLOB = "floor"


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


def scan_floor(db: apsw.Connection, model: str) -> float:
    """The floor that the last scan set for this encoder, 0 when none did."""
    stored = queries.blob(db, BLOB)
    if stored is None or not stored[0].startswith(f"{model}:"):
        return 0.0
    return float(stored[1])


def floor_for(query: str, floor: float) -> float:
    """The floor of one search: none where its language leaves the cosines without meaning."""
    return floor if is_english(query) else NONE


def floor_is_stale(db: apsw.Connection, model: str) -> bool:
    """Whether the catalogue or its requests changed since the floor was set."""
    stored = queries.blob(db, BLOB)
    return stored is None or stored[0] != _fingerprint(db, model)


def set_scan_floor(db: apsw.Connection, encoder: Encoding, clock: Callable[[], float]) -> None:
    """Set the floor of this catalogue; runs inside the caller's transaction.

    Encodes 30 short texts and compares at most 2,000 requests: 0.5 s of CPU.
    """
    there = {tool.id for tool in tools.tools(db) if not tool.problem}
    chit_chat = [encoder.encode_bytes(text, query=True) for text in own_chit_chat()]
    matrix = MatrixRetriever.from_store(db, encoder.key)
    cosines = matrix.all(chit_chat)
    best = [max((c for id_, c in row.items() if id_ in there), default=0.0) for row in cosines]
    written = matrix.held_out()
    floor = calibrated_floor(best)
    if len(written) >= LEAST_REQUESTS:
        floor = max(floor, quantile(written, REFUSED_REQUESTS))
    queries.save_blob(
        db,
        BLOB,
        fingerprint=_fingerprint(db, encoder.key),
        data=str(floor).encode(),
        at=clock(),
    )


def _fingerprint(db: apsw.Connection, model: str) -> str:
    """The model and a digest of every embedded text and live request."""
    import hashlib  # 3.5 MB of libcrypto that the gateway does not need before its encoder

    digest = hashlib.sha256("\n".join(requests.embedded_texts(db, model)).encode())
    return f"{model}:{digest.hexdigest()[:16]}"


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them stay under, between neighbours in proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
