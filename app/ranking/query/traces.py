"""Pasted traces, logs and code: what failed and what is asked of it; the rest counts nothing.

A paste has a question around it, or none: then its errors are the question. Frames, times,
addresses, hashes and lines that repeat say nothing about the tool that is wanted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.ranking.text import LONGEST_QUERY, STOP_WORDS

_LEAST_LINES = 2
_MOST_ERRORS, _MOST_REST = 4, 4  # lines that are kept beside the question
_MOST_LINE = 240  # characters of a line
_FRAME = re.compile(
    r"\s{0,40}(?:File \"|at\s[^\s(]+[\s(]|#\d+\s|\d+:\s+0x|goroutine \d|\.\.\. \d+ more"
    r"|Traceback \(most|[~^|\s]+\Z|\S+\.(?:go|rs|rb|php|c|cpp):\d+)"
)
_CODE_OF_FRAME = re.compile(r"\s{0,40}File \"")
_ERROR = re.compile(
    r"error|exception|\bfail|fatal|panic|denied|refused|invalid|not found|unable|cannot|could not"
    r"|timed? ?out|segfault|segmentation|rejected|missing|warn|critical|unauthori|forbidden"
    r"|no space",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? "
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+\b"
    r"|\b\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?\b|\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{8,}\b"
    r"|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b\d+(?:\.\d+)*(?:ms|s|m|h|d|KB|MB|GB|%)?\b"
    r"|[A-Za-z0-9+/]{40,}={0,2}"
)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_WORD = re.compile(r"[^\W\d_]+")
_STRUCTURE = re.compile(r"[{}\[\]=<>;|\\@$#*]|::|->|--|\w\(|\(\w+\)|\w\.\w+\.|\w_\w|\w/\w|https?:")
_FAULT = re.compile(
    r"[\w.: ]{0,60}(?:Error|Exception|ERROR|FAIL\w*|Warning|WARN\w*)\b|\S+ \| |[\w.-]+:\s?\S|-- ?\Z"
)
_LEAST_SMALL = 3  # small words of a sentence
_DIFF = re.compile(r"(?:diff --git |@@ |\+\+\+ |--- |index [0-9a-f]+\.\.)")


@dataclass(frozen=True, slots=True)
class Pasted:
    """A paste as it is read: the question around it and what failed, either may be empty."""

    question: str
    failure: str


def read_paste(query: str) -> Pasted | None:
    """The reading of pasted text; None where a query is none."""
    if "\n" not in query:
        return None
    lines = [line for line in _ends(query).splitlines() if line.strip()]
    prose = [place for place, line in enumerate(lines) if is_prose(line)]
    if len(lines) < _LEAST_LINES or 2 * len(prose) > len(lines) or not _is_printed(lines):
        return None
    asked_at = _edges(prose, len(lines))
    question = " ".join(lines[place].strip() for place in asked_at)
    rest = list(_rest([line for place, line in enumerate(lines) if place not in asked_at]))
    errors = [line for line in rest if _ERROR.search(line)]
    others = [line for line in rest if not _ERROR.search(line)]
    kept = [*errors[-_MOST_ERRORS:], *others[: _MOST_REST if not errors else 1]]
    failure = " ".join(line for line in rest if line in kept)
    return Pasted(question, failure) if question or failure else None


def _ends(query: str) -> str:
    """A paste as far as it is read: the question may be at either end."""
    if len(query) <= LONGEST_QUERY:
        return query
    half = LONGEST_QUERY // 2
    return f"{query[:half]}\n{query[-half:]}"


def _edges(prose: list[int], count: int) -> list[int]:
    """The prose that a paste begins and ends with."""
    head = [place for order, place in enumerate(prose) if place == order]
    tail = [p for order, p in enumerate(reversed(prose)) if p == count - 1 - order]
    return sorted({*head, *tail})


def _rest(lines: list[str]) -> Iterator[str]:
    """The lines of a paste that say something, each once."""
    seen: set[str] = set()
    after_frame = False
    for line in lines:
        if (after_frame and line[0].isspace()) or _FRAME.match(line) or _DIFF.match(line):
            after_frame = bool(_CODE_OF_FRAME.match(line))
            continue
        clean = _clean(line)
        key = " ".join(_WORD.findall(clean.lower()))
        if key and key not in seen:
            seen.add(key)
            yield clean


def _clean(line: str) -> str:
    """A line without times, numbers, addresses and hashes."""
    return " ".join(_NOISE.sub(" ", _ADDRESS.sub("ip address", line[:_MOST_LINE])).split())


def _is_printed(lines: list[str]) -> bool:
    """True if a program wrote some of these lines; a number or a name alone answers a question."""
    lines = [line for line in lines if len(_WORD.findall(line)) > 1]
    if any(_FRAME.match(line) or _FAULT.match(line) or _NOISE.match(line) for line in lines):
        return True
    signs = [line for line in lines if _STRUCTURE.search(line)]
    return len(signs) > 1 or any(_ERROR.search(line) for line in signs)


def is_prose(line: str) -> bool:
    """True for a line as people write it: words, or a sentence with a name of code in it."""
    typed = _WORD.findall(line)
    if len(typed) < 2 or _FRAME.match(line) or _NOISE.match(line) or _FAULT.match(line):
        return False
    if not _STRUCTURE.search(line):
        return line[0].isalpha()
    small = sum(word in STOP_WORDS for word in typed)
    return small >= _LEAST_SMALL and not _ERROR.search(line)
