"""Our own wordings of tests/bench/inputs/scanner: orders and honest sentences that look like them.

A line is one wording: [this|that] is a choice, {PLACE} a word of words.txt. Each line is written
out a few times, always the same ones. Files with a number are by further writers, who had not read
those before. Whoever leaves a group out leaves out the idea in every language whose file goes
through the same ideas: the first writer's lines, the later ones' chapters.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "ru", "zh", "ja", "ar")
LATER = ("nl", "tr", "ko", "pl", "sv", "id", "vi", "hi", "cs", "uk")  # by the last writer only
WRITERS = tuple(range(15))  # the first one's files have no number
_FOLDER = Path(__file__).parents[1] / "inputs" / "scanner"
_FORMS = {"en": 8}  # of each line; other languages have fewer
_OTHER_FORMS = 5
_TRIES = 5  # draws for each sentence that is wanted
_ALIKE = 0.75  # share of common words from which two sentences of a line count as one
_CHOICE = re.compile(r"\[([^\[\]]*?(?<!\\)\|[^\[\]]*)\]")
_PLACE = re.compile(r"\{([A-Z]+)\}")
_GAP = re.compile(r" (?=[,.;?](?:\s|$))")
_PIECES = re.compile(r"[\u3000-\u9fff]|\w+")


@dataclass(frozen=True, slots=True)
class Wording:
    """One sentence that was written out, with the line that it came from."""

    text: str
    is_order: bool
    language: str
    group: str
    writer: int


@cache
def wordings() -> tuple[Wording, ...]:
    """Every wording, in the files' order."""
    words = _words()
    rows: dict[str, Wording] = {}
    for writer in WRITERS:
        for language in (*LANGUAGES, *LATER):
            for kind in ("orders", "honest"):
                for group, line in _grouped_lines(kind, language, writer):
                    for text in _written_out(line, language, words):
                        wording = Wording(text, kind == "orders", language, group, writer)
                        rows.setdefault(text, wording)
    return tuple(rows.values())


def _grouped_lines(kind: str, language: str, writer: int) -> Iterator[tuple[str, str]]:
    """The lines of a file, if there is one, with their groups."""
    file = _FOLDER / (f"{kind}.{language}.{writer}.txt" if writer else f"{kind}.{language}.txt")
    if not file.is_file():
        return
    prefix = "en " if language == "en" else ""
    number, chapter = 0, 0
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            chapter += 1
        elif line:
            number += 1
            place = f"{writer}.{chapter}" if writer else str(number)
            yield f"{kind} {prefix}{place}", line


def _words() -> dict[str, list[str]]:
    lines = (_FOLDER / "words.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split(": ", 1) for line in lines if line and not line.startswith("# "))
    return {name: words.split(" | ") for name, words in rows}


def _written_out(line: str, language: str, words: dict[str, list[str]]) -> list[str]:
    rng = random.Random(crc32(line.encode()))
    wanted = _FORMS.get(language, _OTHER_FORMS)
    kept: list[tuple[str, frozenset[str]]] = []
    seen: set[str] = set()
    for _ in range(wanted * _TRIES):
        text = _dressed(_filled(line, language, words, rng), rng)
        if text in seen:  # kept, or too much like one that is
            continue
        seen.add(text)
        pieces = frozenset(_PIECES.findall(text.lower()))
        if all(_alike(pieces, other) < _ALIKE for _, other in kept):
            kept.append((text, pieces))
        if len(kept) == wanted:
            break
    return [text for text, _ in kept]


def _filled(line: str, language: str, words: dict[str, list[str]], rng: random.Random) -> str:
    def choice(match: re.Match[str]) -> str:
        return rng.choice(re.split(r"(?<!\\)\|", match[1])).replace("\\|", "|")

    def place(match: re.Match[str]) -> str:
        return rng.choice(words.get(f"{match[1]} {language}") or words[match[1]])

    text = _CHOICE.sub(choice, line)
    for _ in range(2):  # a word may have a place of its own
        text = _PLACE.sub(place, text)
    return _GAP.sub("", " ".join(text.split()))


def _dressed(text: str, rng: random.Random) -> str:
    """Now and then without its full stop, in small or capital letters, or in parentheses."""
    form = rng.random()
    if form < 0.08:
        return text.rstrip(".。")
    if form < 0.12:
        return text.lower()
    if form < 0.15:
        return text.upper()
    return f"({text.rstrip('.。')})" if form < 0.18 else text


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
