"""Every text of a server that a model reads, with its place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from store.records import ToolRecord
from store.typed import JsonMapping

DEPTH = 40  # of a schema; deeper ones are not read
_WORDS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\da-zA-Z_]+")
_LONGEST_NAME = 200
_FEWEST = 4  # words that make a name a sentence


@dataclass(frozen=True, slots=True)
class Passage:
    """One text, as it came."""

    place: str
    text: str


def tool_passages(tool: ToolRecord) -> list[Passage]:
    """The name, then every text of the definition; names that are sentences also word by word."""
    passages = [Passage("name", tool.name), *_in_words("name", tool.name)]
    for key, value in tool.raw.items():
        if key != "name":
            passages += _strings(value, key, 0)
    return passages


def json_passages(value: JsonMapping, place: str) -> list[Passage]:
    """The texts of a JSON object: an entry of a list, a result, a question of a server.

    Binary content is left out.
    """
    return [p for p in _strings(value, place, 0) if not p.place.endswith((".data", ".blob"))]


def _strings(value: object, place: str, depth: int) -> Iterator[Passage]:
    if isinstance(value, str):
        yield Passage(place, value)
        yield from _in_words(place, value)
    elif depth < DEPTH and isinstance(value, dict):
        for key, inner in value.items():
            yield Passage(f"{place}, a name", str(key))
            yield from _in_words(f"{place}, a name", str(key))
            yield from _strings(inner, f"{place}.{key}", depth + 1)
    elif depth < DEPTH and isinstance(value, list):
        for inner in value:
            yield from _strings(inner, place, depth + 1)


def _in_words(place: str, name: str) -> Iterator[Passage]:
    """A name in snake or camel case as the sentence that it spells, if it is long enough."""
    if not 16 <= len(name) <= _LONGEST_NAME or " " in name or "\n" in name:
        return
    words = _WORDS.findall(name)
    if len(words) >= _FEWEST:
        yield Passage(place, " ".join(words).lower())
