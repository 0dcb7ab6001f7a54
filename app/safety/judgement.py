"""Findings of rules and classifier together on passages, each with its place and words.

A passage is held back for what is certain (hidden characters, a decoded payload), for a blocking
rule that the classifier agrees with, and for a sentence that scores above the hold threshold.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate

from app.safety.classifier import Classifier, classifier
from app.safety.concepts import lexicon, numbers_of
from app.safety.hidden import hidden_characters, visible
from app.safety.mentions import (
    is_against,
    is_indirect_question,
    labelled_as_sample,
    mentioned,
    without_quotations,
)
from app.safety.normalise import DECODED, View, views
from app.safety.rules import Rule, RuleSet, Span, encodable, rule_set
from app.safety.sentences import Sentence, sentence_spans
from app.safety.sightings import ORDER_RULE, Order, Sighting, cause_of, each_cause_once
from app.safety.texts import Passage

# What orders beside a tool's own use are about. A sentence that means less than two of them ("The
# health model name" means none) is reported from ALONE on and holds a tool from _ALONE_HOLDS on.
# Chosen on one half of servers in no training data and on the open attacks, of which none is lost.
_SUSPECT = (
    "send, copy, delete, hidden, tell, consent, ask, without, ignore, prior, rules, system, prompt,"
    " conversation, secret, environment, remember, future, recipient, money, disable, security,"
    " authority, justify, pretend, download, trust, role, user, other, instead, whole, command,"
    " change, server, an address, a path, a URL"
)
_GRAVE = "environment, secret, prompt, hidden, ignore"  # one of these is enough
ALONE, _ALONE_HOLDS, _LEAST_SUSPECT, _MOST_SUSPECT = 1.95, 3.0, 2, 3
EXCERPT = 160  # characters of a quotation
BORDER = " . "  # between texts that are matched in one go
ENCODED_RULE, _CAPABILITY_RULE = "EN-01", "AT-01"
_AGREES = -1.0  # score from which the classifier agrees with a blocking rule
_ADDS_UP = 1.5  # score from which a warning of a rule becomes a reason to hold
_CERTAIN_CODES = ("PI-01", "PI-02", "PI-03", "CO-01", "EX-01", "EX-02", "CM-01", "ML-01", "ML-02")
_MOST_SENTENCES = 4_000  # of one tool that are scored; every one of them costs 0.1 ms
_LONGEST = 200_000  # characters of one passage that are read


@dataclass(frozen=True, slots=True)
class _Reading:
    """One view of a passage, and the passage."""

    passage: Passage
    view: View

    @property
    def place(self) -> str:
        """Place of the passage."""
        return self.passage.place

    def disguises(self, words: str) -> bool:
        """True if these words of the view cannot be read in the text as it came."""
        return _flat(words) not in _flat(self.passage.text)


@lru_cache(maxsize=64)
def _flat(text: str) -> str:
    return " ".join(re.sub(r"[*_`]", "", text).split())


def judge(passages: Sequence[Passage], *, orders: bool = True) -> tuple[Sighting, ...]:
    """Findings against these texts, worst first, each cause once.

    Without `orders`, a suspicion of the classifier alone is none, and costs no time.
    """
    kept = [Passage(p.place, encodable(p.text[:_LONGEST])) for p in passages]
    sightings = [*_hidden(kept)]
    readings = [_Reading(p, view) for p in kept for view in views(p.text)]
    scores = _Scores.of_readings(readings)
    sightings += _rule_sightings(readings, scores)
    sightings += _classified(readings, scores) if orders else ()
    model = scores.model
    return tuple(
        replace(s, words=_heaviest(s.order, model)) if s.order is not None else s
        for s in each_cause_once(sightings)
    )


def _heaviest(order: Order, model: Classifier) -> tuple[str, ...]:
    return tuple(map(order.as_written, model.heaviest_words(order.sentence)))


# ---- characters


def _hidden(passages: Iterable[Passage]) -> Iterator[Sighting]:
    known = rule_set().by_id
    for passage in passages:
        for rule_id, quote in hidden_characters(passage.text).items():
            severity = known[rule_id].severity
            yield Sighting(rule_id, severity, _place(passage.place), quote, 0.0, rule_id)


# ---- the classifier's part


class _Scores:
    """The score of every sentence, computed once at the first need, and of every reading."""

    def __init__(self, model: Classifier, by_reading: Sequence[Sequence[Sentence]]) -> None:
        self.model = model
        self.spans = by_reading

    @cached_property
    def _of_sentence(self) -> dict[str, float]:
        texts = (span.text for part in self.spans for span in part)
        wordy = (s for s in texts if " " in s or not s.isascii())
        unique = list(dict.fromkeys(wordy))[:_MOST_SENTENCES]
        return dict(zip(unique, self.model.scores(unique), strict=True)) if unique else {}

    @cached_property
    def _of_reading(self) -> list[float]:
        return [max((self.of(span.text) for span in part), default=-9.0) for part in self.spans]

    @classmethod
    def of_readings(cls, readings: Sequence[_Reading]) -> "_Scores":
        """Score all sentences of these readings."""
        return cls(classifier(), [list(sentence_spans(r.view.text)) for r in readings])

    def sentence_at(self, index: int, position: int) -> Sentence:
        """The sentence of a reading that holds these words; of two pieces the worse one."""
        spans = self.spans[index]
        number = bisect_right(spans, position, key=lambda span: span.start) - 1
        if number < 0:
            return Sentence(0, "")
        here, other = spans[number], spans[number - 1]
        in_both = here.before and position < other.start + len(other.text)
        return max((here, other) if in_both else (here,), key=lambda one: self.of(one.text))

    def of(self, sentence: str) -> float:
        """The score of a sentence; very low where it was too short to be scored."""
        return self._of_sentence.get(sentence, -9.0)

    def of_reading(self, index: int) -> float:
        """The highest score of a reading's sentences."""
        return self._of_reading[index]


