"""The loop guard: the same call again and again is let through, then named a loop."""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

_GENERIC = (
    "You have called {tool} {count} times with the same arguments; the answer will not change."
    " It was unloaded. Search for another tool, or answer with what you have."
)
# what helps more than the generic sentence, by a word in the tool's name
_SPECIFIC = (
    ("read", "You already have this content. Use what was returned, or read something else."),
    ("list", "The listing is the same as before. Open one of its entries instead."),
    ("search", "The same search finds the same. Change the query."),
    ("get", "Nothing changed since the last look. Wait for a reason to look again."),
)
_REMEMBERED = 32  # calls compared within the time window
_LONGEST = 10_000  # characters of arguments that are compared


@dataclass(frozen=True, slots=True)
class Rules:
    """When a repetition is a loop."""

    calls: int = 3  # this many equal calls within either window
    window_calls: int = 10
    window_seconds: float = 120.0
    exempt: tuple[str, ...] = ()  # tool id patterns that may repeat


class LoopGuard:
    """Watches one conversation's calls."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        most = max(rules.window_calls, _REMEMBERED)
        self._keys: deque[str] = deque(maxlen=most)  # of the latest calls, and when they were made
        self._times: deque[float] = deque(maxlen=most)
        self._last: tuple[str, object, str] = ("", None, "")  # tool, arguments, key

    def note(self, tool_id: str, arguments: object, now: float, *, refused: bool = False) -> int:
        """Record a call; how often it was made, 0 when that is no loop.

        Refused calls are counted apart: what was refused may be allowed a moment later.
        """
        rules = self._rules
        if rules.calls <= 0 or (rules.exempt and _matches(tool_id, rules.exempt)):
            return 0
        try:
            key = f"{'refused ' if refused else ''}{self._key(tool_id, arguments)}"
        except RecursionError:  # arguments nested this deeply are not compared
            return 0
        self._keys.append(key)
        self._times.append(now)
        count = self._keys.count(key)
        if count >= rules.calls and self._times[0] < now - rules.window_seconds:
            count = self._in_windows(key, now - rules.window_seconds)
        return count if count >= rules.calls else 0

    def _key(self, tool_id: str, arguments: object) -> str:
        """Key of equal calls; a loop mostly repeats the last call to the letter."""
        tool, last, key = self._last
        if tool != tool_id or last != arguments:
            key = f"{tool_id} {normalised(arguments)}"
            self._last = (tool_id, arguments, key)
        return key

    def _in_windows(self, key: str, oldest: float) -> int:
        """Equal calls since then, or among the last ones, whichever are more."""
        equal = [other == key for other in self._keys]
        in_time = sum(same and at >= oldest for same, at in zip(equal, self._times, strict=True))
        return max(in_time, sum(equal[max(0, len(equal) - self._rules.window_calls) :]))

    def clear(self) -> None:
        """A new search is a new thought."""
        self._keys.clear()
        self._times.clear()


def guidance(tool_id: str, count: int) -> str:
    """Advice to the model about its loop."""
    name = tool_id.partition("/")[2].lower()
    hint = next((text for word, text in _SPECIFIC if word in name), "")
    return f"{_GENERIC.format(tool=tool_id, count=count)} {hint}".strip()


def normalised(arguments: object) -> str:
    """Arguments in a form in which equal ones are equal: sorted, trimmed, without nulls."""
    import orjson  # a search has no use for it

    plain = _plain(arguments)
    try:
        text = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # a long integer, deep nesting, a lone surrogate
        text = json.dumps(plain, sort_keys=True)
    return text[:_LONGEST]


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, str):
        return " ".join(value[:_LONGEST].split())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _matches(tool_id: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(tool_id, pattern) for pattern in patterns)
