"""Who may see what: servers and specimens are dealt by hash, before anyone reads them.

A server's tools are all in one part; so are specimens with the same description.
"""

import hashlib

TRAIN, LAST = "train", "last"  # of servers
OPEN = "open"  # of specimens; the others are LAST
TUNING, REPORT = "tuning", "report"  # of servers that are in none of the data
WRITTEN = "our own"  # attacks that were written to be read once
# whole definitions by one writer, attacks and honest ones alternating; the first set was looked at
# while rules and words of other languages were added, the second was scored once afterwards
DEFINITIONS = ("definitions", "definitions 2", "six languages", "six languages 2")
BLIND = (
    "blind",
    "blind 2",
    "blind 3",
)  # those of authors who had read nothing of Toolcrib, by author


def server_part(package: str) -> str:
    """Where a server's tools are used: in training and for thresholds, or once at the end."""
    return TRAIN if _share(package.strip().casefold()) < 0.7 else LAST


def fold_of(package: str, folds: int) -> int:
    """Which training servers are left out together, from 0."""
    return int(_share("fold " + package.strip().casefold()) * folds)


def fresh_part(package: str) -> str:
    """Whether a server that is in none of the data may be read before the very end."""
    return TUNING if _share("fresh " + package.strip().casefold()) < 0.5 else REPORT


def specimen_part(description: str) -> str:
    """Whether a specimen may be read while rules are written, or only at the end."""
    return OPEN if _share(" ".join(description.casefold().split())) < 0.5 else LAST


def sentence_is_checked(text: str) -> bool:
    """Whether a sentence of the corpus is kept from training, to see that training works."""
    return _share(text.casefold()) < 0.1


def _share(key: str) -> float:
    """A number in [0, 1) that depends on nothing but the key."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") / 2**64