def _classified(readings: Sequence[_Reading], scores: _Scores) -> Iterator[Sighting]:
    """Sentences that read like orders, whatever their words."""
    model = scores.model
    for index, reading in enumerate(readings):
        if reading.view.kind == DECODED:
            continue
        for span in scores.spans[index]:
            score = scores.of(span.text)
            enough = score >= ALONE or is_about_more(span.text)
            if enough and model.warns(span.text, score):
                yield from _order(reading, span, score, model)


def is_about_more(sentence: str, least: int = _LEAST_SUSPECT) -> bool:
    """True if a sentence is about more than a tool's own use: so many things, or a grave one."""
    row = lexicon().row(sentence.lower())
    suspects = numbers_of(_SUSPECT).intersection(row)
    return len(suspects) >= least or not numbers_of(_GRAVE).isdisjoint(row)


def _cause(sentence: Sentence) -> str:
    """Key of a finding, the same for two pieces that overlap: their finding is reported once."""
    return cause_of(sentence.before or sentence.text)


def _order(
    reading: _Reading, span: Sentence, score: float, model: Classifier
) -> Iterator[Sighting]:
    sentence, text = span.text, reading.view.text
    begin = text.index(sentence[0], span.start)
    quote = reading.view.as_written(begin, begin + min(len(sentence), EXCERPT)).replace("\n", " ")
    severity = "block" if model.holds(sentence, score) else "warn"
    unquoted = without_quotations(sentence)
    if (
        severity == "block"
        and unquoted != sentence
        and not model.warns(unquoted, model.scores([unquoted])[0])
    ):
        severity = "warn"
    if severity == "block" and score < _ALONE_HOLDS and not is_about_more(sentence, _MOST_SUSPECT):
        severity = "warn"
    yield Sighting(
        ORDER_RULE, severity, _place(reading.place), visible(quote[:EXCERPT]), score,
        _cause(span), Order(sentence, reading.view, begin),
    )  # fmt: skip


# ---- the rules' part


