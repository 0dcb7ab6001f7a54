"""Version of the scanner that judged: a fingerprint of its rules, its weights and its code."""

import hashlib
import sys
from functools import cache
from importlib.resources import files

_DATA = (("rules", "safety.toml"), ("scanner", "report.json"))  # the report names the weights' hash


@cache
def scanner_version() -> str:
    """Differs where another scanner may find something else in the same text.

    In a bundle, which holds no sources, the data alone counts.
    """
    digest = hashlib.sha256()
    for folder, name in _DATA:
        digest.update((files("resources") / folder / name).read_bytes())
    if not getattr(sys, "frozen", False):
        sources = [one for one in files("app.safety").iterdir() if one.name.endswith(".py")]
        for source in sorted(sources, key=lambda one: one.name):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
