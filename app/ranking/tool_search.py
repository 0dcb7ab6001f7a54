"""Claude Code's own ToolSearch, emulated from the program of one version.

An anchor to measure by, not a way to rank: words are compared as the program compares them, no
better. Lines come from its bundle, read on 2026-11-23; `tests/app/ranking/test_tool_search.py` has
a case for each rule.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from app.ranking.text import content_words

HOST, VERSION = "claude-code", "2.1.330"
ENGINE = f"Claude Code's ToolSearch (emulated, {VERSION})"
HINT_KEY = "anthropic/searchHint"  # in a tool's _meta
MOST = 5  # tools of an answer unless the model asks for more
KEYWORDS = 4  # of a prompt, the rarest: what a model would type
MOST_HINT = 4096  # characters that are compared

_MOST_WORDS = 32
_MOST_SELECTED = 64
_MOST_DESCRIPTION = 2048  # characters that the host keeps of a description
_PREFIX = "mcp__"
_NOT_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_PARTS = re.compile(r"[\s_.]+")  # neither at a hyphen nor where capitals begin
_SELECT = re.compile(r"select:(.+)", re.IGNORECASE | re.DOTALL)

# names of a score's parts
NAME, HINT, DESCRIPTION = "Name", "Hint", "Description"


@dataclass(frozen=True, slots=True)
class Deferred:
    """A tool as the host holds it back."""

    server: str  # as the host's file names it
    tool: str
    description: str
    hint: str = ""

    @property
    def name(self) -> str:
        """The name that its model sees."""
        return f"{_PREFIX}{_NOT_NAME.sub('_', self.server)}__{_NOT_NAME.sub('_', self.tool)}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that is found; the parts sum to the score, 0 where it was asked for by name."""

    place: int  # among the tools given
    score: int
    parts: tuple[tuple[str, int], ...] = ()
    words: tuple[str, ...] = ()  # of the query that it was found by


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts of a tool that are compared, in lower case."""

    parts: tuple[str, ...]  # of both names
    names: tuple[str, str]
    full: str  # the parts, between blanks: no word of a query has one
    both: str  # the names, likewise
    hint: str
    description: str


class ToolSearch:
    """The search over these tools, in the order in which the host holds them."""

    def __init__(self, tools: Sequence[Deferred]) -> None:
        self._names = [tool.name.lower() for tool in tools]
        self._texts = [_texts(tool) for tool in tools]
        self._spread: Counter[str] | None = None

    def find(self, query: str, most: int = MOST) -> tuple[Hit, ...]:
        """The answer to what a model typed, best first."""
        return self.ranking(query)[:most]

    def ranking(self, query: str) -> tuple[Hit, ...]:
        """Every tool that the query finds, also those that an answer has no room for."""
        if selected := _SELECT.fullmatch(query.strip()):
            wanted = [one.strip().lower() for one in selected[1].split(",")[:_MOST_SELECTED]]
            return self._named([name for name in wanted if name in self._names])
        text = " ".join(query.split()[:_MOST_WORDS]).lower()
        if text in self._names:
            return self._named([text])
        if text.startswith(_PREFIX) and len(text) > len(_PREFIX):
            begin = [name for name in self._names if name.startswith(text)]
            if begin:
                return self._named(begin)
        return self._scored(text.split())

    def keywords(self, query: str) -> str:
        """The rarest words of a prompt that any tool has: what a model would type instead."""
        spread = self._spread
        if spread is None:
            spread = self._spread = Counter(
                word
                for text in self._texts
                for word in {*content_words(f"{text.full} {text.description}")}
            )
        known = dict.fromkeys(word for word in content_words(query) if word in spread)
        return " ".join(sorted(known, key=lambda word: spread[word])[:KEYWORDS])

    def finds(self, query: str, expected: Collection[int]) -> bool:
        """True if an answer has one of these, for the query as typed or for its rarest words."""
        texts = (query, self.keywords(query))
        return any(hit.place in expected for text in texts for hit in self.find(text))

    def hinted(self, hints: Mapping[int, str]) -> "ToolSearch":
        """The same tools with these hints by place, "" for none; the others as they are."""
        other = ToolSearch(())
        other._names, other._spread = self._names, self._spread
        other._texts = list(self._texts)
        for place, hint in hints.items():
            other._texts[place] = replace(other._texts[place], hint=hint[:MOST_HINT].lower())
        return other

    def _named(self, names: Sequence[str]) -> tuple[Hit, ...]:
        return tuple(Hit(self._names.index(name), 0) for name in dict.fromkeys(names))

    def _scored(self, words: Sequence[str]) -> tuple[Hit, ...]:
        needed = [word[1:] for word in words if word.startswith("+") and len(word) > 1]
        others = [word for word in words if not (word.startswith("+") and len(word) > 1)]
        hits = []
        for place, text in enumerate(self._texts):
            if all(_has(text, word) for word in needed):
                hit = _hit(place, text, [*needed, *others])
                if hit.score:
                    hits.append(hit)
        return tuple(sorted(hits, key=lambda hit: -hit.score))  # stable, as the program's


def _texts(tool: Deferred) -> _Texts:
    names = (tool.server.lower(), tool.tool.lower())
    parts = tuple(part for name in names for part in _PARTS.split(name) if part)
    description = tool.description[:_MOST_DESCRIPTION].lower()
    hint = tool.hint[:MOST_HINT].lower()
    return _Texts(parts, names, " ".join(parts), " ".join(names), hint, description)


def _hit(place: int, text: _Texts, words: Sequence[str]) -> Hit:
    name = hint = description = 0
    matched = []
    for word in words:
        before = name + hint + description
        if word in text.full:
            name += 12 if word in text.parts else 6
        if word in text.both:
            name += 12 if word in text.names else 4
        hint += 4 * _stands_in(word, text.hint)
        description += 2 * _stands_in(word, text.description)
        if name + hint + description > before:
            matched.append(word)
    parts = ((NAME, name), (HINT, hint), (DESCRIPTION, description))
    return Hit(
        place,
        name + hint + description,
        tuple(part for part in parts if part[1]),
        tuple(dict.fromkeys(matched)),
    )


def _has(text: _Texts, word: str) -> bool:
    """True if a required word is anywhere."""
    return (
        word in text.full
        or word in text.both
        or _stands_in(word, text.description)
        or _stands_in(word, text.hint)
    )


def _stands_in(word: str, text: str) -> bool:
    return word in text and bool(_whole(word).search(text))


@lru_cache(maxsize=512)
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word)}\b", re.ASCII)  # as JavaScript's \b