def _rule_sightings(readings: Sequence[_Reading], scores: _Scores) -> Iterator[Sighting]:
    known = rule_set()
    for kind in dict.fromkeys(reading.view.kind for reading in readings):
        chosen = [i for i, reading in enumerate(readings) if reading.view.kind == kind]
        joined = BORDER.join(readings[i].view.text for i in chosen)
        starts = list(
            accumulate((len(readings[i].view.text) + len(BORDER) for i in chosen[:-1]), initial=0)
        )
        seen: set[tuple[str, int, Sentence]] = set()
        for rule, span in known.matches(joined):
            index = bisect_right(starts, span.start) - 1
            reading = readings[chosen[index]]
            own = Span(span.start - starts[index], span.end - starts[index])
            score = scores.of_reading(chosen[index])
            sentence = scores.sentence_at(chosen[index], own.start)
            if (rule.id, index, sentence) in seen:
                continue
            seen.add((rule.id, index, sentence))
            if kind == DECODED:
                yield from _payload(reading, rule, own, known, score)
            else:
                yield _sighting(reading, rule, own, (score, scores.of(sentence.text)), sentence)
    yield from _decoded_orders(readings, scores)


def _sighting(
    reading: _Reading, rule: Rule, span: Span, scores: tuple[float, float], sentence: Sentence
) -> Sighting:
    """`scores` are those of the whole text and of the sentence."""
    return Sighting(
        rule.id, _severity(rule, reading, span, scores, sentence.text), _place(reading.place),
        _quote(reading.view, span.start), scores[0], _cause(sentence),
    )  # fmt: skip


def _severity(
    rule: Rule, reading: _Reading, span: Span, scores: tuple[float, float], sentence: str
) -> str:
    text = reading.view.text
    of_text, of_sentence = scores
    if rule.about != rule.severity and mentioned(text, span.start, span.end):
        return rule.about
    if rule.id == _CAPABILITY_RULE and is_against(sentence or text):
        return rule.about
    if rule.severity == "warn" and rule.id != _CAPABILITY_RULE and of_sentence >= _ADDS_UP:
        return "block"
    if rule.severity != "block" or rule.certain:
        return rule.severity
    if reading.disguises(text[span.start : span.end]):
        return "block"
    if is_indirect_question(sentence):  # a switch's description; the classifier may see more in it
        harmless = of_sentence < _AGREES and "://" not in sentence
        return rule.about if rule.about == "info" and harmless else "warn"
    if labelled_as_sample(text, span.start):
        return "warn"
    return "block" if of_text >= _AGREES else "warn"


def _payload(
    reading: _Reading, rule: Rule, span: Span, known: RuleSet, score: float
) -> Iterator[Sighting]:
    """A decoded text that a rule finds: its author hid it on purpose."""
    if rule.id in _CERTAIN_CODES:
        encoded = known.by_id[ENCODED_RULE]
        quote = _quote(reading.view, span.start)
        yield Sighting(
            encoded.id, encoded.severity, _place(reading.place), quote, score, reading.view.text
        )


def _decoded_orders(readings: Sequence[_Reading], scores: _Scores) -> Iterator[Sighting]:
    encoded = rule_set().by_id[ENCODED_RULE]
    for index, reading in enumerate(readings):
        if reading.view.kind != DECODED:
            continue
        score = scores.of_reading(index)
        if score >= scores.model.limits.warn:
            quote = visible(reading.view.text[:EXCERPT])
            yield Sighting(
                encoded.id, encoded.severity, _place(reading.place), quote, score,
                reading.view.text,
            )  # fmt: skip


def _quote(view: View, start: int) -> str:
    begin = max(0, start - 30)
    begin = view.text.rfind(" ", 0, begin) + 1 if begin else 0  # from the beginning of a word
    return visible(view.as_written(begin, begin + EXCERPT)[:EXCERPT])


def _place(place: str) -> str:
    """Place of a text in words; names in it are the server's."""
    return visible(place if len(place) <= EXCERPT else f"{place[:EXCERPT]}…")
