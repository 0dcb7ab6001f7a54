"""The hashes that tell whether a tool, or the text behind a vector, changed."""

import json
from collections.abc import Mapping


def canonical_text(raw: Mapping[str, object]) -> str:
    """A tool's JSON as one text, whatever the order of its keys: what its hash is made of."""
    return json.dumps(raw, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def tool_hash(raw: Mapping[str, object]) -> str:
    """The hash of a tool's text, on which trust in it rests: hex of SHA-256."""
    import hashlib  # 3.5 MB of libcrypto that a gateway whose tools stay as they are does not need

    return hashlib.sha256(canonical_text(raw).encode("utf-8", "surrogatepass")).hexdigest()


def text_hash(text: str) -> str:
    """The hash under which a text's vector is kept."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
