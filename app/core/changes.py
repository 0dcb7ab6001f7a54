"""Kinds of data that an operation changed; each view decides if it reads them again."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Changes:
    """One flag per kind of data."""

    servers: bool = False
    tools: bool = False
    profile: bool = False
    hosts: bool = False
    exports: bool = False
    events: bool = False
    settings: bool = False
    labels: bool = False
    policies: bool = False  # of projects

    def __or__(self, other: "Changes") -> "Changes":
        both = {f.name: getattr(self, f.name) or getattr(other, f.name) for f in fields(self)}
        return Changes(**both)
