"""Long prompts: the sentences that ask for something; the story, rules and files around count
nothing.

A sentence asks by its form (an order, a question, "I need") and by its place (a paragraph of its
own, the first or the last one). Rules of work are orders, too, but they forbid, or come in lists.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import and_

from app.ranking.query.steps import NO_VERBS, begins_with_order
from app.ranking.query.traces import is_prose
from app.ranking.text import LONGEST_QUERY, STOP_WORDS

LEAST_WORDS = 90  # of a prompt in which the request is looked for
LEAST_DENSE = 200  # of one without any paragraphs
MOST_ASKING = 3  # sentences that are kept
_FORM = 3  # signs of a sentence that asks by its form
_SHORT = 3  # sentences of a paragraph that is read as one
_WORD = re.compile(r"[^\W_]+")
_FENCED = re.compile(r"^\s{0,8}(```|~~~).*?(?:^\s{0,8}\1|\Z)", re.DOTALL | re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_PART = re.compile(r"[,:]\s")
_WHOLE = re.compile(r"[A-Z][a-z]*\s.*[.?!]\s*\Z")
_LEAST_SMALL = 3  # small words of a sentence with signs of code
_TITLE = re.compile(r"\s{0,8}#{1,6}\s")
_BESIDE = re.compile(r"\s{0,8}(?:>|#|\||[-*+•]\s|\d{1,3}[.)]\s)")  # quotes, titles, tables, lists
_WISH = re.compile(
    r"\b(?:(?:i|we)(?:'d| would) (?:like|love|need|want)|(?:i|we) (?:need|want)\b(?! not)"
    r"|(?:can|could|would|will) you|please(?! (?:no|do not|don't|never))|help me|let's)\b",
    re.IGNORECASE,
)
_DETERMINER = (
    r"(?:(?:the|an?|th(?:is|at|ese|ose)|my|our|your|his|its?|their|them|me|us|him|her|all|every|each"
    r"|everyone|some|both|two|three|what|which|who|how|whether)\b|[`'\"]|\S*[^\W\d][_./\d]\S)"
)
# a verb as it is, before what it does something to: "Shorten this text"
_ORDER = re.compile(
    rf"(?P<verb>[^\W\d_]+)(?:\s(?:out|up|off|on|down|back|away|into))?\s{_DETERMINER}"
)
_QUESTION = re.compile(
    r"(?:what|who|where|how|which)"
    r"(?:['’]s| (?:is|are|was|were|do|does|did|can|should|many|much))\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"(?:do not|don't|never|always|avoid|prefer|use)\b", re.IGNORECASE)
_ROLE = re.compile(r"you (?:are|have|will|should|must)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Passage:
    """A sentence, or a short paragraph, with its signs of asking."""

    text: str
    signs: int


def read_prompt(query: str) -> str:
    """The sentences of a long prompt that ask for something; "" where a query is none."""
    length = query.count(" ") + query.count("\n")
    if length < LEAST_WORDS or (length < LEAST_DENSE and not _PARAGRAPH.search(query)):
        return ""
    paragraphs = list(_paragraphs(_ends(query)))
    asking = [form >= _FORM for _, own, _ in paragraphs for form in own]
    if 2 * sum(asking) > len(asking):
        return ""  # there is nothing but requests in it
    passages = _passages(paragraphs)
    if len(passages) < 2:
        return ""
    most = max(one.signs for one in passages)
    chosen = [one for one in passages if one.signs == most][-MOST_ASKING:]
    if most < _FORM:
        chosen = [passages[0], passages[-1]]
    return " ".join(one.text for one in chosen)


def _ends(query: str) -> str:
    """A prompt as far as it is read."""
    if len(query) <= 2 * LONGEST_QUERY:
        return query
    return f"{query[:LONGEST_QUERY]}\n\n{query[-LONGEST_QUERY:]}"


def _passages(paragraphs: Sequence[tuple[list[str], list[int], int]]) -> list[_Passage]:
    """Sentences and short paragraphs of all prose, in their order."""
    made: list[_Passage] = []
    for at, (sentences, own, signs) in enumerate(paragraphs):
        edges = (at == 0, at == len(paragraphs) - 1)
        signs -= 2 * sum(bool(_RULE.match(one) or _ROLE.match(one)) for one in sentences)
        if len(sentences) <= _SHORT:
            made.append(_Passage(" ".join(sentences), max(own) + signs + 1 + any(edges)))
            continue
        for nth, (text, form) in enumerate(zip(sentences, own, strict=True)):
            ends = (nth == 0, nth == len(sentences) - 1)
            outer = any(ends) + any(map(and_, ends, edges))
            made.append(_Passage(text, form + signs + outer - 1))
    return made


def _paragraphs(query: str) -> Iterator[tuple[list[str], list[int], int]]:
    """The sentences of each paragraph of prose with their signs, and -1 for one below a title."""
    titled = False
    for block in _PARAGRAPH.split(_FENCED.sub("\n\n", query)):
        lines = [line for line in block.splitlines() if line.strip()]
        kept = [line.strip() for line in lines if _is_text(line) and not _BESIDE.match(line)]
        sentences = [one for one in _SENTENCE.split(" ".join(kept)) if len(_WORD.findall(one)) > 1]
        if sentences and 2 * len(kept) > len(lines):
            yield sentences, [_signs(one) for one in sentences], -int(titled)
        titled = bool(lines) and bool(_TITLE.match(lines[0]))


def _is_text(line: str) -> bool:
    """True for a line of prose, with names of code and talk of errors."""
    if is_prose(line):
        return True
    typed = _WORD.findall(line)
    return bool(_WHOLE.match(line)) and sum(word in STOP_WORDS for word in typed) >= _LEAST_SMALL


def _signs(text: str) -> int:
    """_FORM for a sentence that asks for something by its form, less where a part of it does."""
    if _RULE.match(text):
        return 0
    if (
        text.endswith(("?", "？"))
        or begins_with_order(text)
        or _QUESTION.match(text)
        or _WISH.search(text)
        or _is_order(text)
    ):
        return _FORM
    parts = (part.strip() for part in _PART.split(text)[1:])
    return _FORM - 1 if any(begins_with_order(one) and _is_order(one) for one in parts) else 0


def _is_order(text: str) -> bool:
    """True for a sentence that begins with a verb in the form of an order."""
    begins = _ORDER.match(text)
    if begins is None:
        return False
    verb = begins["verb"].lower()
    return verb not in NO_VERBS and not verb.endswith(("s", "ed", "ing", "ly"))
