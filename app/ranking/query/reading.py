"""A query as it is compared: in English, and without the noise of what was pasted."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.ranking.query.asking import is_question
from app.ranking.query.gloss import gloss
from app.ranking.query.prompts import read_prompt
from app.ranking.query.traces import read_paste
from app.ranking.text import content_words, distinct

# A gloss lacks words: it must be nearer to a tool by this cosine times the share that is unknown.
# Chosen on the open half of tests/bench/inputs/raw_queries.jsonl.
UNSURE = 0.1
_MOST_OWN = 40  # words of a query's own language that are looked up


@dataclass(frozen=True, slots=True)
class Reading:
    """The text that is compared; `translated` where it is not what was typed."""

    text: str
    translated: bool = False
    unknown: float = 0.0  # share of the words that no translation is known of
    own: str = ""  # words as typed that tools have beside their translations
    pasted: tuple[str, ...] = ()  # of a paste, the question and what failed
    shortened: bool = False  # to the sentences of a long prompt that ask for something
    question: bool = False  # it only wants something to be known

    @property
    def is_changed(self) -> bool:
        """True if it is not what was typed."""
        return self.translated or bool(self.pasted) or self.shortened

    @property
    def margin(self) -> float:
        """Cosine by which the floor is higher for it."""
        return UNSURE * self.unknown


AS_TYPED = Reading("")


def read_query(query: str, has_word: Callable[[str], bool]) -> Reading:
    """The reading of a query; `has_word` tells whether any tool's texts have a word."""
    asking = read_prompt(query)
    if asking:
        return replace(_in_english(asking, has_word), shortened=True)
    paste = read_paste(query)
    if paste is None:
        return _in_english(query, has_word)
    question = _in_english(paste.question, has_word)
    parts = tuple(filter(None, (question.text, paste.failure)))
    return replace(question, text=". ".join(parts), pasted=parts)


def _in_english(query: str, has_word: Callable[[str], bool]) -> Reading:
    glossed = gloss(query, has_word)
    if glossed is None:
        return Reading(query, question=is_question(query, query))
    there = set(content_words(glossed.text))
    typed = [word for word in distinct(content_words(query))[:_MOST_OWN] if word not in there]
    own = " ".join(word for word in typed if not word.isdigit() and has_word(word))
    question = is_question(query, glossed.text)
    return Reading(glossed.text, True, 1 - glossed.known, own, question=question)
