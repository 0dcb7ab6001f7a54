"""Words: a tool's fields in FTS5, and bm25 of a query."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import apsw

from app.ranking.dense import partly
from app.ranking.text import content_words, distinct, split_name, words
from store.records import ToolRecord
from store.search import WEIGHTS, KeywordRow, Scope, keyword_scores
from store.typed import Json

# a long schema would drown the name and the description (bm25 divides by length)
MOST_PARAMETER_WORDS = 40
# share of their words' weight that goes where half of the tools or fewer have requests
REQUEST_WORDS = 0.5
_ENDINGS = re.compile(r"(?:ies|ied|ing|ed|es|s|y|e)$")


def keyword_row(tool: ToolRecord, requests: Iterable[str] = ()) -> KeywordRow:
    """A tool's row of the keyword index: id, name, description, parameters, server, requests."""
    return (
        tool.id,
        split_name(tool.name),
        " ".join(words(tool.description)),
        " ".join(_parameter_texts(tool.input_schema)),
        split_name(tool.server),
        " ".join(word for request in requests for word in words(request)),
    )


def parameter_names(schema: Json) -> list[str]:
    """The names of a tool's own parameters, in order; a broken schema has none."""
    properties = schema.get("properties")
    return [str(name) for name in properties] if isinstance(properties, dict) else []


def _parameter_texts(schema: Json) -> Iterator[str]:
    """Names of the parameters, then their descriptions, up to a limit."""
    names = parameter_names(schema)
    yield from map(split_name, names)
    description_words: list[str] = []
    for name in names:
        about = schema["properties"][name]
        text = about.get("description") if isinstance(about, dict) else None
        if isinstance(text, str):
            description_words.extend(words(text))
    yield from description_words[:MOST_PARAMETER_WORDS]


def word_scores(
    db: apsw.Connection,
    query: str,
    *,
    scope: Scope | None = None,
    weights: Sequence[float] = WEIGHTS,
) -> dict[int, float]:
    """bm25 of the query's content words, by tool; only tools that match.

    `weights` are of name, description, parameters, server and requests.
    """
    return keyword_scores(db, distinct(content_words(query)), scope=scope, weights=weights)


def word_weights(weights: Sequence[float], written: int, tools: int) -> Sequence[float]:
    """The same with less for requests, where so many are not enough for so many tools."""
    *others, of_requests = weights
    return (*others, of_requests * (1.0 - REQUEST_WORDS * partly(written, tools)))


def stem(word: str) -> str:
    """A word without its ending, for showing matches; the index has its own (porter)."""
    return _ENDINGS.sub("", word) if len(word) > 4 else word


def stems(row: Sequence[str]) -> frozenset[str]:
    """The stems of a tool's indexed texts."""
    return frozenset(stem(word) for text in row for word in text.split())


def matched_words(query: Mapping[str, str], known: frozenset[str]) -> Iterator[str]:
    """The query's words (with their stems) that a tool's text holds, in the query's order."""
    return (word for word, stemmed in query.items() if stemmed in known)
