"""Questions: what only asks for something to be known wants no tool that changes anything.

"Which jobs failed" is near to every tool of jobs; those that create or delete some are no answer.
"""

import re

from app.ranking.text import content_words, split_name

_LOOK_TEXT = """
analyze browse check compare count describe explain export fetch find get inspect list look lookup
preview query read search show status summarize view
"""
_CHANGE_TEXT = """
accept add approve assign book buy cancel clean clear close create delete deploy disable drain drop
edit enable execute import insert install invite launch make mark merge modify move open patch pause
post promote publish purchase purge put record reject remove rename replace reset restart resume
retry revoke run save schedule send set start stop update upload upsert write
"""
_LOOKS, _CHANGES = frozenset(_LOOK_TEXT.split()), frozenset(_CHANGE_TEXT.split())
_BEGIN = re.compile(
    r"(?:(?:ok|hey|hi|so|and|but|now),?\s)?(?:what|which|who|whose|how|where|when|why|is|are|was|were"
    r"|does|do|did|has|have|am|any)\b",
    re.IGNORECASE,
)
_MARKS = ("?", "？")
_SENTENCE = re.compile(r"[.!?。！？]\s{0,9}\w")


def is_question(typed: str, english: str) -> bool:
    """True for one question, as typed and in English, that names nothing to be changed."""
    text = typed.strip()
    asks = text.endswith(_MARKS) or _BEGIN.match(text)
    return bool(asks) and not _SENTENCE.search(text) and _CHANGES.isdisjoint(content_words(english))


def is_change(name: str) -> bool:
    """True for the name of a tool that changes something: its first verb says so."""
    for word in split_name(name).split():
        if word in _LOOKS:
            return False
        if word in _CHANGES:
            return True
    return False
