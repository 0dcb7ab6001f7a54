"""Words, names and clauses: how texts are cut before they are compared."""

import re
import zlib
from collections.abc import Iterator, Sequence

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUN = re.compile(f"{_UNSPACED.pattern}+|[^{_UNSPACED.pattern[1:-1]}]+")
_CLAUSE_END = re.compile(
    r"(?<=[.!?])\s+|[;\n。！？；]+|,?\s{1,9}and then\s+|,\s{0,9}(?:and|then)\s+",
    re.IGNORECASE,
)
# A query is user input of any size; what counts in it is at the beginning.
LONGEST_QUERY = 8000  # characters
MOST_QUERY = 2000  # characters given to the encoder; its 256 tokens are less
MOST_WORDS = 128
MOST_CLAUSES = 6  # five and eight are like it; four lose on long requests
# "Add a tag." is a clause; "ok" and "Yes, please." add nothing but noise.
_SHORTEST_CLAUSE = 2  # content words

_STOP = """
a about all also am an and any anyone are as at be been being but by can could d did didn do does
doesn doing don for from get give had has have having he help her here hers him his how i if in
into is isn it its itself just let like ll m me my myself need no nor not now of off on once one or
other our ours out over own please re s same she should so some such t than that the their theirs
them then there these they this those through to too under until up us ve very want was we were
what when where which while who whom why will with would you your yours
"""
STOP_WORDS = frozenset(_STOP.split())


def split_name(name: str) -> str:
    """A name as words: `getUserToken` and `get_user_token` both become `get user token`."""
    return " ".join(_JOINTS.sub(" ", _CAMEL.sub(" ", name)).lower().split())


def words(text: str) -> Iterator[str]:
    """The words of a text in lower case, joined names also taken apart.

    Chinese and Japanese have no blanks between words: there it is each two characters that follow.
    """
    for match in _WORD.finditer(_CAMEL.sub(" ", text)):
        word = match.group().lower()
        if word.isascii() or not _UNSPACED.search(word):
            yield word
            continue
        for run in _RUN.findall(word):
            if len(run) > 1 and _UNSPACED.match(run):
                yield from (run[i : i + 2] for i in range(len(run) - 1))
            else:
                yield run


def content_words(text: str) -> list[str]:
    """The words that carry meaning, in order and with repeats."""
    return [word for word in words(text[:LONGEST_QUERY]) if word not in STOP_WORDS]


def distinct(terms: list[str]) -> list[str]:
    """The first MOST_WORDS different words, in order."""
    return list(dict.fromkeys(terms))[:MOST_WORDS]


def clauses(query: str, most: int = MOST_CLAUSES) -> list[str]:
    """The steps of a multi-step request, at most `most`; [] when it is a single step."""
    pieces = [piece.strip() for piece in _CLAUSE_END.split(query[:LONGEST_QUERY])]
    steps = [piece for piece in pieces if len(content_words(piece)) >= _SHORTEST_CLAUSE]
    if len(steps) < 2:
        return []
    if len(steps) > most:
        # the steps that say most, in their own order
        longest = sorted(steps, key=lambda step: -len(content_words(step)))[:most]
        steps = [step for step in steps if step in longest][:most]
    return steps


def query_hash(query: str) -> str:
    """Hash of a query in an event: equal queries have equal ones, 8 hexadecimal digits."""
    return f"{zlib.crc32(query.encode('utf-8', 'replace')):08x}"


def no_tool(nearest: Sequence[str]) -> str:
    """That nothing fits, with the names that come nearest, as sentences."""
    return f"No tool fits. Nearest: {', '.join(nearest)}." if nearest else "No tool fits."
