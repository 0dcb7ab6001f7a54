"""One event in full: when, who, what was asked, what was shown and why, size and time."""

import time
from collections.abc import Iterator, Mapping

from PySide6.QtWidgets import QTextEdit

from app.core.text import plural
from app.ranking import phrases
from store.records import EventRecord
from ui.look.text import APPROX, count, html_table, visible
from ui.pages.activity.event_rows import Row
from ui.widgets.guarded import CANNOT

_MOST = 10  # tools named
Line = tuple[str, str]  # name and value
_PLAIN = {
    "near": "Nearest tools",
    "tools": "Tools",
    "stderr": "Last lines of the server",
    "kind": "What would leave",
    "from": "It came from",
    "decision": "Decision",
    "hook": "Asked by the hook of",
    "silence": "Silent, as",
    "likeness": "Likeness of the best",
    "turn": "Turn of the conversation",
}


def event_lines(row: Row) -> list[Line]:
    """Lines of all that is known of the event, most wanted first; empty values are left out."""
    event = row.event
    lines = [
        ("Time", _times(row)),
        ("Host", event.host or "unknown"),
        ("Profile", event.profile),
        ("Query", event.query),
        ("Tool", event.tool),
        ("Result", event.problem),
        *_answer(event),
        ("Size", f"{count(event.tokens)} tokens {APPROX}" if event.tokens else ""),
        ("Took", f"{event.ms:,.1f} ms" if event.ms else ""),
        ("Session", event.session),
    ]
    return [(name, visible(value)) for name, value in lines if value]


def _times(row: Row) -> str:
    last = _moment(row.event.at)
    return f"{row.times} times, from {_moment(row.first)} to {last}" if row.times > 1 else last


def _moment(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (OverflowError, OSError, ValueError):  # of a damaged store
        return CANNOT.lower()


def _answer(event: EventRecord) -> Iterator[Line]:
    detail = event.detail
    if event.kind == "search":
        yield from _searched(detail)
        return
    if detail.get("by_name"):
        yield "Asked for", "by its exact name, without a search"
    for key, name in _PLAIN.items():
        value = detail.get(key)
        if isinstance(value, list):
            value = ", ".join(map(str, value[:_MOST]))
        if value not in (None, ""):
            yield name, str(value)


def _searched(detail: Mapping[str, object]) -> Iterator[Line]:
    """Lines of a search: tools given to the model, near candidates, and the gates against them."""
    candidates, scores = _texts(detail.get("candidates")), _numbers(detail.get("scores"))
    gates = _texts(detail.get("gates"))
    score = dict(zip(candidates, scores, strict=False))
    gate = dict(zip(candidates, gates, strict=False))
    shown = _texts(detail.get("shown"))
    yield "Best match, which is off", str(detail.get("best_off") or "")
    named = [f"{tool} ({score[tool]:.2f})" if tool in score else tool for tool in shown]
    if shown or "shown" in detail:
        yield "Shown to the model", "\n".join(named) or "nothing"
    left = [
        f"{tool} ({score.get(tool, 0):.2f}): {_why(gate.get(tool, ''))}"
        for tool in candidates
        if tool not in shown
    ]
    yield "Not shown" if "shown" in detail else "Candidates", "\n".join(left)
    if detail.get("words_only"):
        yield "Compared", "words only: the encoder was not loaded yet"
    loaded = _texts(detail.get("active"))
    yield "Loaded then", f"{plural(len(loaded), 'tool')}: {', '.join(loaded)}" if loaded else ""
    yield "Turn of the conversation", str(detail.get("turn") or "")


def _why(gate: str) -> str:
    """The first gate that failed; a tool that passed them all found no room in the answer."""
    return f"out by {phrases.title(gate)}" if gate else "no room in the answer"


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _numbers(value: object) -> list[float]:
    return [float(one) for one in value] if isinstance(value, list) else []


class EventDetails(QTextEdit):
    """The card below the events; hidden while no event is chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("eventDetails")
        self.setAccessibleName("Event details")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setMinimumHeight(90)
        self.lines: list[Line] = []
        self.hide()

    def show_row(self, row: Row | None) -> None:
        """Show an event; one that stays keeps its place."""
        lines = event_lines(row) if row is not None else []
        if lines != self.lines:
            self.lines = lines
            self.setHtml(html_table(lines))
        self.setVisible(bool(lines))
