"""80 long prompts over the raw queries' servers: a request in its story, rules and pasted files.

Requests, their tools and the parts around them were written before any was run.
"""

import hashlib
import json
from pathlib import Path

from store.typed import Json
from tests.bench.data.metrics import Gold
from tests.bench.data.raw import HALVES, RawQuery

PLACES = ("begin", "middle", "end", "none")  # of the request; none: no tool fits
_FILE = Path(__file__).parent.parent / "inputs" / "long_prompts.json"


def long_prompts(half: str, *, alone: bool = False) -> tuple[RawQuery, ...]:
    """The prompts of one half by the order of hashes; or their requests alone."""
    given = json.loads(_FILE.read_text(encoding="utf-8"))
    rows = sorted(given["prompts"], key=lambda row: _hash(row["request"]))
    return tuple(
        _query(row["request"] if alone else _prompt(row, given["parts"]), row)
        for row in rows[HALVES.index(half) :: 2]
    )


def _query(text: str, row: Json) -> RawQuery:
    same = {other: tool for tool, others in row["alt"].items() for other in others}
    kind = row["place"] if row["gold"] else "none"
    return RawQuery(text, kind, "en", Gold(tuple(row["gold"]), same))


def _prompt(row: Json, parts: Json) -> str:
    before, after = ([parts[name] for name in row[side]] for side in ("before", "after"))
    if row["glue"]:  # to the paragraph before
        before[-1] += f" {row['request']}"
        return "\n\n".join([*before, *after])
    return "\n\n".join([*before, row["request"], *after])


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
