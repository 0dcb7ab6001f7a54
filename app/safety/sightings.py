"""Reasons for distrust in places of a text, and how several of one cause become one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.safety.hidden import visible
from app.safety.normalise import View
from app.safety.rules import ORDER, rule_set

ORDER_RULE = "CL-01"  # what the classifier finds


@dataclass(frozen=True, slots=True)
class Order:
    """A sentence that the classifier found, and where in which reading it begins."""

    sentence: str
    view: View
    begin: int

    def as_written(self, word: str) -> str:
        """A word of the sentence as the reader of the tool sees it."""
        match = re.search(rf"\b{re.escape(word)}\b", self.sentence)
        start = self.begin + (match.start() if match else 0)
        return (self.view.as_written(start, start + len(word)) if match else "") or word


@dataclass(frozen=True, slots=True)
class Sighting:
    """One reason for distrust in one place."""

    rule: str
    severity: str
    place: str
    quote: str
    score: float  # log-odds that the passage orders the model about
    cause: str  # sightings with the same one are one finding
    order: Order | None = None  # where the classifier found it
    words: tuple[str, ...] = ()  # that weighed most

    @property
    def detail(self) -> str:
        """Place and quote of the finding, and the words that weighed most."""
        weighed = ", ".join(f"“{visible(word)}”" for word in self.words)
        return f"{self.place}: “{self.quote}”" + (f" (weighed most: {weighed})" if weighed else "")


def each_cause_once(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """The worst sighting of each cause, then the worst of each rule."""
    by_cause: dict[str, Sighting] = {}
    for sighting in sightings:
        other = by_cause.get(sighting.cause)
        by_cause[sighting.cause] = sighting if other is None else _joined(other, sighting)
    by_rule: dict[str, Sighting] = {}
    for sighting in sorted(by_cause.values(), key=_badness):
        by_rule.setdefault(sighting.rule, sighting)
    return tuple(sorted(by_rule.values(), key=_badness))


def _joined(one: Sighting, other: Sighting) -> Sighting:
    """One sighting for one cause: the most telling rule, the worse severity."""
    first, second = sorted((one, other), key=lambda s: (s.rule == ORDER_RULE, _rank(s)))
    if "info" in (first.severity, second.severity):
        return min(first, second, key=_badness)
    worse = min(first.severity, second.severity, key=ORDER.index)
    return replace(first, severity=worse, order=first.order or second.order)


def _rank(sighting: Sighting) -> tuple[int, int]:
    """Rank of a rule: by its own severity, then by its place in the file."""
    known = rule_set().by_id
    return ORDER.index(known[sighting.rule].severity), list(known).index(sighting.rule)


def _badness(sighting: Sighting) -> tuple[int, bool, tuple[int, int], float]:
    is_order = sighting.rule == ORDER_RULE
    return ORDER.index(sighting.severity), is_order, _rank(sighting), -sighting.score


def cause_of(sentence: str) -> str:
    """Key of a finding, the same for the same words with any marks between them."""
    return "".join(c for c in sentence.casefold() if c.isalnum())[:120]
