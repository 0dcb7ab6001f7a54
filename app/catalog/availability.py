"""The one rule that decides if a tool may reach a host, and the reason if it may not.

The view `availability` (store/migrations) says the same in SQL for what is stored; a property test
holds the two together. The sentences are in app.catalog.reasons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.catalog.conditions import Precondition, State, may_see, parse_precondition, unmet
from app.catalog.reasons import (
    BLOCKED,
    CHANGED,
    DISABLED,
    GONE,
    HELD,
    NEVER,
    NEW,
    OFF,
    OUTSIDE,
    PRECONDITION,
    PRIVATE,
    UNTRUSTED,
    UNUSABLE,
    remedy,
    sentence,
)
from app.core.errors import ToolcribError


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason that a tool is not available; `detail` is its problem or the condition's argument."""

    kind: str
    detail: str = ""
    need: str = ""  # of a precondition: its own kind, as `after`

    @property
    def sentence(self) -> str:
        """The reason in words, to follow a colon."""
        return sentence(self.need or self.kind, self.detail)

    @property
    def remedy(self) -> str:
        """Change that makes the tool available, in words that follow "if"."""
        return remedy(self.need or self.kind, self.detail)


def withheld(*, trusted: bool, held: str, changed: bool, blocked: bool) -> str:
    """The kind of reason for which a tool is kept from every host, "" when there is none.

    `held` is what the profile stores: HELD for a tool that the user holds, else NEW or "".
    """
    if not trusted:
        return UNTRUSTED
    if held == HELD:
        return HELD
    if changed:
        return CHANGED  # which is a finding too, and says more
    if blocked:
        return BLOCKED
    return NEW if held else ""


def stored_reasons(
    *,
    on: bool,
    withheld: str,
    problem: str,
    gone: bool,
    outside: bool = False,
    disabled: bool,
) -> tuple[Reason, ...]:
    """Every reason that the store alone knows, the one to be named first."""
    if on and not (withheld or problem or gone or outside or disabled):
        return ()
    facts = (
        (GONE, gone),
        (OUTSIDE, outside),
        (DISABLED, disabled),
        (OFF, not on),
        (withheld, withheld != ""),
    )
    reasons = [Reason(kind) for kind, holds in facts if holds]
    return (*reasons, Reason(UNUSABLE, problem)) if problem else tuple(reasons)


@dataclass(frozen=True, slots=True)
class Conditions:
    """A profile's allowlists and preconditions: they depend on the user and on the session."""

    rules: tuple[tuple[str, str], ...] = ()  # (principal, tool pattern)
    preconditions: tuple[Precondition, ...] = ()
    problems: tuple[str, ...] = ()  # of settings that cannot be used, as sentences

    @classmethod
    def of(cls, scopes: object, preconditions: object) -> "Conditions":
        """From a profile's settings; one that cannot be read never lets a tool through.

        It becomes a condition that no session meets, and a sentence in `problems`.
        """
        rules: list[tuple[str, str]] = []
        parsed: list[Precondition] = []
        problems: list[str] = []
        if not isinstance(scopes, Mapping):
            problems.append("scopes: write tool pattern -> list of principals; no tool passes.")
            scopes = {"*": ()}
        if not isinstance(preconditions, Mapping):
            problems.append("preconditions: write tool pattern -> list; no tool passes.")
            preconditions = {"*": (str(preconditions),)}
        for pattern, allowed in scopes.items():
            rules += [(who, pattern) for who in _texts(allowed)] or [("", pattern)]
            if not _texts(allowed):
                problems.append(f"scopes: no principal is allowed {pattern}.")
        for pattern, texts in preconditions.items():
            for text in _texts(texts) or [""]:
                try:
                    parsed.append(parse_precondition(pattern, text))
                except ToolcribError as error:
                    problems.append(f"preconditions of {pattern}: {error.text}")
                    parsed.append(Precondition(pattern, NEVER, text))
        return cls(tuple(rules), tuple(parsed), tuple(problems))

    def reason(self, tool_id: str, state: State) -> Reason | None:
        """Return the reason against this tool for the session, None when it may use the tool."""
        if self.rules and not may_see(tool_id, self.rules, state.principals):
            return Reason(PRIVATE)
        condition = unmet(tool_id, self.preconditions, state) if self.preconditions else None
        return Reason(PRECONDITION, condition.argument, condition.kind) if condition else None


def _texts(value: object) -> Sequence[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else ()
