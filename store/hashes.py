"""The hash that tells whether a tool's text changed."""

import hashlib
import json

from store.records import Json


def tool_hash(raw: Json) -> str:
    """The hash of a tool's text, whatever the order of its keys."""
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
