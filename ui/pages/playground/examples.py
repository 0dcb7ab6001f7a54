"""Example queries made from the user's own tools."""

import re
from collections.abc import Sequence

from app.catalog.catalog import CatalogTool

SHORTEST, LONGEST = 3, 11  # words of a query
_VERB = re.compile(r"^[A-Z][a-z]+[^.:;()\[\]{}`\"<>_/=\n]{10,70}(?=[.\n]|$)")
# what descriptions say in the third person, a request says in the imperative
_THIRD = re.compile(
    r"^(?:(?P<es>\w+(?:ss|sh|(?<!Ca)ch|x|zz|o))es|(?P<y>\w+)ies|(?P<s>\w+?)(?<!s)s)\b(?= )"
)


def example_queries(tools: Sequence[CatalogTool], count: int = 3) -> tuple[str, ...]:
    """Requests that tools of different servers answer, in the words of their descriptions."""
    queries: dict[str, str] = {}
    for row in tools:
        if not row.shown or row.server.name in queries:
            continue
        query = _query(row.tool.description.strip())
        if query and query not in queries.values():
            queries[row.server.name] = query
        if len(queries) == count:
            break
    return tuple(queries.values())


def _query(description: str) -> str:
    match = _VERB.match(description)
    if match is None:
        return ""
    text = _THIRD.sub(_imperative, match[0].strip())
    words = text.split()
    if not SHORTEST <= len(words) <= LONGEST:
        return ""
    return " ".join([words[0].lower(), *words[1:]])


def _imperative(verb: re.Match[str]) -> str:
    return f"{verb['y']}y" if verb["y"] else str(verb["es"] or verb["s"])
