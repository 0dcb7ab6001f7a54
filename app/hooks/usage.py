"""Fate of the tools that hooks suggested: called, passed over, or unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import apsw

from store import events
from store.records import EventRecord

HIT = "hit"  # the model called one of them before the next prompt
OTHER = "other"  # it called another tool
NONE = "none"  # it called no tool
UNSEEN = "unseen"  # the host calls by itself, and no record shows it
SILENT = "silent"  # nothing was suggested, and no tool was called
MISSED = "missed"  # nothing was suggested, and a tool was called
SPOKEN = (HIT, OTHER, NONE, UNSEEN)
SUGGEST, CALL = "suggest", "call"  # kinds of events


@dataclass(frozen=True, slots=True)
class SuggestionUse:
    """One prompt that a hook looked at."""

    event: EventRecord
    called: tuple[str, ...]  # tool ids, until the session's next prompt

    @property
    def host(self) -> str:
        """The host whose hook it was, its id."""
        return str(self.event.detail.get("hook", "")) or self.event.host

    @property
    def tools(self) -> tuple[str, ...]:
        """Tools that were suggested; the nearest where none were."""
        return tuple(self.event.detail.get("tools", ()))

    @property
    def silence(self) -> str:
        """The kind of reason for silence, "" where it spoke."""
        return str(self.event.detail.get("silence", ""))

    @property
    def outcome(self) -> str:
        """HIT, OTHER, NONE, UNSEEN, SILENT or MISSED."""
        if self.silence:
            return MISSED if self.called else SILENT
        if not self.event.host:
            return UNSEEN
        if not self.called:
            return NONE
        return HIT if set(self.called) & set(self.tools) else OTHER

    @property
    def label(self) -> tuple[str, str] | None:
        """The kept prompt and the tool that it should have got; None where there is no such."""
        missed = self.outcome in (OTHER, MISSED)
        return (self.event.query, self.called[0]) if missed and self.event.query else None


@dataclass(frozen=True, slots=True)
class Week:
    """A week's suggestions whose calls can be seen."""

    monday: date
    made: int
    hits: int


def suggestion_uses(db: apsw.Connection, since: float) -> tuple[SuggestionUse, ...]:
    """Every prompt that a hook looked at since a moment, the newest first."""
    prompts: list[tuple[EventRecord, list[str]]] = []
    last: dict[str, list[str]] = {}  # calls after a session's last prompt
    for event in events.of_kinds(db, (SUGGEST, CALL), since):
        if event.kind == SUGGEST:
            called: list[str] = []
            prompts.append((event, called))
            if event.host:  # else the session has no host, and calls are another's
                last[event.session] = called
        elif event.session in last and event.tool not in last[event.session]:
            last[event.session].append(event.tool)
    return tuple(SuggestionUse(event, tuple(called)) for event, called in reversed(prompts))


def weeks(uses: Sequence[SuggestionUse]) -> tuple[Week, ...]:
    """The hit rate of each week, the newest first."""
    outcomes: dict[date, list[bool]] = {}
    for use in uses:
        if use.outcome in (HIT, OTHER, NONE):
            day = date.fromtimestamp(use.event.at)
            monday = day - timedelta(days=day.weekday())
            outcomes.setdefault(monday, []).append(use.outcome == HIT)
    made = (Week(monday, len(hits), sum(hits)) for monday, hits in outcomes.items())
    return tuple(sorted(made, key=lambda week: week.monday, reverse=True))
