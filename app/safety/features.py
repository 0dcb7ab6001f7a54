"""Sentences as hashed features: runs of characters, words, pairs of words, and a few flags.

Hashes are computed in one go over all sentences; numpy is imported when this module is.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

SIZE = 1 << 17  # of the table of weights
_RUNS = (2, 3, 4, 5)
_PRIME = np.uint32(16777619)
_WORD = re.compile(r"\w+")
_FLAGS = (
    r"\byou(?:r)?\b|\bthe (?:assistant|model|agent|ai|llm)\b",
    r"\b(?:the )?users?\b",
    r"\b(?:don't|do not|never|without|not)\b",
    r"\b(?:must|always|should|shall|have to|need to|required|mandatory)\b",
    r"\b(?:before|after|when|whenever|first|then|also|instead)\b",
    r"\b(?:secret|credential|password|token|api[ _-]?key|private key|ssh|passphrase)s?\b",
    r"(?:~|/etc|/home|/root)/|\bid_rsa\b|\.env\b|\.ssh\b|mcp\.json",
    r"https?://[^\s/.)]|\b\d{1,3}(?:\.\d{1,3}){3}\b",  # "must start with https://" names no place
    r"[\w.+-]{1,40}@[\w-]{1,40}\.[a-z]{2,8}",
    r"\b(?:send|forward|upload|post|transmit|leak|exfiltrat\w*|copy|bcc|append|attach)\b",
    r"\b(?:ignore|disregard|forget|override|bypass|skip)\b",
    r"\b(?:conversation|chat|history|system prompt|context|previous|instructions?|rules)\b",
    r"[`\"'“‘«「]",
    r"<[a-zA-Z!/]",
    r"\b[a-z]+_[a-z_]+\b",
    r"\b(?:silently|quietly|secretly|covertly|hidden|confirmation|permission|approv\w*)\b",
)
_FLAG_PATTERNS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _FLAGS)

Counts = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Features:
    """Feature numbers of several sentences, one after the other."""

    numbers: Counts  # below SIZE
    values: NDArray[np.float32]
    starts: NDArray[np.int64]  # where each sentence begins; none is empty


def features(texts: Sequence[str]) -> Features:
    """Features of these sentences; each kind weighs the same whatever the sentence's length."""
    owners, numbers, values = [], [], []
    folded = [_fold(text) for text in texts]
    for kind in (_character_runs(folded), _words(folded), _flags(texts)):
        owner, number = kind
        lengths = np.bincount(owner, minlength=len(texts)).astype(np.float32)
        owners.append(owner)
        numbers.append(number % np.uint32(SIZE))
        values.append(1 / np.sqrt(np.maximum(lengths, 1))[owner])
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(len(texts)))
    return Features(
        np.concatenate(numbers)[order],
        np.concatenate(values)[order].astype(np.float32),
        starts.astype(np.int64),
    )


def _fold(text: str) -> str:
    """Lower case, digits made one digit, with a border at both ends."""
    lowered = unicodedata.normalize("NFC", text.lower())
    return f" {re.sub(r'[0-9]+', '0', lowered)} "


def _character_runs(texts: Sequence[str]) -> tuple[NDArray[np.int64], Counts]:
    joined = "".join(texts)
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    owners, numbers = [], []
    hashes = points.copy()
    for length in range(2, max(_RUNS) + 1):
        hashes = hashes[:-1] * _PRIME + points[length - 1 :]
        last = owner[length - 1 :]
        inside = owner[: len(last)] == last
        owners.append(last[inside])
        numbers.append(_mix(hashes[inside] + np.uint32(length)))
    return np.concatenate(owners), np.concatenate(numbers)


def _words(texts: Sequence[str]) -> tuple[NDArray[np.int64], Counts]:
    word_lists = [_WORD.findall(text) for text in texts]
    hashed = [
        crc32(word.encode("utf-8", "surrogatepass")) for words in word_lists for word in words
    ]
    words = np.array(hashed, dtype=np.uint32)
    owner = np.repeat(np.arange(len(texts)), [len(row) for row in word_lists])
    pairs = words[:-1] * np.uint32(31) + words[1:] + np.uint32(7)
    together = owner[:-1] == owner[1:]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    openings = words[first] ^ np.uint32(0x5BD1E995)  # what a sentence begins with says much
    return (
        np.concatenate([owner, owner[1:][together], owner[first]]),
        np.concatenate([_mix(words), _mix(pairs[together]), _mix(openings)]),
    )


def _flags(texts: Sequence[str]) -> tuple[NDArray[np.int64], Counts]:
    """One number a flag, and one a pair of flags: an order is made of several."""
    owners: list[int] = []
    numbers: list[int] = []
    for index, text in enumerate(texts):
        flags = [n for n, pattern in enumerate(_FLAG_PATTERNS, 1) if pattern.search(text)]
        pairs = [100 + 20 * a + b for a in flags for b in flags if a < b]
        own = [0, *flags, *pairs]  # 0: no sentence is without features
        owners += [index] * len(own)
        numbers += own
    mixed = _mix(np.array(numbers, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(99))
    return np.array(owners, dtype=np.int64), mixed


def _mix(hashes: Counts) -> Counts:
    mixed = (hashes ^ (hashes >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
    return mixed ^ (mixed >> np.uint32(12))
