"""Preconditions: what must be true of a session before a tool may be offered."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.catalog.reasons import AFTER, AUTHENTICATED, MILESTONE
from app.core.errors import ToolcribError
from store.typed import JsonMapping, object_or_empty

_FORM = re.compile(r"\s*(authenticated|after|milestone)\(\s*([^()]+?)\s*\)\s*")


@dataclass(frozen=True, slots=True)
class State:
    """State that a session has reached; the empty state meets no precondition.

    `principals` are those of the caller: `user:ann`, `role:dev`, `org:acme`.
    """

    scopes: frozenset[str] = frozenset()
    called: tuple[str, ...] = ()  # tool ids whose calls succeeded
    milestones: frozenset[str] = frozenset()
    principals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Precondition:
    """A condition on every tool whose id matches `pattern` (shell wildcards)."""

    pattern: str
    kind: str  # reasons.AUTHENTICATED | AFTER | MILESTONE | NEVER
    argument: str

    def holds(self, state: State) -> bool:
        """True if the state meets the condition."""
        if self.kind == AUTHENTICATED:
            return self.argument in state.scopes
        if self.kind == MILESTONE:
            return self.argument in state.milestones
        return self.kind == AFTER and any(matches(c, self.argument) for c in state.called)


def matches(tool_id: str, pattern: str) -> bool:
    """True if a pattern names a tool, by its whole id or by its name alone."""
    name = tool_id.partition("/")[2]
    return fnmatchcase(tool_id, pattern) or ("/" not in pattern and fnmatchcase(name, pattern))


DESTRUCTIVE = "destructive"  # in a list of patterns: tools that say so of themselves


def is_destructive(tool: JsonMapping) -> bool:
    """True if a tool's own annotations say that it may destroy something."""
    return object_or_empty(tool.get("annotations")).get("destructiveHint") is True


def parse_precondition(pattern: str, text: str) -> Precondition:
    """A precondition from its declared form; anything else is refused."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ToolcribError(
            f"“{text}” is not a precondition.",
            "Write authenticated(scope), after(tool pattern) or milestone(name).",
        )
    return Precondition(pattern, match.group(1), match.group(2))


def unmet(tool_id: str, preconditions: Sequence[Precondition], state: State) -> Precondition | None:
    """The first precondition of a tool that does not hold, or None."""
    for condition in preconditions:
        if matches(tool_id, condition.pattern) and not condition.holds(state):
            return condition
    return None


def may_see(tool_id: str, rules: Sequence[tuple[str, str]], principals: frozenset[str]) -> bool:
    """True if the allowlists let one of these principals find a tool.

    A rule is (principal, pattern); a tool that no rule names is for everybody.
    """
    named = [principal for principal, pattern in rules if matches(tool_id, pattern)]
    return not named or any(principal in principals for principal in named)
