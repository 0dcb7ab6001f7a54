"""The hashes that tell whether a tool, or the text behind a vector, changed."""

import hashlib
import json

from store.records import Json


def tool_hash(raw: Json) -> str:
    """The hash of a tool's text, whatever the order of its keys."""
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def text_hash(text: str) -> str:
    """The hash under which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
