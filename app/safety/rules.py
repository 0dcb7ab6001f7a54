"""The safety rules of resources/rules/safety.toml, compiled."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

ORDER = ("block", "warn", "info")  # severities, the worst first


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to distrust a tool; rules without patterns are found by code."""

    id: str
    title: str
    meaning: str
    severity: str  # block | warn | info
    about: str  # severity where the sentence speaks about such a text; the same as severity if not
    patterns: tuple[re.Pattern[str], ...] = ()

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Every match of every pattern."""
        for pattern in self.patterns:
            yield from pattern.finditer(text)

    def found(self, text: str) -> bool:
        """Whether any pattern matches."""
        return any(pattern.search(text) for pattern in self.patterns)


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its id, in the file's order."""
    text = (files("resources") / "rules" / "safety.toml").read_text(encoding="utf-8")
    found = (
        Rule(
            id=rule["id"],
            title=rule["title"],
            meaning=rule["meaning"],
            severity=rule["severity"],
            about=rule.get("about", rule["severity"]),
            patterns=tuple(re.compile(p, re.IGNORECASE) for p in rule.get("patterns", ())),
        )
        for rule in tomllib.loads(text)["rule"]
    )
    return MappingProxyType({rule.id: rule for rule in found})
