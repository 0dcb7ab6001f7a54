"""Sentences as hashed features: runs of characters, words, pairs of words, flags and concepts.

Addresses and files are no words: what is learnt of one holds for every other. A word that is
negated is another word. Hashes are computed in one go over all sentences; numpy is imported when
this module is.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from app.safety.concepts import lexicon

_REGION = 1 << 18  # weights of one kind of features
CHARACTERS, WORDS, FLAGS, CONCEPTS = ALL_KINDS = (0, 1, 2, 3)
_REGIONS = (0, 1, 2, 2)  # start of a kind's weights; there are few flags
SIZE = 3 * _REGION  # of the table of weights
_RUNS = (2, 3, 4, 5)
_CONCEPT = 1000  # numbers of one concept: itself and its neighbours
_FEWEST = 12  # features of a kind; one or two alone would weigh too much
_KIND_WEIGHTS = (1.0, 1.0, 1.0, 2.0)  # concepts carry over to other words, so they count more
_ANCHOR, _ANCHOR_WEIGHT = 99, 0.3  # what every sentence has: none is without features
_PRIME = np.uint32(16777619)
_WORD = re.compile(r"\w+")
_WORD_OR_STOP = re.compile(r"\w+|[.,;:!?()\n—–-]")
_PLACE = re.compile(
    r"(?P<url>https?://[!-~]{1,200})"
    r"|(?P<mail>[a-z0-9_.+-]{1,40}@[a-z0-9-]{1,40}(?:\.[a-z0-9-]{1,20}){1,4})"
    r"|(?P<ip>\b0\.0\.0\.0(?::0)?\b)"
    r"|(?<![a-z0-9])[~.]{0,2}/[a-z0-9_.~-][a-z0-9_./~-]{1,80}"
    r"|(?<![\w.])\.(?:env|netrc|npmrc|pypirc|ssh|aws|git)\b[a-z0-9_./-]{0,40}"
    r"|(?<![a-z0-9_./-])[a-z0-9_./-]{1,60}"
    r"\.(?:json|ya?ml|md|txt|py|csv|pdf|dat|tfstate|toml|xlsx|log|sh|pem|key)\b"
)
_SECRET_PLACE = re.compile(
    r"\.ssh|id_rsa|\.aws|credential|\.env\b(?!\.example)|netrc|passwd|shadow|kube/config|hosts\.yml"
    r"|npmrc|pypirc|wallet|history|secret|mcp\.json|desktop_config|service-account|docker/config"
    r"|auth\.log|taxes|tfstate|keychain|cookies|login|\.pem|\.key\b|\.git/config|private"
)
_NEGATION = re.compile(
    r"(?:not|never|no|nor|neither|without|cannot|don|doesn|didn|won|isn|aren|shouldn|mustn|refuses?"
    r"|avoid|nicht|kein\w*|niemals|nie|pas|jamais|sans|ne|nunca|sin|nadie|não|sem|nem|non|mai|senza"
    r"|не|никогда|никому|нельзя|без|niet|geen|nooit|zonder|nigdy|bez|değil|asla|tidak|jangan|tanpa"
    r"|không|đừng|inte|aldrig|utan|ніколи|않\w*|없이|मत|नहीं)"
)
_NEGATED = 5  # words after a negation that it reaches, up to the next comma
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


def features(texts: Sequence[str], kinds: Sequence[int] = ALL_KINDS) -> Features:
    """Features of these sentences; each kind weighs the same whatever the sentence's length."""
    everyone = np.arange(len(texts))
    owners, values = [everyone], [np.full(len(texts), _ANCHOR_WEIGHT)]
    numbers = [np.full(len(texts), 2 * _REGION + _ANCHOR, dtype=np.uint32)]
    folded = [_fold(text) for text in texts]
    for kind in kinds:
        owner, number = _of_kind(kind, texts, folded)
        lengths = np.bincount(owner, minlength=len(texts)).astype(np.float32)
        owners.append(owner)
        numbers.append(number % np.uint32(_REGION) + np.uint32(_REGIONS[kind] * _REGION))
        values.append(_KIND_WEIGHTS[kind] / np.sqrt(np.maximum(lengths, _FEWEST))[owner])
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], everyone)
    return Features(
        np.concatenate(numbers)[order],
        np.concatenate(values)[order].astype(np.float32),
        starts.astype(np.int64),
    )


def _of_kind(
    kind: int, texts: Sequence[str], folded: Sequence[str]
) -> tuple[NDArray[np.int64], Counts]:
    """Feature numbers of one kind, with the sentence of each."""
    if kind == FLAGS:
        return _flags(texts)
    if kind == CONCEPTS:
        return _concepts(folded)
    without_places = [_without_places(text) for text in folded]
    return (_character_runs if kind == CHARACTERS else _words)(without_places)


def _fold(text: str) -> str:
    """Lower case, digits made one digit, with a border at both ends."""
    lowered = unicodedata.normalize("NFC", text.lower())
    return f" {re.sub(r'[0-9]+', '0', lowered)} "


def _without_places(folded: str) -> str:
    """Addresses and files as what they are."""
    return f" {' '.join(_PLACE.sub(_place, folded).split())} "


def _place(match: re.Match[str]) -> str:
    if match.lastgroup:
        return {"url": " weburl ", "mail": " mailaddr ", "ip": " ipaddr "}[match.lastgroup]
    return " secretpath " if _SECRET_PLACE.search(match.group()) else " filepath "


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
    """Words, neighbours, next but one, and what a sentence begins with, which says much."""
    word_lists = [list(_signed_words(text)) for text in texts]
    hashed = [
        crc32(word.encode("utf-8", "surrogatepass")) for words in word_lists for word in words
    ]
    words = np.array(hashed, dtype=np.uint32)
    owner = np.repeat(np.arange(len(texts)), [len(row) for row in word_lists])
    pairs = words[:-1] * np.uint32(31) + words[1:] + np.uint32(7)
    together = owner[:-1] == owner[1:]
    apart = words[:-2] * np.uint32(37) + words[2:] + np.uint32(11)
    near = owner[:-2] == owner[2:]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    openings = words[first] ^ np.uint32(0x5BD1E995)
    second = first[:-1][np.diff(first) > 1] if len(first) else first
    if len(first) and first[-1] + 1 < len(words):
        second = np.append(second, first[-1])
    double = words[second] * np.uint32(3) + words[second + 1] * np.uint32(5)
    return (
        np.concatenate([owner, owner[1:][together], owner[2:][near], owner[first], owner[second]]),
        np.concatenate(
            [_mix(words), _mix(pairs[together]), _mix(apart[near]), _mix(openings), _mix(double)]
        ),
    )


def _signed_words(text: str) -> Iterator[str]:
    """The words; those that a negation reaches are marked."""
    reach = 0
    for word in _WORD_OR_STOP.findall(text):
        if not (word[0].isalnum() or word[0] == "_"):
            reach = 0
            continue
        yield f"¬{word}" if reach > 0 else word
        reach = _NEGATED if _NEGATION.fullmatch(word) else reach - 1


def _flags(texts: Sequence[str]) -> tuple[NDArray[np.int64], Counts]:
    """One number a flag, and one a pair of flags: an order is made of several."""
    owners: list[int] = []
    numbers: list[int] = []
    for index, text in enumerate(texts):
        flags = [n for n, pattern in enumerate(_FLAG_PATTERNS, 1) if pattern.search(text)]
        pairs = [100 + 20 * a + b for a in flags for b in flags if a < b]
        own = [0, *flags, *pairs]
        owners += [index] * len(own)
        numbers += own
    mixed = _mix(np.array(numbers, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(99))
    return np.array(owners, dtype=np.int64), mixed


def _concepts(texts: Sequence[str]) -> tuple[NDArray[np.int64], Counts]:
    """Concepts, neighbours and next but one in order, three in a row, and any two of a sentence."""
    known = lexicon()
    owners: list[int] = []
    numbers: list[int] = []
    for index, text in enumerate(texts):
        row = known.row(text)
        own = [_CONCEPT * (1 + one) for one in row]
        own += [_CONCEPT * (1 + a) + 200 + b for a, b in pairwise(row)]
        own += [_CONCEPT * (1 + a) + 400 + b for a, b in zip(row, row[2:], strict=False)]
        triples = zip(row, row[1:], row[2:], strict=False)
        own += [_CONCEPT * (1 + a + 200 * (1 + b)) + 600 + c for a, b, c in triples]
        among = sorted(set(row))
        own += [_CONCEPT * (1 + a) + 800 + b for a in among for b in among if a < b]
        owners += [index] * len(own)
        numbers += own
    mixed = _mix(np.array(numbers, dtype=np.uint32) * np.uint32(2246822519) + np.uint32(17))
    return np.array(owners, dtype=np.int64), mixed


def _mix(hashes: Counts) -> Counts:
    mixed = (hashes ^ (hashes >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
    return mixed ^ (mixed >> np.uint32(12))
